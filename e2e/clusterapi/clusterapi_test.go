//go:build e2e

package clusterapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/observer"
)

// budget is the FederatedQuota of the test, and by the same name the limits in members.
var budget = client.ObjectKey{Namespace: "team-a", Name: "compute"}

// TestBesideClusterAPI has the hub manager and the manager of Cluster API's core work on the same Clusters.
func TestBesideClusterAPI(t *testing.T) {
	w := startWorld(t, system.Options{Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{{Name: east}, {Name: west}}}})
	w.bringsUp()
	w.shares(20)
	w.enforce(10, 10)
	o := w.observe(20)
	w.pauses(o)
	w.installsByResourceSet()
	w.rotates(o)
	w.losesClusterAPI(o)
	w.followsLabels(o)
	w.joins()
	w.deletes(o)
	for _, line := range o.Stop().Violations() {
		w.Errorf("the observer: %s", line)
	}
}

// pauses has somebody pause a Cluster, as clusterctl move does: Cluster API leaves it alone, and the hub does not.
func (w *world) pauses(o *observer.Observer) {
	w.Helper()
	for _, state := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		w.patches(w.cluster(west), `{"spec":{"paused":%t}}`, state == metav1.ConditionTrue)
		w.eventually("Paused to be "+string(state), func(context.Context) error {
			cluster := w.cluster(west)
			if c := apimeta.FindStatusCondition(cluster.Status.Conditions, clusterv1.PausedCondition); c == nil || c.Status != state {
				return fmt.Errorf("got %v", c)
			}
			return nil
		})
		pods := int64(30)
		if state == metav1.ConditionFalse {
			pods = 24
		}
		w.changes(o, pods)
		w.enforce(pods/2, pods/2)
	}
}

// rotates replaces the credentials for west: what the hub did with the old ones it goes on to do with the new ones.
func (w *world) rotates(o *observer.Observer) {
	w.Helper()
	w.admits(west, "second")
	path, err := w.Member(west).UserKubeconfig("first")
	w.must(err)
	first := w.clientBy(path)
	w.must(w.members[west].Delete(w.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "first"}}))
	w.refused(first, "the old credentials", apierrors.IsForbidden)
	// The hub holds a token that the old credentials got it. It ends with its ServiceAccount, once the API server has
	// forgotten that it was good: so does another one that was used just before.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "fedquota-system", Name: members.AccountName}}
	path = filepath.Join(w.Member(west).Dir, "token.kubeconfig")
	w.must(w.Member(west).ServiceAccountKubeconfig(w.Context(), account.Namespace, account.Name, path))
	token := w.clientBy(path)
	w.must(token.List(w.Context(), &quotav1alpha1.QuotaShareList{}))
	w.must(w.members[west].Delete(w.Context(), account.DeepCopy()))
	w.must(w.members[west].Create(w.Context(), account))
	w.refused(token, "the old tokens", apierrors.IsUnauthorized)
	w.changes(o, 28)
	w.enforce(14, 14)
}

// clientBy returns a client by a kubeconfig.
func (w *world) clientBy(path string) client.Client {
	w.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	w.must(err)
	return w.client(config)
}

