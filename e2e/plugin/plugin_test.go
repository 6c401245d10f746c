//go:build e2e

package plugin_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestPlugin takes a fleet through the states of a budget, and runs each command in those that matter to it.
func TestPlugin(t *testing.T) {
	w := startWorld(t)
	w.converts()
	w.fresh()
	w.settled()
	w.records()
	w.eyes()
	w.pooled()
	w.adopts()
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
	w.page("settled", hub, "describe compute")
	w.page("audit", hub, "audit compute --for 2s")
	w.shows(hub, "list -A", "team-a compute True 2/2 0%")
	w.shows(hub, "list -o name", "federatedquota.quota.fedquota.io/compute")
	w.shows(east, "describe compute", "Part of: FederatedQuota team-a/compute on the hub", "Enforced: True", "requests.cpu 0 4500m 4500m")
	w.shows(east, "list", "compute True 0%")
	out, err := w.kubectl(hub, "fedquota", "describe", "compute", "-n", team)
	w.must(err)
	w.has("plugin", out, "Ready: True")
	w.has("wait", w.kubectlPage("ready", hub, "wait fq/compute -n team-a --for=condition=Ready"), "condition met")
	w.answers(hub, "describe none", 1, `"none" not found`)
	w.shows(hub, "top -A", "team-a compute pods True", "0% 0 40")
	w.shows(hub, "version", "kubectl-fedquota", "hub manager hub unknown there is no Deployment", "agent east unknown")
	w.shows(hub, "bundle --agent-image=fedquota/manager:e2e", "kind: CustomResourceDefinition", "image: fedquota/manager:e2e")
	w.shows(hub, "history compute", "requests.cpu 0 → 4500m Weight: its part by weight")
	w.shows(hub, "explain compute", "It has what it needs, and nobody needs what it has beyond that")
	w.shows(hub, "fits -f "+files+"pod.yaml --replicas 12", "east 4 12 after a raise")
	w.shows(east, "fits -f "+files+"pod.yaml", "this one 1 or more 1 or more at once")
	w.shows(hub, "audit compute --for 2s", "watched 2 clusters", "requests.cpu 12 9 0", "Never exceeded")
	w.redraws()
}

// full has both clusters want more than the budget has.
func (w *world) full() {
	w.must(w.clients[east].Create(w.Context(), deployment("web", 9)))
	w.uses(east, "9")
	w.must(w.clients[west].Create(w.Context(), deployment("batch", 3)))
	w.uses(west, "3")
	// Only now: while limits go up, native quota may let a pod too many in, of which there are none so far.
	w.scale(west, "batch", 8)
	w.becomes("the demand of west", func(fq *quotav1alpha1.FederatedQuota) bool {
		demand := fq.Status.Demand[corev1.ResourceRequestsCPU]
		return demand.Cmp(resource.MustParse("5")) == 0
	})
	w.state("full")
	w.shows(hub, "describe compute", "requests.cpu 12 5 12 12 0", "100% used", "west")
	w.shows(hub, "list", "100% requests.cpu 12/12 pods=5, requests.cpu=5")
	w.shows(hub, "explain compute --cluster west --resource requests.cpu", "The budget does not hold all that clusters ask for. Its fair part is 3.",
		"Others have 3 of its part by weight, which is 6, until their usage ends: east (3).")
	w.answers(hub, "fits -f "+files+"pod.yaml", 2, "requests.cpu: 0 left there")
	w.page("full", hub, "describe compute --show-events=false")
	w.page("list", hub, "list")
	w.page("top", hub, "top")
	w.page("explain", hub, "explain compute --cluster west --resource requests.cpu")
	w.page("history", hub, "history compute")
	w.page("fits", hub, "fits -f "+files+"pod.yaml --replicas 2")
	w.page("why", west, "why batch")
	w.page("member", west, "describe compute --show-events=false")
	w.agrees()
	w.exports()
	w.views()
	w.refuses()
	why := []string{"5 of 8 pods are missing", "Refused since", "the share of FederatedQuota team-a/compute in this cluster is used up",
		"requests.cpu 1 3 3 no", "All clusters together have no room for it either"}
	w.answers(west, "why batch", 2, why...)
	w.rights(why)
}

// plans has limits come to rest where the plan says, in a fleet that wants more than the budget has.
func (w *world) plans() {
	code, out := w.pageAndCode("gate", hub, "plan -f "+files+"cut.yaml --exit-code")
	if code != 2 {
		w.Errorf("plan ended with %d", code)
	}
	w.has("plan", out, "requests.cpu: 12 → 8", "east requests.cpu 9 - 9 → 4")
	w.page("plan", hub, "plan -f "+files+"cut.yaml")
	w.page("static", hub, "plan -f "+files+"static.yaml")
	cpu := func(value string) func(*quotav1alpha1.FederatedQuota) {
		return func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse(value)
		}
	}
	w.predicts("static", func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic
		fq.Spec.Distribution.Rules = []quotav1alpha1.DistributionRule{{Clusters: []quotav1alpha1.ClusterName{west}, RuleTerms: quotav1alpha1.RuleTerms{Weight: new(int32(3))}}}
	})
	w.page("weighted", hub, "explain compute --resource requests.cpu")
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
	w.page("draining", hub, "describe compute --show-events=false")
	w.shows(hub, "describe compute", "debt 4", "east Draining", "Debt since", "More is granted", "→")
	w.shows(hub, "describe compute", "Conditions:", "Draining since", "→")
	w.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("12")
	})
	w.scale(west, "batch", 3)
	w.becomes("the budget to be enforced again", settled)
	w.eventually("batch to be told that it waits no more", func(context.Context) (bool, error) {
		out, err := w.kubectl(west, "get", "events", "-n", team, "--field-selector", "reason=Served")
		return strings.Contains(out, "replicaset/batch-") && strings.Contains(out, "It lacks no pod any more"), err
	})
}

