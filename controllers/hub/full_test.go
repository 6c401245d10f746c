package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// TestFullLedger selects a cluster that the ledger has no room for. The one that has an entry is raised unless the other may
// hold a share.
func TestFullLedger(t *testing.T) {
	for name, tc := range map[string]struct {
		share  *quotav1alpha1.QuotaShare
		raised bool
	}{
		"of a cluster that holds none":       {raised: true},
		"of a cluster that may hold a share": {share: &quotav1alpha1.QuotaShare{}},
	} {
		t.Run(name, func(t *testing.T) {
			fq := &quotav1alpha1.FederatedQuota{Spec: quotav1alpha1.FederatedQuotaSpec{
				Hard:      pods("10"),
				Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"a", "z"}},
				Rebalance: quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic},
			}}
			for i := range mostEntries {
				fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{
					Name: quotav1alpha1.ClusterName(fmt.Sprintf("leaving-%d", i)), Revision: 1, Granted: pods("0"),
				})
			}
			fq.Status.Clusters[0].Name = "a"
			fq.Status.Hard, fq.Status.Revision = pods("10"), 1
			clusters := []clusterv1.Cluster{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "z"}}}
			s := newScope(fq, clusters, nil, nil, "agents", metav1.Now().Time)
			for _, m := range s.members {
				if !m.selected {
					m.unreachable = "there is no connection"
				}
			}
			s.byName["a"].share = &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Revision: 1, Hard: pods("0")}}
			s.byName["a"].report = ledger.Report{Revision: 1, Hard: amount.List{"pods": 0}, Used: amount.List{"pods": 0}}
			s.byName["z"].share = tc.share
			s.decide()
			if n := s.ledger.Len(); n != mostEntries {
				t.Errorf("the ledger has %d entries", n)
			}
			if raised := s.ledger.Granted("pods") > 0; raised != tc.raised {
				t.Errorf("raised: %v, want %v", raised, tc.raised)
			}
			s.report()
			var message string
			for _, c := range fq.Status.Conditions {
				if c.Type == quotav1alpha1.ConditionLedgerFull {
					message = c.Message
				}
			}
			if want := "The ledger has room for 2000 clusters, those that leave included, and none for: z"; message != want {
				t.Errorf("got %q, want %q", message, want)
			}
			if next := s.nextRound(); next > heldBackInterval*12/10 {
				t.Errorf("looks again after %s", next)
			}
		})
	}
}

// budgetOf returns a spec of many names, which start with prefix.
func budgetOf(prefix string) string {
	hard := make([]string, 32)
	for i := range hard {
		hard[i] = fmt.Sprintf(`count/%s%d.example.com: "10"`, prefix, i)
	}
	return `{hard: {` + strings.Join(hard, ", ") + `}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`
}

// TestTooManyNames changes all names of the budget twice while a member is away that may enforce those of before.
func TestTooManyNames(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, budgetOf("a"))
	w.settle()
	w.agents["east"].down = true
	w.edit(budgetOf("b"))
	w.settle()
	w.edit(budgetOf("c"))
	w.settle()
	w.wantConditions("!Ready InvalidSpec", "Stalled InvalidSpec")
	want := `spec.hard: Invalid value: 32: cluster east may still enforce names of earlier budgets: with these it would have 96 names, and at most 64 have room in status: keep to those of status.hard until it has confirmed`
	if diff := cmp.Diff(want, w.message("Stalled")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if granted := w.quota().Status.Clusters[0].Granted; len(granted) != mostNames {
		t.Errorf("%d names are granted", len(granted))
	}
	w.agents["east"].down = false
	w.act()
	if result := w.round(); result.RequeueAfter > heldBackInterval*12/10 {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.settle()
	w.wantConditions("Ready Settled")
	hard := corev1.ResourceList{}
	for i := range 32 {
		hard[corev1.ResourceName(fmt.Sprintf("count/c%d.example.com", i))] = resource.MustParse("10")
	}
	if diff := cmp.Diff(hard, corev1.ResourceList(w.share("east").Spec.Hard), quantities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
