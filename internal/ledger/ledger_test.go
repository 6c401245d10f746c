package ledger_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// TestNewWithOtherNames changes the names of the budget, one budget after the other, while the child says nothing.
func TestNewWithOtherNames(t *testing.T) {
	tests := map[string]struct {
		before  ledger.Entry
		budgets []amount.List
		want    ledger.Entry
	}{
		"the same names need no confirmation": {
			before:  entry(7, 60, 20),
			budgets: []amount.List{{pods: 5}},
			want:    entry(7, 60, 20),
		},
		"a name that came starts at zero": {
			before:  entry(7, 60, 20),
			budgets: []amount.List{{pods: 100, cpu: 50}},
			want:    ledger.Entry{Revision: 11, Granted: amount.List{pods: 60, cpu: 0}, Target: amount.List{pods: 20, cpu: 0}},
		},
		"a name that left stays granted": {
			before:  entry(7, 60, 20),
			budgets: []amount.List{{cpu: 50}},
			want:    ledger.Entry{Revision: 11, Granted: amount.List{pods: 60, cpu: 0}, Target: amount.List{cpu: 0}},
		},
		"a name that left and came back was never released": {
			before:  entry(7, 60, 20),
			budgets: []amount.List{{cpu: 50}, {cpu: 50}, {cpu: 50, pods: 100}},
			want:    ledger.Entry{Revision: 12, Granted: amount.List{pods: 60, cpu: 0}, Target: amount.List{pods: 0, cpu: 0}},
		},
		"of a child that may hold anything a new name may be held as well": {
			before:  entry(0, unknown, 0),
			budgets: []amount.List{{pods: 100, cpu: 50}},
			want:    ledger.Entry{Granted: amount.List{pods: unknown, cpu: unknown}, Target: amount.List{pods: 0, cpu: 0}},
		},
		"so it is after its adoption, until it has confirmed": {
			before:  entry(7, unknown, 30),
			budgets: []amount.List{{cpu: 50}},
			want:    ledger.Entry{Revision: 11, Granted: amount.List{pods: unknown, cpu: unknown}, Target: amount.List{cpu: 0}},
		},
		"a child that was never read has nothing to confirm": {
			before:  entry(0, 0, 0),
			budgets: []amount.List{{pods: 100, cpu: 50}},
			want:    ledger.Entry{Granted: amount.List{pods: 0, cpu: 0}, Target: amount.List{pods: 0, cpu: 0}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, revision := tc.before, int64(10)
			for _, budget := range tc.budgets {
				l := ledger.New(budget, revision, entries{"a": got})
				got, _ = l.Entry("a")
				revision = l.Revision()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANameThatLeftIsDroppedOnceConfirmed(t *testing.T) {
	l := ledger.New(amount.List{cpu: 50}, 10, entries{"a": entry(7, 60, 20)})
	l.Hear("a", ledger.Report{Revision: 7, Hard: amount.List{pods: 60}, Used: amount.List{pods: 9}})
	if e, _ := l.Entry("a"); e.Granted[pods] != 60 {
		t.Errorf("an older report released %d pods", 60-e.Granted[pods])
	}
	l.Hear("a", ledger.Report{Revision: 11, Hard: amount.List{cpu: 0}, Used: amount.List{cpu: 0}})
	e, _ := l.Entry("a")
	if diff := cmp.Diff(amount.List{cpu: 0}, e.Granted); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
}

// TestABudgetThatRisesWhileAClusterIsUnread restores a ledger from the time of a smaller budget, and raises the budget
// again before the child is read: what it holds is more than the budget that it was counted with.
func TestABudgetThatRisesWhileAClusterIsUnread(t *testing.T) {
	restored := ledger.New(amount.List{pods: 100}, 10, entries{"a": entry(7, 50, 50), "b": entry(8, 0, 0)})
	restored.Rebuild(20)
	restored.Adopt("b", nil)
	a, _ := restored.Entry("a")
	b, _ := restored.Entry("b")
	l := ledger.New(amount.List{pods: 200, cpu: 10}, restored.Revision(), entries{"a": a, "b": b})
	l.Hear("b", ledger.Report{Revision: b.Revision + 1, Hard: amount.List{pods: 0, cpu: 0}, Used: amount.List{pods: 0, cpu: 0}})
	for _, name := range []corev1.ResourceName{pods, cpu} {
		if got := l.Raise("b", name, 1); got != 0 || l.Free(name) != 0 {
			t.Errorf("%s: b was raised by %d while nobody knows what a holds", name, got)
		}
	}
}

// TestFirst has a share be created: it gives nothing, and is older than what brings the target.
func TestFirst(t *testing.T) {
	for name, tc := range map[string]struct{ decided, want ledger.Entry }{
		"a target above zero": {decided: entry(7, 60, 20), want: entry(6, 60, 0)},
		"a target of zero":    {decided: entry(7, 60, 0), want: entry(7, 60, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.decided.First()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSums(t *testing.T) {
	l := ledger.New(amount.List{pods: 100, cpu: 10}, 10, entries{
		"a": {Revision: 1, Granted: amount.List{pods: 70, cpu: unknown}},
		"b": {Revision: 2, Granted: amount.List{pods: 40, cpu: unknown}},
		"c": {Granted: amount.List{}},
	})
	got := []int64{l.Granted(pods), l.Free(pods), l.Debt(pods), l.Granted(cpu), l.Free(cpu), l.Debt(cpu), l.Granted(memory), l.Free(memory)}
	if diff := cmp.Diff([]int64{110, 0, 10, unknown, 0, unknown, 0, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !l.Holds("a") || l.Holds("c") || l.Holds("nobody") {
		t.Error("a alone holds something")
	}
}

// TestTheLedgerKeepsItsNumbers changes what went in and came out.
func TestTheLedgerKeepsItsNumbers(t *testing.T) {
	budget, before := amount.List{pods: 100}, entries{"a": entry(7, 60, 20)}
	l := ledger.New(budget, 10, before)
	want := stateOf(l)
	clear(budget)
	before["a"].Granted[pods], before["a"].Target[pods] = 1, 1
	out, _ := l.Entry("a")
	clear(out.Granted)
	clear(out.Target)
	clear(l.Budget())
	if diff := cmp.Diff(want, stateOf(l)); diff != "" || l.Budget()[pods] != 100 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStoreLeavesOutATargetThatIsGranted(t *testing.T) {
	l := ledger.New(amount.List{pods: 100}, 10, entries{"a": entry(7, 60, 20), "b": entry(8, 30, 30)})
	like := corev1.ResourceList{pods: resource.MustParse("100")}
	for child, want := range map[string]bool{"a": true, "b": false} {
		_, _, target := l.Stored(child, like)
		if got := target != nil; got != want {
			t.Errorf("%s: target stored: %v, want %v", child, got, want)
		}
	}
	revision, hard := l.Share("a", like)
	if quantity := hard[pods]; revision != 7 || quantity.String() != "20" {
		t.Errorf("got share %d %v", revision, hard)
	}
}

// TestStoredLedgerIsTheSame stores a ledger in a status, as JSON quantities, and reads it.
func TestStoredLedgerIsTheSame(t *testing.T) {
	names := []corev1.ResourceName{pods, cpu, memory}
	value := rapid.OneOf(rapid.Int64Range(0, ledger.Unknown), rapid.Just(ledger.Unknown))
	list := rapid.MapOf(rapid.SampledFrom(names), value)
	one := rapid.Custom(func(t *rapid.T) ledger.Entry {
		return ledger.Entry{
			Revision: rapid.Int64Range(0, 99).Draw(t, "revision"),
			Granted:  list.Draw(t, "granted"),
			Target:   list.Draw(t, "target"),
		}
	})
	all := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), one)
	rapid.Check(t, func(t *rapid.T) {
		budget := amount.List(rapid.MapOfN(rapid.SampledFrom(names), value, 1, len(names)).Draw(t, "budget"))
		l := ledger.New(budget, 99, all.Draw(t, "entries"))
		status := quotav1alpha1.FederatedQuotaStatus{BudgetStatus: quotav1alpha1.BudgetStatus{Revision: l.Revision()}}
		for _, child := range l.Children() {
			stored := quotav1alpha1.ClusterStatus{Name: quotav1alpha1.ClusterName(child)}
			stored.Revision, stored.Granted, stored.Target = l.Stored(child, corev1.ResourceList{memory: resource.MustParse("1Gi")})
			status.Clusters = append(status.Clusters, *onTheWire(&stored))
		}
		if diff := cmp.Diff(stateOf(l), stateOf(ledger.New(budget, status.Revision, entriesOf(status)))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// onTheWire takes the quantities through their text, as an API server does.
func onTheWire(c *quotav1alpha1.ClusterStatus) *quotav1alpha1.ClusterStatus {
	for _, list := range []map[corev1.ResourceName]resource.Quantity{c.Granted, c.Target} {
		for name, q := range maps.Clone(list) {
			list[name] = resource.MustParse(q.String())
		}
	}
	return c
}

func TestReportOf(t *testing.T) {
	got := ledger.ReportOf(7, corev1.ResourceList{cpu: resource.MustParse("1500u")}, corev1.ResourceList{cpu: resource.MustParse("1")})
	want := ledger.Report{Revision: 7, Hard: amount.List{cpu: 2}, Used: amount.List{cpu: 1000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// entriesOf returns the entries that are stored.
func entriesOf(status quotav1alpha1.FederatedQuotaStatus) map[string]ledger.Entry {
	entries := map[string]ledger.Entry{}
	for i := range status.Clusters {
		c := &status.Clusters[i]
		entries[string(c.Name)] = ledger.EntryOf(c.Revision, c.Granted, c.Target)
	}
	return entries
}
