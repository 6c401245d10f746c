package explain

import (
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestBounds says of a cluster what binds its limit, and leaves no place of a sentence open.
func TestBounds(t *testing.T) {
	claim := round.ClaimAccount{
		Claim: allocate.Claim{Used: 4, Demand: 3, Max: 5, Granted: 4, Target: 4}, Part: 4,
		Verdict: allocate.Verdict{Target: 5, Fair: 6, Reason: allocate.Demand}, Next: 4,
	}
	for bound, want := range map[round.Bound]string{
		round.BoundNone:      "Its limit goes up to 5: what it uses and asks for.",
		round.BoundUnread:    "No limit is decided on before gone was read, which may hold anything. If it holds what it was told, this limit becomes 6 then.",
		round.BoundUncounted: "It does not say what it uses of this: its limit stays as it was granted.",
		round.BoundNodes:     "Its nodes are full: it gets what it has or asks for, and no headroom, which pods without a node would fill.",
		round.BoundMax:       "It is at its max of 5.",
		round.BoundDamping:   "Its limit goes up to 5: what it uses and asks for. It was moved for headroom a moment ago, and is not moved for that again so soon.",
		round.BoundReplacing: "Its limit goes up to 5: what it uses and asks for. Workloads of other clusters are replacing their pods, and what they lack meanwhile stays with these, for 10 minutes at most: west (1).",
		round.BoundUnlisted:  "Its limit goes up to 5: what it uses and asks for. No limit goes up while a cluster for which the ledger has no room may hold a share.",
		round.BoundStuck:     "Its limit goes up to 5: what it uses and asks for. It cannot be raised now: see its state.",
		round.BoundReserved:  "Its limit goes up to 5: what it uses and asks for. It waits for limits elsewhere that are to be taken over, and let more be used than is granted.",
		round.BoundExpected:  "Its limit goes up to 5: what it uses and asks for. It waits until the hub manager has heard north.",
		round.BoundReports:   "Its limit goes up to 5: what it uses and asks for. It waits a few seconds for south to say what is used of this there.",
		round.BoundDebt:      "Its limit goes up to 5: what it uses and asks for. It waits for west (2) to give back: more is granted than the budget has, by 1, and 1 more are missing.",
		round.BoundOthers:    "Its limit goes up to 5: what it uses and asks for. It waits for 1 that others have to give back first: west (2).",
		"Whim":               "Its limit goes up to 5: what it uses and asks for. It is bound by Whim, which this version does not know.",
	} {
		claim.Bound = bound
		if got := told(t, claim); got != want {
			t.Errorf("%s: %s\nwant: %s", bound, got, want)
		}
	}
}

// TestReasons has a sentence for each reason, and for one that this version does not know.
func TestReasons(t *testing.T) {
	claim := round.ClaimAccount{Claim: allocate.Claim{Min: 2, Max: 5, Granted: 4, Target: 4}, Part: 4, Verdict: allocate.Verdict{Target: 4, Fair: 3}}
	for reason, want := range map[allocate.Reason]string{
		allocate.Capped:     "It is at its max of 5, and without that it would not get more either.",
		allocate.Coupled:    "Its pods could not use more of this, because they lack another resource.",
		allocate.Guaranteed: "It is guaranteed 2.",
		allocate.Short:      "The budget does not hold all that clusters ask for. Its fair part is 3.",
		"Whim":              "Its limit becomes 4, for the reason Whim, which this version does not know.",
	} {
		claim.Verdict.Reason = reason
		if got := told(t, claim); got != want {
			t.Errorf("%s: %s\nwant: %s", reason, got, want)
		}
	}
}

// told returns what is said of a claim of pods, beside a cluster that holds 2 too many and replaces a pod, and one that may hold anything.
func told(t *testing.T, claim round.ClaimAccount) string {
	t.Helper()
	child := func(name string, claim round.ClaimAccount) round.ChildAccount {
		return round.ChildAccount{Name: name, Claims: map[corev1.ResourceName]round.ClaimAccount{"pods": claim}}
	}
	holds := func(granted int64) round.ClaimAccount {
		return round.ClaimAccount{Claim: allocate.Claim{Max: math.MaxInt64, Granted: granted, Target: 4}, Part: 4, Verdict: allocate.Verdict{Target: 4}}
	}
	west := holds(6)
	west.Replacing = 1
	s := &sentences{formats: corev1.ResourceList{"pods": resource.MustParse("12")}, account: &shares.Account{Account: &round.Account{
		Budget: amount.List{"pods": 12}, Free: amount.List{"pods": 0}, Debt: amount.List{"pods": 1},
		Expected: []string{"north"}, Reporting: map[corev1.ResourceName][]string{"pods": {"south"}},
		Children: []round.ChildAccount{child("east", claim), child("west", west), child("gone", holds(ledger.Unknown))},
	}}}
	return strings.Join(s.limit(&s.account.Children[0], "pods").Sentences, " ")
}

// TestReplacing says what a cluster keeps for the pods that its workloads replace.
func TestReplacing(t *testing.T) {
	claim := round.ClaimAccount{Claim: allocate.Claim{Used: 2, Max: 5, Granted: 4, Target: 4}, Part: 4, Replacing: 2}
	claim.Verdict = allocate.Verdict{Target: 4, Fair: 4, Reason: allocate.Kept}
	want := "It has what it needs, and nobody needs what it has beyond that, so nothing moves. " +
		"Its workloads are replacing their pods, and lack 2 meanwhile: what it had of that stays its own, for 10 minutes at most."
	if got := told(t, claim); got != want {
		t.Errorf("got %s\nwant: %s", got, want)
	}
}
