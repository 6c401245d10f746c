package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

func TestInvalidSpecKeepsTheLedger(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"a name that is never counted": {
			spec: `{hard: {pods: "20", nvidia.com/gpu: "8"}, placement: {clusterSelector: {}}}`,
			want: `spec.hard[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": is accepted by ResourceQuota and never counted: use requests.nvidia.com/gpu`,
		},
		"guarantees that do not fit": {
			spec: `{hard: {secrets: "3"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {secrets: "2"}}]}}`,
			want: `spec.distribution.rules.min[secrets]: Invalid value: "4": the min of clusters east, west add up to more than the budget: must be at most 3 in all`,
		},
		"a min of one rule above the max of another": {
			spec: `{hard: {pods: "20"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "5"}}, {clusterSelector: {matchLabels: {name: west}}, max: {pods: "4"}}]}}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "5": the rules give cluster west more than its max: must be at most 4`,
		},
		"a selector that cannot be read": {
			spec: `{hard: {pods: "20"}, placement: {clusterSelector: {matchLabels: {name: "east west"}}}, removal: {policy: Delete}}`,
			want: "spec.placement.clusterSelector.matchLabels: Invalid value: \"east west\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
		},
		"a selected cluster that is destroyed": {
			spec: `{hard: {pods: "20"}, placement: {clusterSelector: {}}, removal: {destroyed: [east]}}`,
			want: `spec.removal.destroyed[0]: Invalid value: "east": the placement selects this Cluster: a cluster that still runs must not be given up`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted)
			w.settle()
			w.edit(tc.spec)
			w.written()
			w.settle()
			w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
			w.wantConditions("!Ready InvalidSpec", "Stalled InvalidSpec")
			if diff := cmp.Diff(tc.want, w.message("Stalled")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if status := w.quota().Status; !cmp.Equal(list("pods", "30"), corev1.ResourceList(status.Hard), quantities) {
				t.Errorf("the budget is %v", status.Hard)
			}
			w.wantShare("east", 4, "pods", "18")
			w.edit(weighted2)
			w.settle()
			w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
			w.wantConditions("Ready Enforced")
		})
	}
}

// TestNobodyLeavesOverAnInvalidSpec has clusters that have nothing to give back be deselected by a spec that cannot be
// acted on.
func TestNobodyLeavesOverAnInvalidSpec(t *testing.T) {
	const toEast = `
distribution: {rules: [{clusters: [west], weight: 0}]}
removal: {policy: Delete}`
	for name, spec := range map[string]string{
		"a selector that cannot be read": `{hard: {pods: "20"}, placement: {clusterSelector: {matchExpressions: [{key: name, operator: IN, values: [east]}]}}}`,
		"a name that is never counted":   `{hard: {nvidia.com/gpu: "8"}, placement: {clusters: [east]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, weighted2+toEast)
			w.settle()
			w.wantLedger("east 20/20 Settled", "west 0/0 Settled")
			w.edit(spec)
			w.settle()
			if share := w.share("west"); share == nil || !share.DeletionTimestamp.IsZero() || share.Annotations[quotav1alpha1.RemovalAnnotation] != "" {
				t.Errorf("west was told to let go: %+v", share)
			}
			w.edit(weighted2 + toEast)
			w.settle()
			w.wantLedger("east 20/20 Settled", "west 0/0 Settled")
		})
	}
}

// TestInvalidSpecFollowsReports has limits on their way when the spec becomes invalid: what members confirm is taken,
// and nobody is raised.
func TestInvalidSpecFollowsReports(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastFirst)
	w.round()
	w.wantLedger("east 18/18 Settled", "west 0/12 Settling")
	w.edit(`{hard: {count/typo: "1"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 Settled")
	w.wantConditions("!Ready InvalidSpec", "Stalled InvalidSpec")
	w.edit(eastFirst)
	w.settle()
	w.wantLedger("east 30/30 Settled", "west 0/0 Settled")
}

func TestInvalidFromTheStart(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, `{hard: {count/typo: "1"}, placement: {clusterSelector: {}}}`)
	result := w.round()
	w.wantWritten("hub: store FederatedQuota compute", "hub: patch FederatedQuota compute", "hub: store FederatedQuota compute")
	w.wantConditions("!Ready InvalidSpec", "Stalled InvalidSpec")
	if result.RequeueAfter > 0 && result.RequeueAfter < pace.RetryInterval {
		t.Errorf("tried again after %s", result.RequeueAfter)
	}
}

// TestInvalidBeforeItsClusterIsRead has a spec become invalid before its cluster can be read: nothing is to be done
// about that cluster, and nobody looks again and again.
func TestInvalidBeforeItsClusterIsRead(t *testing.T) {
	w := newWorld(t, "east")
	w.cutOff("east")
	w.create(quotaName, weighted)
	w.round()
	w.edit(`{hard: {count/typo: "1"}, placement: {clusterSelector: {}}}`)
	w.round()
	w.reconnect("east")
	w.round()
	if result := w.round(); result.RequeueAfter < pace.RetryInterval/2 {
		t.Errorf("tried again after %s", result.RequeueAfter)
	}
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}