func (w *world) breakGlass() {
	w.answers(hub, "break-glass compute --reason x", 1, "not found")
	w.must(w.clients[east].Create(w.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "ours"}}))
	w.answers(east, "break-glass ours --reason x", 1, "is not managed by fedquota")
	w.must(w.clients[east].Delete(w.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "ours"}}))
	out := w.page("broken", east, "break-glass", "compute", "--reason", "incident 4711: release must go out", "--hard", "requests.cpu=11")
	w.has("break-glass", out, "the glass is broken", "limits set: requests.cpu=11")
	w.scale(east, "web", 11)
	w.becomes("broken glass with debt", func(fq *quotav1alpha1.FederatedQuota) bool {
		used := fq.Status.Used[corev1.ResourceRequestsCPU]
		return inState(east, quotav1alpha1.ClusterBreakGlass)(fq) && used.Cmp(resource.MustParse("14")) == 0
	})
	w.state("break-glass")
	w.page("glass", hub, "describe compute --show-events=false")
	w.has("get", w.kubectlPage("conditions", hub, "get", "fq", "compute", "-n", team, "-o",
		`jsonpath={range .status.conditions[?(@.status=="True")]}{.type}: {.message}{"\n"}{end}`), "BreakGlass: ", "Debt: ")
	w.answers(hub, "audit compute --for 2s", 2, "excess of requests.cpu: 2 above 12", "requests.cpu: the clusters hold 2 more than 12")
	w.shows(hub, "describe compute", "BreakGlass", "incident 4711", "kubectl fedquota mend compute")
	w.shows(east, "describe compute", "BreakGlass since")
	w.scale(east, "web", 6)
	w.has("mend", w.page("mended", east, "mend compute"), `it was broken for "incident 4711: release must go out"`, "in force:")
	w.becomes("mended glass", settled)
	w.shows(hub, "history compute --since 1m", "BreakGlass: east: ", `its reason: "incident 4711: release must go out"`)
}

// leaving deselects west while it uses something.
func (w *world) leaving() {
	w.has("leave", w.page("leave", hub, "leave west --timeout 0"), "cluster/west: labelled tier-")
	w.becomes("west to leave", inState(west, quotav1alpha1.ClusterLeaving))
	w.state("leaving")
	w.page("leaving", hub, "describe compute --show-events=false")
	w.shows(hub, "describe compute", "west Leaving", "it has not given back")
	w.has("join", w.page("joined", hub, "join west --budget compute"), "cluster/west: labelled tier=prod", "team-a/compute: west is Settled")
	w.becomes("west to be back", settled)
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
	w.page("away", hub, "describe compute --show-events=false")
	w.shows(hub, "describe compute", "west Unreachable", "What the cluster was granted stays granted")
	w.shows(hub, "explain compute --cluster west", "the cluster is Unreachable")
	w.answers(hub, "audit compute --for 1s", 1, "without all clusters nobody can judge")
	w.page("wide", hub, "list -A -o wide")
	w.rebuilding()
	w.answers(hub, "leave east --destroyed gone", 1, "cluster east answers, so it is not destroyed")
	out := w.page("destroyed", hub, "leave", "west", "--destroyed", "its region is gone", "--timeout", "1m")
	w.has("leave", out, "cluster/west: stated as destroyed", "team-a/compute: west holds nothing")
	w.becomes("the budget to go on without west", func(fq *quotav1alpha1.FederatedQuota) bool {
		return apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady)
	})
	w.has("delete", w.kubectlPage("deleted", hub, "delete fq compute -n team-a --timeout=60s"), "Warning: ", "deleted")
}

// rebuilding declares the ledger lost, as somebody does who restores the hub, while west is cut off.
func (w *world) rebuilding() {
	w.must(w.HubManager.Stop())
	w.has("annotate", w.kubectlPage("marked", hub, "-n default annotate clusters.cluster.x-k8s.io --all quota.fedquota.io/member=1"), "already has a value")
	_, err := w.kubectl(hub, "-n", team, "patch", "fq", "compute", "--subresource=status", "--type=merge", "-p", `{"status":{"revision":0,"clusters":[]}}`)
	w.must(err)
	w.must(w.HubManager.Restart(w.Context()))
	w.becomes("the hub to wait for west", func(fq *quotav1alpha1.FederatedQuota) bool {
		return apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionRebuilding) && inState(east, quotav1alpha1.ClusterSettled)(fq)
	})
	w.has("describe", w.page("rebuilding", hub, "describe compute --show-events=false"),
		"requests.cpu 6 - unknown 12 unknown", "Conditions:", "Rebuilding since", "west: ")
}
