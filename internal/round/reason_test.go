package round_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

var names = []corev1.ResourceName{"pods", "requests.cpu"}

// situation is a budget over children whose limits can move, of which a test takes one thing away.
type situation struct {
	budget  amount.List
	in      *round.Input
	entries map[string]ledger.Entry
}

func (s *situation) explained() *round.Account {
	return round.Explain(ledger.New(s.budget, 9, s.entries), s.in)
}

// but returns the situation with a change of the budget, and of the child i.
func (s *situation) but(i int, change func(budget amount.List, c *round.Standing)) *situation {
	other := &situation{budget: s.budget.Clone(), in: new(*s.in), entries: s.entries}
	other.in.Children = slices.Clone(s.in.Children)
	c := &other.in.Children[i]
	c.Terms.Min, c.Terms.Max, c.Terms.Headroom = c.Terms.Min.Clone(), c.Terms.Max.Clone(), c.Terms.Headroom.Clone()
	c.Used, c.Demand, c.Expected = c.Used.Clone(), c.Demand.Clone(), c.Expected.Clone()
	change(other.budget, c)
	return other
}

// drawSituation draws two names over up to four children.
func drawSituation(t *rapid.T) *situation {
	number := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "number") }
	flag := func(oneIn int64) bool { return number(oneIn-1) == 0 }
	list := func(oneIn, most int64) amount.List {
		drawn := amount.List{}
		for _, name := range names {
			if flag(oneIn) {
				drawn[name] = number(most)
			}
		}
		return drawn
	}
	s := &situation{
		budget: amount.List{"pods": 4 + number(12), "requests.cpu": 4 + number(12)}, entries: map[string]ledger.Entry{},
		in: &round.Input{ID: "uid", Split: round.Split{Static: flag(4), Options: pace.Options(flag(2)), Respites: pace.Respites()}},
	}
	if flag(3) {
		s.in.Split.Grains = amount.List{"pods": 1 + number(3)}
	}
	if flag(3) {
		s.in.Bounded = map[corev1.ResourceName]round.Bound{"pods": round.BoundPool, "requests.cpu": round.BoundCapacity}
	}
	for i := range 1 + number(3) {
		target := amount.List{"pods": number(6), "requests.cpu": number(6)}
		c := round.Standing{
			Name: fmt.Sprint("child-", i), UID: fmt.Sprint("uid-", i), CanRaise: true, Full: flag(6),
			Terms: round.Terms{Weight: number(2), Min: list(4, 5), Max: list(4, 9), Headroom: list(4, 3)},
			Used:  amount.List{"pods": number(6), "requests.cpu": number(6)}, Demand: list(2, 6), Expected: list(6, 3),
		}
		for name, most := range c.Terms.Max {
			c.Terms.Min[name] = min(c.Terms.Min[name], most)
		}
		c.Terms.Lendable = c.Terms.Min
		if flag(2) {
			c.Terms.Lendable = nil
		}
		if flag(6) {
			c.Room = list(1, 4)
		}
		if flag(4) {
			c.Gave = map[corev1.ResourceName]time.Duration{"pods": time.Second}
		}
		s.in.Children = append(s.in.Children, c)
		s.entries[c.Name] = ledger.Entry{Revision: i + 1, Target: target, Granted: amount.Max(target, c.Used)}
	}
	return s
}

// without returns the situation without what a reason says of the child i; nil if it says nothing that can be taken away.
func (s *situation) without(i int, name corev1.ResourceName, verdict allocate.Verdict) *situation {
	changes := map[allocate.Reason]func(amount.List, *round.Standing){
		allocate.Short: func(budget amount.List, _ *round.Standing) { budget[name] = math.MaxInt64 },
		allocate.Capped: func(_ amount.List, c *round.Standing) {
			delete(c.Terms.Max, name)
		},
		allocate.Placed: func(_ amount.List, c *round.Standing) {
			c.Room, c.Full = c.Room.Clone(), false
			delete(c.Room, name)
		},
		allocate.Coupled: func(budget amount.List, c *round.Standing) {
			for other := range budget {
				if other != name {
					delete(c.Terms.Max, other)
					budget[other] = math.MaxInt64
				}
			}
			c.Room, c.Full = c.Room.Only(amount.List{name: 0}), false
		},
		allocate.Usage:      func(_ amount.List, c *round.Standing) { c.Used[name] = 0 },
		allocate.Guaranteed: func(_ amount.List, c *round.Standing) { delete(c.Terms.Min, name) },
		allocate.Reclaim:    func(_ amount.List, c *round.Standing) { delete(c.Terms.Min, name) },
		allocate.Respite:    func(_ amount.List, c *round.Standing) { c.Gave = nil },
		allocate.Expected:   func(_ amount.List, c *round.Standing) { delete(c.Expected, name) },
		allocate.Demand:     func(_ amount.List, c *round.Standing) { delete(c.Demand, name) },
		allocate.Headroom:   func(budget amount.List, _ *round.Standing) { budget[name] = 0 },
		allocate.Weight: func(budget amount.List, c *round.Standing) {
			if budget[name] = 0; verdict.Target == 0 {
				budget[name], c.Terms.Weight = math.MaxInt64, 1
			}
		},
	}
	if change := changes[verdict.Reason]; change != nil {
		return s.but(i, change)
	}
	return nil
}

