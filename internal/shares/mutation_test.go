package shares_test

import (
	"strings"
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
	oldDecisionFenced
	revisionConfirms
	usageReadAfterShare
	rebuilding
	unreadMayHold
	strangersDoubted
	namesakesDoubted
	adoptedMayHold
	revisionGap
	usageFollowed
	clusterIdentified
	shareIdentified
	createsGiveNothing
	// What holds on to a cluster that leaves.
	bereftCounts
	markedCounts
	returnedBefore
	revisionKept
	// What the member's API server does not let through, nor an agent ask for: fencedMemberWrites is all of that.
	fencedMemberWrites
	agentKnowsRevisions
	sharesFenced
	revisionsGuarded
	raisesGuarded
	usageGuarded
	statusFenced
)

// lacks says whether a variant goes without what protects the writes in a member.
func (w *world) lacks(p protection) bool { return w.without == p || w.without == fencedMemberWrites }

// createsGive says whether a create brings the target in a variant. It does so beside what else keeps a late create
// from giving anything: either is enough.
func (w *world) createsGive() bool {
	return w.without == createsGiveNothing || w.without == clusterIdentified || w.without == revisionKept
}

// mutationSchedules is how many schedules each variant is given to show that it breaks.
const mutationSchedules = 20_000

// TestTheSimulationFinds takes out one protection at a time: a simulation that cannot fail proves nothing.
func TestTheSimulationFinds(t *testing.T) {
	type variant struct {
		without protection
		// from is where the search begins: some take a million schedules.
		from uint64
		// beside is what it goes without as well. Without that alone the schedule passes.
		beside protection
		// removing says that budgets are deleted, too.
		removing bool
		// by begins what it is found by, where that matters.
		by string
	}
	tests := map[string]variant{
		"free computed at decision from targets, not from what is granted":       {without: grantedAtDecision},
		"a confirmation by spec.hard alone, without the fence":                   {without: specConfirmedByFence},
		"usage above the target ignored":                                         {without: usageAboveTarget},
		"a timeout treated as a release":                                         {without: silenceKeepsGranted},
		"the member written before the ledger":                                   {without: ledgerBeforeMember},
		"an old decision stored with a fresh resourceVersion":                    {without: oldDecisionFenced},
		"a confirmation without a fencing write: the value was already there":    {without: revisionConfirms},
		"usage that was read before the share decides its limit":                 {without: usageReadAfterShare, from: 34_724},
		"a ledger that was rolled back and goes on":                              {without: rebuilding, by: "S1", from: 2_100},
		"an unread cluster that may hold a share counts zero":                    {without: unreadMayHold},
		"a new budget takes who is silent to hold nothing, whatever others show": {without: strangersDoubted},
		"a budget that comes after one of its name is taken for new":             {without: namesakesDoubted, removing: true},
		"an adopted cluster counts with what its share says":                     {without: adoptedMayHold},
		"no gap after the revisions of a lost ledger":                            {without: revisionGap},
		"limits that do not follow usage":                                        {without: usageFollowed},
		"a late write reaches the cluster that got the name":                     {without: clusterIdentified, beside: createsGiveNothing, from: 134_800},
		"a late update reaches the share that came in the place of its own":      {without: shareIdentified, from: 846_500},
		"a create that brings the target":                                        {without: createsGiveNothing, from: 8_500},
		"unconditional writes in the member":                                     {without: fencedMemberWrites},
		"an agent that asks for an older revision":                               {without: agentKnowsRevisions},
		"an older share stored over a newer one":                                 {without: sharesFenced},
		"an older revision enforced after a newer one":                           {without: revisionsGuarded},
		"a limit raised within a revision by an agent that is out of date":       {without: raisesGuarded},
		"a limit lowered below usage by an agent that is out of date":            {without: usageGuarded},
		"a limit in force above what is written":                                 {without: statusFenced},
		"a limit in force without a share counts for nothing":                    {without: bereftCounts},
		"a share that is removed while something is granted":                     {without: returnedBefore},
		"a ResourceQuota that was released forgets its revision":                 {without: revisionKept, beside: createsGiveNothing, from: 14_300},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside := rules{without: tc.beside, removing: tc.removing}
			for seed := tc.from; seed < tc.from+mutationSchedules; seed++ {
				w := play(record(seed), rules{without: tc.without, removing: tc.removing}, false)
				if w.err != nil && strings.HasPrefix(w.err.Error(), tc.by) && play(record(seed), beside, false).err == nil {
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

// misread makes of a quota what a variant of the agent would see of it when it decides on limits.
func (w *world) misread(q ledger.Quota) ledger.Quota {
	if w.without == usageFollowed {
		q.Used = nil
	}
	return q
}

// revision makes of a revision what a variant of the hub would give: one that leaves no gaps.
func (w *world) revision(r int64) int64 {
	if w.without == revisionGap {
		return r % ledger.Gap
	}
	return r
}

// forget is an entry as a variant reads it that counts what was decided as if it were in force; or that believes what a
// share says before the cluster has confirmed it.
func (w *world) forget(e ledger.Entry) ledger.Entry {
	e.Granted, e.Target = e.Granted.Clone(), e.Target.Clone()
	for name, granted := range e.Granted {
		if w.without == grantedAtDecision || w.without == adoptedMayHold && granted == ledger.Unknown && e.Revision > 0 {
			e.Granted[name] = e.Target[name]
		}
	}
	return e
}
