package ledger_test

import (
	"testing"

	"github.com/fedquota/fedquota/internal/ledger"
)

// protection is a part of the protocol that a variant of the simulation goes without.
type protection int

const (
	everything protection = iota
	grantedAtDecision
	specConfirmedByFence
	usageAboveTarget
	silenceKeepsGranted
	ledgerBeforeMember
	fencedMemberWrites
	oldDecisionFenced
	revisionConfirms
	usageReadAfterShare
)

// mutationSchedules is how many schedules each variant is given to show that it breaks.
const mutationSchedules = 20_000

// TestTheSimulationFinds takes out one protection at a time: a simulation that cannot fail proves nothing.
func TestTheSimulationFinds(t *testing.T) {
	type variant struct {
		without protection
		// from is where the search begins: some take ten thousands of schedules.
		from uint64
	}
	tests := map[string]variant{
		"free computed at decision from targets, not from what is granted":    {without: grantedAtDecision},
		"a confirmation by spec.hard alone, without the fence":                {without: specConfirmedByFence, from: 4076},
		"usage above the target ignored":                                      {without: usageAboveTarget},
		"a timeout treated as a release":                                      {without: silenceKeepsGranted},
		"the member written before the ledger":                                {without: ledgerBeforeMember},
		"unconditional writes in the member":                                  {without: fencedMemberWrites, from: 45446},
		"an old decision stored with a fresh resourceVersion":                 {without: oldDecisionFenced},
		"a confirmation without a fencing write: the value was already there": {without: revisionConfirms},
		"usage that was read before the share decides its limit":              {without: usageReadAfterShare, from: 6389},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := tc.from; seed < tc.from+mutationSchedules; seed++ {
				w := play(record(seed), tc.without, false)
				if w.err != nil && play(record(seed), everything, false).err == nil {
					t.Logf("schedule %d: %v", seed, w.err)
					return
				}
			}
			t.Errorf("%d schedules found nothing", mutationSchedules)
		})
	}
}

// distort makes of a report what a variant of the hub would believe.
func (w *world) distort(report ledger.Report, e ledger.Entry, reachable bool) ledger.Report {
	switch w.without {
	case usageAboveTarget:
		if report.Revision == e.Revision {
			report.Hard, report.Used = e.Target, amounts{}.list()
		}
	case silenceKeepsGranted:
		if !reachable {
			return ledger.Report{Revision: e.Revision, Hard: e.Target, Used: amounts{}.list()}
		}
	case revisionConfirms:
		if report.Hard.Equal(e.Target) && report.Hard.Covers(report.Used) {
			report.Revision = e.Revision
		}
	}
	return report
}

// forgetGranted is a ledger that counts what was decided as if it were in force.
func forgetGranted(book *ledger.Ledger) *ledger.Ledger {
	entries := make(map[string]ledger.Entry)
	for _, cluster := range book.Clusters() {
		e, _ := book.Entry(cluster)
		e.Granted = e.Target
		entries[cluster] = e
	}
	return ledger.New(book.Budget(), book.Revision(), entries)
}
