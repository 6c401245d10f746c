//go:build e2e

package plugin_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestPlugin takes a fleet through the states of a budget, and runs each command in those that matter to it.
func TestPlugin(t *testing.T) {
	w := startWorld(t)
	w.fresh()
	w.settled()
	w.full()
	w.plans()
	w.draining()
	w.breakGlass()
	w.leaving()
	w.notReady()
	w.cutOff()
}

// fresh has a budget that no hub manager has seen.
func (w *world) fresh() {
	w.must(w.HubManager.Pause(w.Context()))
	for _, c := range w.clients {
		w.must(c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	}
	w.must(w.clients[hub].Create(w.Context(), &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("12"), corev1.ResourcePods: resource.MustParse("40")},
			Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}},
		},
	}))
	w.state("fresh")
	w.shows(hub, "describe compute", "Ready: Unknown: no hub manager has acted", "requests.cpu", "12")
	w.shows(hub, "list", "compute Unknown - 0% pods 0/40 -")
	w.must(w.HubManager.Resume())
}

func (w *world) settled() {
	w.becomes("the budget to be enforced", settled)
	w.state("settled")
	w.shows(hub, "describe compute", "Ready: True", "Every cluster enforces a share", "east Settled", "west Settled")
	w.shows(hub, "list -A", "team-a compute True 2/2 0%")
	w.shows(hub, "list -o name", "federatedquota.quota.fedquota.io/compute")
	w.shows(east, "describe compute", "Part of: FederatedQuota team-a/compute on the hub", "Enforced: True", "requests.cpu 0 4500m 4500m")
	w.shows(east, "list", "compute True 0%")
	w.has("plugin", w.kubectl("describe", "compute", "-n", team), "Ready: True")
	w.answers(hub, "describe none", 1, `"none" not found`)
}

// full has both clusters want more than the budget has.
func (w *world) full() {
	w.must(w.clients[east].Create(w.Context(), deployment("web", 9)))
	w.uses(east, "9")
	w.must(w.clients[west].Create(w.Context(), deployment("batch", 8)))
	w.uses(west, "3")
	w.becomes("the demand of west", func(fq *quotav1alpha1.FederatedQuota) bool {
		demand := fq.Status.Demand[corev1.ResourceRequestsCPU]
		return demand.Cmp(resource.MustParse("5")) == 0
	})
	w.state("full")
	w.shows(hub, "describe compute", "requests.cpu 12 5 12 12 0", "100% used", "west")
	w.shows(hub, "list", "100% requests.cpu 12/12 pods=5, requests.cpu=5")
}

// plans has limits come to rest where the plan says, in a fleet that wants more than the budget has.
func (w *world) plans() {
	w.answers(hub, "plan -f ../../cmd/kubectl-fedquota/app/testdata/files/cut.yaml --exit-code", 2, "requests.cpu: 12 → 8", "east requests.cpu 9 - 9 → 4")
	cpu := func(value string) func(*quotav1alpha1.FederatedQuota) {
		return func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse(value)
		}
	}
	w.predicts("static", func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic
		fq.Spec.Distribution.Rules = []quotav1alpha1.DistributionRule{{Clusters: []quotav1alpha1.ClusterName{west}, Weight: new(int32(3))}}
	})
	w.predicts("auto again", func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Rebalance = quotav1alpha1.Rebalance{}
		fq.Spec.Distribution = quotav1alpha1.Distribution{}
	})
	w.predicts("less", cpu("8"))
	w.predicts("as before", cpu("12"))
}

// draining cuts the budget below what is used.
func (w *world) draining() {
	w.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("8")
	})
	w.becomes("debt", func(fq *quotav1alpha1.FederatedQuota) bool {
		return apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionDebt) &&
			apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionDraining)
	})
	w.state("draining")
	w.shows(hub, "describe compute", "debt 4", "Draining", "Debt since", "More is granted", "→", "Draining since", "→")
	w.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("12")
	})
	w.scale(west, "batch", 3)
	w.becomes("the budget to be enforced again", settled)
}

// quota returns the ResourceQuota of a member.
func (w *world) quota() *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
}

func (w *world) breakGlass() {
	annotate := func(value string) {
		w.must(w.clients[east].Patch(w.Context(), w.quota(), client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"quota.fedquota.io/break-glass":`+value+`}}}`))))
	}
	annotate(`"incident 4711: release must go out"`)
	w.must(w.clients[east].Patch(w.Context(), w.quota(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hard":{"requests.cpu":"11"}}}`))))
	w.scale(east, "web", 11)
	w.becomes("broken glass with debt", func(fq *quotav1alpha1.FederatedQuota) bool {
		used := fq.Status.Used[corev1.ResourceRequestsCPU]
		return inState(east, quotav1alpha1.ClusterBreakGlass)(fq) && used.Cmp(resource.MustParse("14")) == 0
	})
	w.state("break-glass")
	w.shows(hub, "describe compute", "BreakGlass", "incident 4711", "kubectl fedquota mend compute")
	w.shows(east, "describe compute", "BreakGlass since")
	w.scale(east, "web", 6)
	annotate("null")
	w.becomes("mended glass", settled)
}

// leaving deselects west while it uses something.
func (w *world) leaving() {
	w.label(west, "")
	w.becomes("west to leave", inState(west, quotav1alpha1.ClusterLeaving))
	w.state("leaving")
	w.shows(hub, "describe compute", "west Leaving", "it has not given back")
	w.label(west, "prod")
	w.becomes("west to be back", settled)
}

func (w *world) label(cluster, tier string) {
	w.Helper()
	value := `"` + tier + `"`
	if tier == "" {
		value = "null"
	}
	object := newCluster(cluster)
	w.must(w.clients[hub].Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tier":`+value+`}}}`))))
}

// notReady deletes the namespace of the budget in west.
func (w *world) notReady() {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}
	w.must(w.clients[west].Delete(w.Context(), namespace))
	w.becomes("west not to be ready", func(fq *quotav1alpha1.FederatedQuota) bool {
		return inState(west, quotav1alpha1.ClusterNotReady)(fq) && fq.Status.Clusters[1].Reason == quotav1alpha1.ReasonNamespaceMissing
	})
	w.state("not-ready")
	w.shows(hub, "describe compute", "west NotReady", "the namespace does not exist there")
	w.shows(hub, "list --not-ready", "compute False 1/2")
	w.must(w.clients[west].Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	w.becomes("west to be back", settled)
	w.must(w.clients[west].Create(w.Context(), deployment("batch", 2)))
	w.uses(west, "2")
}

// cutOff stops the API server of west.
func (w *world) cutOff() {
	w.must(w.Member(west).Process("kube-apiserver").Pause(w.Context()))
	w.eventually("west to be cut off", func(ctx context.Context) (bool, error) {
		fq, err := w.budget(ctx)
		return err == nil && inState(west, quotav1alpha1.ClusterUnreachable)(fq), err
	})
	delete(w.clients, west)
	w.state("cut-off")
	w.shows(hub, "describe compute", "west Unreachable", "What the cluster was granted stays granted")
}
