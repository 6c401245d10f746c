package quota

import (
	"fmt"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestLostLedgerThatNobodyCanActUpon loses a ledger while the spec selects nobody, or is invalid, and west is cut off:
// it is still to be asked when the spec is mended, whoever was found meanwhile.
func TestLostLedgerThatNobodyCanActUpon(t *testing.T) {
	lost := func(status quotav1alpha1.FederatedQuotaStatus) quotav1alpha1.FederatedQuotaStatus {
		status.Revision, status.Clusters = 0, nil
		return status
	}
	nothing := func(quotav1alpha1.FederatedQuotaStatus) quotav1alpha1.FederatedQuotaStatus {
		return quotav1alpha1.FederatedQuotaStatus{}
	}
	const invalid = `
hard: {pods: "30"}
placement: {clusters: [west]}
distribution: {rules: [{min: {pods: "40"}}]}
rebalance: {mode: Static}`
	for name, tc := range map[string]struct {
		spec string
		left func(quotav1alpha1.FederatedQuotaStatus) quotav1alpha1.FederatedQuotaStatus
	}{
		"selects nobody":             {spec: mostOf("nowhere", "east", "30"), left: lost},
		"invalid":                    {spec: invalid, left: lost},
		"invalid, and blank":         {spec: invalid, left: nothing},
		"as it shall be":             {spec: mostOf("east", "east", "30"), left: lost},
		"as it shall be, over blank": {spec: mostOf("east", "east", "30"), left: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, mostOf("east, west", "east", "10"))
			w.settle()
			status := w.quota().Status
			w.cutOff("west")
			w.edit(tc.spec)
			w.replaceStatus(tc.left(status))
			w.begins()
			w.gaveUp()
			w.judged(3, 2*pace.SnapshotInterval(1, 1))
			w.edit(mostOf("east", "east", "30"))
			w.judged(6, 2*pace.SnapshotInterval(1, 1))
		})
	}
}

// TestRollbackBesideAClusterThatLeaves has a rollback be noticed in a round that reads a leaving cluster live: west,
// which is not selected any more and cut off, is still to be asked.
func TestRollbackBesideAClusterThatLeaves(t *testing.T) {
	spec := func(clusters, east string) string {
		return fmt.Sprintf(`
hard: {pods: "30"}
placement: {clusters: [%s]}
distribution: {rules: [{clusters: [east], max: {pods: %q}}, {clusters: [north], max: {pods: "5"}}]}
rebalance: {mode: Static}`, clusters, east)
	}
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, spec("east, north", "5"))
	w.settle()
	w.agents["north"].uses(list("pods", "3"))
	w.edit(spec("east", "5"))
	w.settle()
	old := w.quota().Status
	w.edit(spec("east, west", "7"))
	w.settle()
	w.wantLedger("east 7/7 Settled", "north 0/3 Leaving", "west 20/20 Settled")
	w.cutOff("west")
	w.edit(spec("east", "5"))
	w.replaceStatus(old)
	w.begins()
	w.gaveUp()
	w.judged(5, 2*pace.SnapshotInterval(1, 1))
	w.edit(spec("east, west", "30"))
	w.judged(5, 2*pace.SnapshotInterval(1, 1))
}

// TestRollbackBesideANewName has a name come into the budget at once, which gives all entries revisions of their own:
// that west shows a newer one than was stored is noticed all the same, so that north, which is cut off, may hold
// anything.
func TestRollbackBesideANewName(t *testing.T) {
	spec := func(extra, east, north, west string) string {
		return fmt.Sprintf(`
hard: {pods: "30"%s}
placement: {clusters: [east, north, west]}
distribution: {rules: [{clusters: [east], max: {pods: %q}}, {clusters: [north], max: {pods: %q}}, {clusters: [west], max: {pods: %q}}]}
rebalance: {mode: Static}`, extra, east, north, west)
	}
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, spec("", "5", "5", "5"))
	w.settle()
	old := w.quota().Status
	w.edit(spec("", "5", "15", "8"))
	w.settle()
	w.wantLedger("east 5/5 Settled", "north 15/15 Settled", "west 8/8 Settled")
	w.cutOff("north")
	w.edit(spec(`, services: "100"`, "30", "5", "8"))
	w.replaceStatus(old)
	w.begins()
	w.gaveUp()
	w.judged(6, 2*pace.SnapshotInterval(1, 1))
}

// TestRollbackBesideAStranger has a rollback be noticed by what east says. West, which is cut off and of which the
// backup has never heard, may have been told anything since.
func TestRollbackBesideAStranger(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, mostOf("east", "east", "5"))
	w.settle()
	old := w.quota().Status
	w.edit(mostOf("east, west", "east", "7"))
	w.settle()
	w.wantLedger("east 7/7 Settled", "west 23/23 Settled")
	w.unmark("west")
	w.cutOff("west")
	w.edit(mostOf("east, west", "east", "30"))
	w.replaceStatus(old)
	w.begins()
	w.gaveUp()
	w.judged(5, 2*pace.SnapshotInterval(1, 1))
	w.wantLedger("east 7/7 Settled", "west 0/9223372036854775807 Unread")
}
