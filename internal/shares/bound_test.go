package shares

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// drawnChild is what a test draws of a child, out of which an input is made anew with bounds lifted.
type drawnChild struct {
	unread, full, capped, damped             bool
	weight, target, granted, used, ask, most int64
	replacing                                int64
}

func drawChild(t *rapid.T) drawnChild {
	number := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "number") }
	flag := func(oneIn int64) bool { return number(oneIn-1) == 0 }
	c := drawnChild{unread: flag(6), full: flag(4), capped: flag(3), damped: flag(4), weight: number(2), target: number(8), ask: number(6)}
	c.used, c.most = number(c.target+2), number(8)
	c.granted = max(c.target, c.used)
	if flag(3) {
		c.replacing = number(2)
	}
	if flag(4) {
		c.granted += number(3)
	}
	return c
}

// input makes an input out of what was drawn.
func (d drawnChild) child(i int) Child {
	revision := int64(i + 1)
	c := Child{Name: fmt.Sprintf("c%d", i), Selected: true, Entry: entry(revision, d.target, d.granted)}
	if d.unread {
		c.Reading.Failure = "away"
		if d.granted == ledger.Unknown {
			c.Entry.Revision = 0
		}
	} else {
		var conditions []Condition
		if d.full {
			conditions = append(conditions, yes(quotav1alpha1.ConditionNodesFull, "", ""))
		}
		c.Reading.Share = share(revision, d.target, d.used, conditions...)
		c.Reading.Share.Report.Hard = amount.List{"pods": max(d.granted, d.target)}
		c.Reading.Share.Demand, c.Reading.Share.Replacing = amount.List{"pods": d.ask}, amount.List{"pods": d.replacing}
	}
	c.Terms.Weight = d.weight
	if d.capped {
		c.Terms.Max = amount.List{"pods": d.most}
	}
	if d.damped {
		c.Past.DampedFor = time.Second
	}
	return c
}

func explained(drawn []drawnChild) *Account {
	var children []Child
	for i, d := range drawn {
		children = append(children, d.child(i))
	}
	in := inputOf(children...)
	for i := range in.Children {
		in.Children[i].Terms.Weight = drawn[i].weight
	}
	in.Split.Options = pace.Options(true)
	return New(in).Explain()
}

// would is what a limit would become if every child were read.
func would(c round.ClaimAccount) int64 {
	if c.Bound == round.BoundUnread {
		return c.Verdict.Fair
	}
	return c.Verdict.Target
}

// lift takes a bound away from what was drawn.
func lift(drawn []drawnChild, i int, bound round.Bound, account *Account) []drawnChild {
	lifted := append([]drawnChild{}, drawn...)
	switch bound {
	case round.BoundMax:
		lifted[i].capped = false
	case round.BoundNodes:
		lifted[i].full = false
	case round.BoundDamping:
		lifted[i].damped = false
	case round.BoundReplacing:
		for k := range lifted {
			lifted[k].replacing = 0
		}
	case round.BoundUnread:
		for k := range lifted {
			if lifted[k].granted == ledger.Unknown {
				lifted[k].granted = lifted[k].target
			}
		}
	case round.BoundDebt, round.BoundOthers:
		for k := range lifted {
			if wanted := account.Children[k].Claims["pods"].Verdict.Target; k != i && !lifted[k].unread {
				lifted[k].granted, lifted[k].used = min(lifted[k].granted, wanted), min(lifted[k].used, wanted)
				lifted[k].target = min(lifted[k].target, wanted)
			}
		}
	}
	return lifted
}

// TestBounds takes away whatever is said to bind a limit, and demands that the limit becomes another one, or goes up at
// once.
func TestBounds(t *testing.T) {
	said := map[round.Bound]int{}
	check := func(t *rapid.T) {
		var drawn []drawnChild
		for range rapid.IntRange(1, 4).Draw(t, "children") {
			d := drawChild(t)
			if d.unread && rapid.Bool().Draw(t, "anything") {
				d.granted = ledger.Unknown
			}
			drawn = append(drawn, d)
		}
		account := explained(drawn)
		for i := range account.Children {
			claim := account.Children[i].Claims["pods"]
			said[claim.Bound]++
			if claim.Bound == round.BoundNone {
				continue
			}
			after := explained(lift(drawn, i, claim.Bound, account)).Children[i].Claims["pods"]
			switch claim.Bound {
			case round.BoundBudget: // internal/round takes that away
			case round.BoundDebt, round.BoundOthers: // a wish for headroom may end with the room that others have given
				if after.Next <= claim.Next && amount.Add(claim.Used, claim.Demand) > claim.Next {
					t.Errorf("child %d waits for %s: %+v, and after that: %+v", i, claim.Bound, claim, after)
				}
			case round.BoundUnread:
				if after.Verdict.Target == claim.Verdict.Target {
					t.Errorf("child %d is bound by %s: %+v, and without: %+v", i, claim.Bound, claim, after)
				}
			default:
				if would(after) <= would(claim) {
					t.Errorf("child %d is bound by %s: %+v, and without: %+v", i, claim.Bound, claim, after)
				}
			}
		}
	}
	for range 10 { // some bounds are rare
		rapid.Check(t, check)
	}
	for _, bound := range []round.Bound{round.BoundNone, round.BoundUnread, round.BoundNodes, round.BoundMax, round.BoundDamping, round.BoundReplacing, round.BoundDebt, round.BoundOthers} {
		if said[bound] == 0 {
			t.Errorf("nothing was ever bound by %q: %v", bound, said)
		}
	}
}
