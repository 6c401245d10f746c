//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/scale/members"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	services = corev1.ResourceServices
	// patienceOfTest is how long anything may take that is bound to come.
	patienceOfTest = 3 * time.Minute
)

// both is a hub over three real members and three light ones.
type both struct {
	*rig
	*testing.T
	real []client.Client
}

// TestLightMembersAreLikeRealOnes has one budget over three real members and three light ones: all are told the same
// and say the same, while the budget comes, is used, grows, is cut and goes.
func TestLightMembersAreLikeRealOnes(t *testing.T) {
	b := startBoth(t)
	key := budgetKey(0)
	b.must(b.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}))
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	fq.Spec.Hard = corev1.ResourceList{services: resource.MustParse("30")}
	fq.Spec.Placement.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: tier}}
	fq.Spec.Placement.CreateNamespace = new(true)
	fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic
	b.must(b.hub.Create(t.Context(), fq))
	b.agree("5", "0")

	for i, m := range b.members {
		m.Want(key, 3, corev1.ResourceList{services: resource.MustParse("1")})
		for n := range 3 {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: fmt.Sprintf("s-%d", n)}}
			service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
			b.must(b.real[i].Create(t.Context(), service))
		}
	}
	b.agree("5", "3")
	for _, step := range []struct{ budget, part string }{{"60", "10"}, {"24", "4"}, {"12", "3"}} { // the last one is below what is used
		before := fq.DeepCopy()
		fq.Spec.Hard = corev1.ResourceList{services: resource.MustParse(step.budget)}
		b.must(b.hub.Patch(t.Context(), fq, client.MergeFrom(before)))
		b.agree(step.part, "3")
	}
	b.must(b.hub.Delete(t.Context(), fq))
	b.eventually("the shares to go", func(ctx context.Context) error {
		for i, m := range b.members {
			if share := m.Share(key); share != nil {
				return fmt.Errorf("%s has it", m.Name)
			}
			if err := b.real[i].Get(ctx, key, &quotav1alpha1.QuotaShare{}); client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Errorf("real member %d has it, or says: %w", i, err)
			}
		}
		return nil
	})
}

func startBoth(t *testing.T) *both {
	t.Helper()
	log.SetLogger(logr.Discard())
	options := system.Options{Fleet: fleet.Options{
		CRDPaths: []string{filepath.Join(systemtest.Root(t), "config", "crd", "bases", "quota.fedquota.io_quotashares.yaml")},
	}}
	for i := range 3 {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{
			Name: fmt.Sprintf("real-%d", i), Labels: map[string]string{tierLabel: tier},
		})
	}
	s := systemtest.Start(t, options)
	b := &both{T: t, rig: &rig{System: s}}
	t.Cleanup(func() { b.must(b.stop()) }) // of light members, too
	var err error
	b.hub, err = system.Client(s.Hub)
	b.must(err)
	discovery, err := members.DiscoveryOf(t.Context(), s.Hub.Config)
	b.must(err)
	for i, plane := range s.Members {
		c, err := system.Client(plane)
		b.must(err)
		light, err := members.New(fmt.Sprintf("light-%d", i), discovery, agentDelay)
		b.must(err)
		b.real, b.members = append(b.real, c), append(b.members, light)
		b.must(b.register(t.Context(), light))
	}
	return b
}

func (b *both) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// eventually waits until a condition gives no error, and says which one it gave last if that never comes.
func (b *both) eventually(what string, condition func(context.Context) error) {
	b.Helper()
	if err := systemtest.Await(b.Context(), 50*time.Millisecond, patienceOfTest, condition); err != nil {
		b.Fatalf("waiting for %s: %v", what, err)
	}
}

// agree waits until all members hold a share of this limit in force, of which so much is used, and all shares say the
// same.
func (b *both) agree(limit, used string) {
	b.Helper()
	b.eventually("all members to agree on "+limit, func(ctx context.Context) error {
		for i, m := range b.members {
			genuine := &quotav1alpha1.QuotaShare{}
			if err := b.real[i].Get(ctx, budgetKey(0), genuine); err != nil {
				return err
			}
			light := m.Share(budgetKey(0))
			if light == nil {
				return fmt.Errorf("%s has no share", m.Name)
			}
			want, got := view(genuine), view(light)
			if want != got {
				return fmt.Errorf("%s:\nreal  %s\nlight %s", m.Name, want, got)
			}
			hard, inUse := light.Status.Hard[services], light.Status.Used[services]
			if hard.String() != limit || inUse.String() != used {
				return fmt.Errorf("%s enforces %s and uses %s", m.Name, hard.String(), inUse.String())
			}
			if r, l := size(genuine), size(light); l < r*3/4 || l > r*5/4 {
				return fmt.Errorf("a real share has %d bytes, and a light one %d", r, l)
			}
		}
		return nil
	})
}

// view is what a share says, without what no two shares have in common: identities, times, and revisions.
func view(share *quotav1alpha1.QuotaShare) string {
	status := share.Status.DeepCopy()
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime, status.Conditions[i].ObservedGeneration = metav1.Time{}, 0
	}
	seen, revision := status.ObservedGeneration == share.Generation, status.Revision == share.Spec.Revision
	status.ObservedGeneration, status.Revision = 0, 0
	spec := share.Spec.DeepCopy()
	spec.Revision = 0
	var annotations []string
	for name := range share.Annotations {
		annotations = append(annotations, name)
	}
	text, err := json.Marshal([]any{spec, status, share.Finalizers, annotations, seen, revision})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func size(share *quotav1alpha1.QuotaShare) int {
	text, _ := json.Marshal(share)
	return len(text)
}
