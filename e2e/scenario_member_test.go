//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// testNamespaceMissing has members without the namespace: they are named, the others go on, and it is created when
// asked for.
func testNamespaceMissing(t *testing.T, w *world) {
	s := newScenario(t, w, "homeless", budget("30", "60"))
	s.namespaceIn(east)
	s.namespaceIn(north)
	s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Placement.CreateNamespace = nil })
	s.condition(quotav1alpha1.ConditionMemberNotReady, west, "namespace does not exist", "spec.placement.createNamespace")
	s.eventually("the others", func(ctx context.Context) error { return s.limits(ctx, amounts{cpu: {"15", "", "5"}}) })
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Placement.CreateNamespace = new(true) })
	s.split(sample)
	s.witness(1)
	s.finish()
}

// testKubeconfig selects clusters that nobody can connect to, each for another reason: they are named, the others go
// on.
func testKubeconfig(t *testing.T, w *world) {
	s := newScenario(t, w, "ghosts", budget("30", "60"))
	nowhere := []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
		"users": [{"name": "u", "user": {"token": "t"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`)
	ghosts := map[string][]byte{"ghost-missing": nil, "ghost-malformed": []byte("this is no kubeconfig"), "ghost-nowhere": nowhere}
	for name, kubeconfig := range ghosts {
		s.ghost(name, kubeconfig)
	}
	s.create(budget("30", "60"), func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Placement.Clusters = clusterNames{"ghost-missing", "ghost-malformed", "ghost-nowhere"}
		fq.Spec.Distribution.Rules = append([]quotav1alpha1.DistributionRule{{RuleTerms: quotav1alpha1.RuleTerms{Weight: new(int32(0))}}}, weights(3, 2, 1)...)
	})
	s.eventually("the others", func(ctx context.Context) error { return s.limits(ctx, sample) })
	s.condition(quotav1alpha1.ConditionRebuilding, "ghost-missing", "ghost-malformed", "ghost-nowhere", "kubeconfig Secret")
	s.witness(1)
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Placement.Clusters = nil })
	s.settle()
	s.finish()
}

// ghost makes a Cluster that does not exist, with a kubeconfig Secret if there is content for one.
func (s *scenario) ghost(name string, kubeconfig []byte) {
	s.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceDefault, Name: name},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 1}},
	}
	s.must(s.hub.Create(s.Context(), cluster))
	s.Cleanup(func() { _ = s.hub.Delete(context.Background(), cluster) })
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	s.must(s.hub.Status().Update(s.Context(), cluster))
	if kubeconfig == nil {
		return
	}
	key := kubeconfigSecret(name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		Type:       clusterv1.ClusterSecretType,
		Data:       map[string][]byte{"value": kubeconfig},
	}
	s.must(s.hub.Create(s.Context(), secret))
	s.Cleanup(func() { _ = s.hub.Delete(context.Background(), secret) })
}

// testForeign has a user's own ResourceQuota beside the managed one.
func testForeign(t *testing.T, w *world) {
	s := newScenario(t, w, "foreign", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	tenant := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "tenant"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"configmaps": resource.MustParse("100")}},
	}
	s.must(s.member(east).Create(s.Context(), tenant))
	s.condition(quotav1alpha1.ConditionForeignQuota, east, "tenant")
	s.turn(1)
	s.eventually("limits to move all the same", func(ctx context.Context) error { return s.limits(ctx, amounts{cpu: {"5", "15", "10"}}) })
	s.must(s.member(east).Delete(s.Context(), tenant))
	s.noCondition(quotav1alpha1.ConditionForeignQuota)
	s.split(amounts{cpu: {"5", "15", "10"}})
	s.finish()
}

// testAdoption begins with clusters that use more than their shares, and more than the whole budget.
func testAdoption(t *testing.T, w *world) {
	// 44 cpu and 44 pods are used. Nobody is given more cpu, however late it is read who uses how much.
	s := newScenario(t, w, "adoption", budget("44", "60"))
	s.namespaceIn(north)
	s.namespaceIn(east)
	s.fill(north, "old", 20, "1")
	s.fill(east, "old", 24, "1")
	s.create(budget("30", "60"))
	s.condition(quotav1alpha1.ConditionDebt, "of requests.cpu")
	s.condition(quotav1alpha1.ConditionDraining, east, north)
	s.observer.SetBudget(budget("30", "60"), time.Now())
	for member, count := range map[string]int{east: 24, north: 20} {
		var list corev1.PodList
		s.must(s.member(member).List(s.Context(), &list, client.InNamespace(s.key.Namespace)))
		if len(list.Items) != count {
			s.Errorf("%d pods are left in %s of %d", len(list.Items), member, count)
		}
		if err := s.member(member).Create(s.Context(), newPod(s.key.Namespace, "more", "100m")); !apierrors.IsForbidden(err) {
			s.Errorf("a pod more in %s: got %v, want Forbidden", member, err)
		}
	}
	s.drain(north, "old")
	s.drain(east, "old")
	s.split(sample)
	s.finish()
}

// testMeddling has administrators of members who take things into their own hands.
func testMeddling(t *testing.T, w *world) {
	s := newScenario(t, w, "meddling", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm(east)

	// A share deleted by hand comes back, and with it nothing changes.
	for range 3 {
		s.fault("share deleted by hand in east and west")
		for _, member := range []string{east, west} {
			share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
			s.must(s.member(member).Delete(s.Context(), share))
			s.eventually("the share in "+member+" to be new", func(ctx context.Context) error {
				again := &quotav1alpha1.QuotaShare{}
				if err := s.member(member).Get(ctx, s.key, again); err != nil {
					return err
				}
				if !again.DeletionTimestamp.IsZero() {
					return fmt.Errorf("it is still being deleted: %v", again.Finalizers)
				}
				return nil
			})
		}
	}
	s.settle()

	// A share lowered by hand, by somebody who says that they are the hub: a revision of the future is then refused by
	// nobody, and taken for a ledger that was rolled back.
	s.fault("share rewritten by hand in west, at a revision of the future")
	share := &quotav1alpha1.QuotaShare{}
	s.must(s.member(west).Get(s.Context(), s.key, share))
	stored := share.DeepCopy()
	share.Spec.Revision += 1000
	share.Spec.Hard[cpu] = resource.MustParse("7")
	byHand := s.member(west).Patch(s.Context(), share.DeepCopy(), client.MergeFrom(stored))
	if !apierrors.IsForbidden(byHand) || !strings.Contains(byHand.Error(), "fedquota-share") {
		s.Errorf("a share rewritten by hand: got %v, want a refusal by fedquota-share", byHand)
	}
	s.must(s.member(west).Patch(s.Context(), share, client.MergeFrom(stored), client.FieldOwner(quotav1alpha1.HubFieldManager)))
	s.endStorms()
	s.eventually("a revision above it", func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && fq.Status.Revision <= share.Spec.Revision {
			err = fmt.Errorf("revision is %d, want more than %d", fq.Status.Revision, share.Spec.Revision)
		}
		return err
	})
	s.split(sample)
	s.finish()
}