// TestReasons takes away what the reason of a limit says, and demands another limit, reason or bound. A round
// writes nothing into its input.
func TestReasons(t *testing.T) {
	said := map[allocate.Reason]int{}
	check := func(t *rapid.T) {
		s := drawSituation(t)
		before := fmt.Sprintf("%+v", s.in)
		account := s.explained()
		if round.Steer(ledger.New(s.budget, 9, s.entries), s.in); fmt.Sprintf("%+v", s.in) != before {
			t.Errorf("the input was %s, and has become %+v", before, s.in)
		}
		for i := range account.Children {
			for _, name := range names {
				claim := account.Children[i].Claims[name]
				said[claim.Verdict.Reason]++
				other := s.without(i, name, claim.Verdict)
				switch claim.Bound {
				case round.BoundNodes, round.BoundRoom, round.BoundStep: // says all, see TestBounds
					continue
				}
				if other == nil {
					continue
				}
				after := other.explained().Children[i].Claims[name]
				if cmp.Equal(claim.Verdict, after.Verdict) && claim.Bound == after.Bound {
					t.Errorf("child %d has its limit of %s for the reason %s, and without that, too: %+v and %+v",
						i, name, claim.Verdict.Reason, claim, after)
				}
			}
		}
	}
	reasons := []allocate.Reason{
		allocate.Kept, allocate.Surplus, allocate.Short, allocate.Capped, allocate.Placed, allocate.Coupled, allocate.Usage,
		allocate.Guaranteed, allocate.Reclaim, allocate.Expected, allocate.Demand, allocate.Headroom,
		allocate.Weight,
	}
	missing := func(reason allocate.Reason) bool { return said[reason] == 0 }
	for i := 0; i < 10 || i < 500 && slices.ContainsFunc(reasons, missing); i++ { // some reasons are rare
		rapid.Check(t, check)
	}
	if slices.ContainsFunc(reasons, missing) {
		t.Errorf("some reasons did no limit ever have: %v", said)
	}
}

// liftedFrom takes a bound away from the child i.
func (s *situation) liftedFrom(i int, name corev1.ResourceName, bound round.Bound) *situation {
	return s.but(i, func(budget amount.List, c *round.Standing) {
		switch bound {
		case round.BoundNodes:
			c.Full = false
		case round.BoundRoom:
			c.Room, c.Full = c.Room.Clone(), false
			delete(c.Room, name)
		case round.BoundMax:
			delete(c.Terms.Max, name)
		case round.BoundBudget, round.BoundPool, round.BoundCapacity:
			budget[name] = math.MaxInt64
		}
	})
}

// TestBounds takes away what is said to keep a limit from being higher, and demands that it becomes so.
func TestBounds(t *testing.T) {
	said := map[round.Bound]int{}
	check := func(t *rapid.T) {
		s := drawSituation(t)
		account := s.explained()
		for i := range account.Children {
			for _, name := range names {
				claim := account.Children[i].Claims[name]
				if said[claim.Bound]++; claim.Bound == round.BoundNone {
					continue
				}
				other := s.liftedFrom(i, name, claim.Bound)
				if claim.Bound == round.BoundStep {
					other.in.Split.Grains = nil
				}
				after := other.explained().Children[i].Claims[name]
				waits := claim.Bound == round.BoundDebt || claim.Bound == round.BoundOthers // see TestWhatRaisesWaitFor
				if !waits && after.Verdict.Target <= claim.Verdict.Target {
					t.Errorf("child %d is bound by %s of %s: %+v, and without that: %+v", i, claim.Bound, name, claim, after)
				}
			}
		}
	}
	for range 10 { // some bounds are rare
		rapid.Check(t, check)
	}
	for _, bound := range []round.Bound{
		round.BoundNone, round.BoundNodes, round.BoundRoom, round.BoundMax, round.BoundStep, round.BoundBudget,
		round.BoundPool, round.BoundCapacity, round.BoundDebt, round.BoundOthers,
	} {
		if said[bound] == 0 {
			t.Errorf("nothing was ever bound by %q: %v", bound, said)
		}
	}
}