// refused waits until a client is refused.
func (w *world) refused(c client.Client, what string, as func(error) bool) {
	w.Helper()
	w.eventually(what+" to end", func(ctx context.Context) error {
		if err := c.List(ctx, &quotav1alpha1.QuotaShareList{}); !as(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// losesClusterAPI has the manager of Cluster API go away, and with it the webhooks that every change of a Cluster
// needs.
func (w *world) losesClusterAPI(o *observer.Observer) {
	w.Helper()
	w.must(w.manager.Kill())
	err := w.hub.Patch(w.Context(), w.cluster(west), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
	if !apierrors.IsInternalError(err) {
		w.Errorf("the webhooks of Cluster API are not asked: %v", err)
	}
	w.changes(o, 32)
	w.enforce(16, 16)
	w.must(w.manager.Restart(w.Context()))
}

// followsLabels places a budget by a label that Cluster API itself sets, on Clusters that follow a ClusterClass, and
// sees what the hub and people set still there.
func (w *world) followsLabels(o *observer.Observer) {
	w.Helper()
	w.patches(w.budget(), `{"spec":{"placement":{"clusterSelector":{"matchLabels":{"tier":null,%q:""}}}}}`, clusterv1.ClusterTopologyOwnedLabel)
	w.enforce(0, 32)
	w.patches(w.budget(), `{"spec":{"placement":{"clusterSelector":{"matchLabels":{"tier":"prod",%q:null}}}}}`, clusterv1.ClusterTopologyOwnedLabel)
	w.enforce(16, 16)
	w.must(o.Sync(w.Context()))
	for _, name := range []string{east, west} {
		if w.cluster(name).Annotations[quotav1alpha1.MemberAnnotation] == "" {
			w.Errorf("Cluster %s has lost the marker of the hub", name)
		}
	}
}

// joins makes a Cluster by a labelled Secret. Cluster API takes it, and leaves it alone until somebody has it go on
// with that: it then finds no infrastructure, and nothing comes of it. It holds the Cluster in no case.
func (w *world) joins() {
	w.Helper()
	kubeconfig := strings.ReplaceAll(w.kubeconfig(east, "first"), "https://127.0.0.1", "https://127.0.0.1:1/") // or east would be there twice
	secret := capikubeconfig.GenerateSecretWithOwner(client.ObjectKey{Namespace: clusterNamespace, Name: "south"}, []byte(kubeconfig),
		metav1.OwnerReference{})
	secret.OwnerReferences, secret.Labels[quotav1alpha1.JoinLabel] = nil, "true"
	w.must(w.hub.Create(w.Context(), secret))
	w.eventually("Cluster API to find the Cluster of a Secret", func(ctx context.Context) error {
		cluster, err := w.read(ctx, "south")
		if err == nil && !apimeta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.PausedCondition) {
			err = fmt.Errorf("it has %v and %v", cluster.Finalizers, cluster.Status.Conditions)
		}
		return err
	})
	w.kubectl("get", "clusters.v1beta1.cluster.x-k8s.io", "--request-timeout=10s") // as Cluster API converts them
	w.patches(w.cluster("south"), `{"spec":{"paused":false}}`)
	w.eventually("Cluster API to look for its infrastructure", func(context.Context) error {
		if c := apimeta.FindStatusCondition(w.cluster("south").Status.Conditions, clusterv1.ClusterInfrastructureReadyCondition); c == nil {
			return errors.New("it has not got that far")
		}
		return nil
	})
	w.kubectl("delete", "secret", "south-kubeconfig")
	w.kubectl("delete", "clusters.cluster.x-k8s.io", "south", "--timeout=60s")
}

// deletes has somebody delete a Cluster of a budget. Cluster API ends it, and the hub keeps what it was granted until
// it is told that this is gone.
func (w *world) deletes(o *observer.Observer) {
	w.Helper()
	w.kubectl("delete", "clusters.cluster.x-k8s.io", west, "--timeout=60s")
	w.eventually("the hub to say so", func(context.Context) error {
		fq := w.budget()
		ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady)
		if ready == nil || ready.Status == metav1.ConditionTrue || !strings.Contains(ready.Message, west) {
			return fmt.Errorf("it says %+v", ready)
		}
		return nil
	})
	w.changes(o, 40)
	w.enforce(24, 16)
	w.must(o.Sync(w.Context()))
	o.Forget(west)
	w.patches(w.budget(), `{"spec":{"removal":{"destroyed":[%q]}}}`, west)
	w.enforce(40, 16)
	w.eventually("the budget to be settled without it", func(context.Context) error {
		if fq := w.budget(); len(fq.Status.Clusters) != 1 || !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
			return fmt.Errorf("it has %+v, %+v", fq.Status.Clusters, fq.Status.Conditions)
		}
		return nil
	})
}

// shares makes a budget of pods that is split evenly over the clusters of tier prod.
func (w *world) shares(pods int64) {
	w.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: podsOf(pods),
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}, CreateNamespace: new(true),
			},
			Rebalance: quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic},
		},
	}
	w.must(w.hub.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: budget.Namespace}}))
	w.must(w.hub.Create(w.Context(), fq))
}

func podsOf(n int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
}

// changes gives the FederatedQuota another budget.
func (w *world) changes(o *observer.Observer, pods int64) {
	w.Helper()
	w.must(o.ChangeBudget(w.Context(), podsOf(pods), func(context.Context) error {
		w.patches(w.budget(), `{"spec":{"hard":{"pods":"%d"}}}`, pods)
		return nil
	}))
}

// budget reads the FederatedQuota.
func (w *world) budget() *quotav1alpha1.FederatedQuota {
	w.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	w.must(w.hub.Get(w.Context(), budget, fq))
	return fq
}

// enforce waits until the members have limits in force.
func (w *world) enforce(inEast, inWest int64) {
	w.Helper()
	want := map[string]int64{east: inEast, west: inWest}
	w.eventually(fmt.Sprintf("limits of %v", want), func(ctx context.Context) error {
		got := map[string]int64{}
		for name := range want {
			quota := &corev1.ResourceQuota{}
			if err := w.members[name].Get(ctx, budget, quota); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			got[name] = quota.Status.Hard.Pods().Value()
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("%v are in force", got)
		}
		return nil
	})
}

// observe has an observer judge the budget from outside.
func (w *world) observe(pods int64) *observer.Observer {
	w.Helper()
	configs := map[string]*rest.Config{}
	for _, m := range w.Members {
		configs[m.Name] = m.Config
	}
	o, err := observer.Watch(context.WithoutCancel(w.Context()), observer.Options{
		Members: configs, Namespace: budget.Namespace, Name: budget.Name, Budget: podsOf(pods),
		OnExcess: func(e observer.Excess) { w.Logf("EXCESS: %+v", e) },
	})
	w.must(err)
	return o
}
