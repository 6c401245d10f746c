package round_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// drawn draws a budget of 12 pods over a few children, and what may keep them from being raised.
func drawn(t *rapid.T) (map[string]ledger.Entry, *round.Input) {
	number := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "number") }
	flag := func(oneIn int64) bool { return number(oneIn-1) == 0 }
	in := &round.Input{ID: "uid", Split: round.Split{Static: flag(2), Options: pace.Options(true)}, Uncounted: flag(8)}
	if flag(8) {
		in.Expected = []string{"expected"}
	}
	entries := map[string]ledger.Entry{}
	for i := range 1 + number(3) {
		target := number(6)
		used := number(target)
		c := round.Standing{
			Name: fmt.Sprint("child-", i), UID: fmt.Sprint("uid-", i), Terms: round.Terms{Weight: number(2)},
			Used: amount.List{"pods": used}, Demand: amount.List{"pods": number(6)}, CanRaise: !flag(6),
		}
		c.Pinned = !c.CanRaise && flag(2)
		if flag(6) {
			c.Barred = sets.New[corev1.ResourceName]("pods")
		}
		if flag(6) {
			c.Awaited = map[corev1.ResourceName]time.Duration{"pods": time.Second}
		}
		if flag(8) {
			c.Used = nil
		}
		in.Children = append(in.Children, c)
		entries[c.Name] = ledger.Entry{Revision: i + 1, Target: amount.List{"pods": target}, Granted: amount.List{"pods": target + number(1)*number(2)}}
	}
	return entries, in
}

// lifted is an input without a bound of the child i.
func lifted(in *round.Input, i int, bound round.Bound) *round.Input {
	free := *in
	free.Children = append([]round.Standing{}, in.Children...)
	c := &free.Children[i]
	switch bound {
	case round.BoundExpected:
		free.Expected = nil
	case round.BoundUnlisted:
		free.Uncounted = false
	case round.BoundUncounted:
		c.Used = amount.List{"pods": 0}
	case round.BoundStuck:
		c.CanRaise = true
	case round.BoundReserved:
		c.Barred = nil
	case round.BoundReports:
		for k := range free.Children {
			free.Children[k].Awaited = nil
		}
	}
	return &free
}

// raised is what all raises together can be given now.
func raised(account *round.Account) (sum int64) {
	for _, c := range account.Children {
		if claim := c.Claims["pods"]; !c.Pinned && claim.Next > claim.Granted {
			sum += claim.Next - claim.Granted
		}
	}
	return sum
}

// TestWhatRaisesWaitFor lifts what a raise is said to wait for, and demands that it is granted then, or waits for
// something else. What it waits for otherwise is what is granted to others: then there is not enough free.
func TestWhatRaisesWaitFor(t *testing.T) {
	said := map[round.Bound]int{}
	check := func(t *rapid.T) {
		entries, in := drawn(t)
		budget := amount.List{"pods": 12}
		account := round.Explain(ledger.New(budget, 9, entries), in)
		for i := range account.Children {
			claim := account.Children[i].Claims["pods"]
			if said[claim.Bound]++; claim.Bound == round.BoundNone {
				continue
			}
			after := round.Explain(ledger.New(budget, 9, entries), lifted(in, i, claim.Bound)).Children[i].Claims["pods"]
			switch claim.Bound {
			case round.BoundBudget: // it waits for nothing, see TestBounds
			case round.BoundDebt:
				if account.Debt["pods"] == 0 {
					t.Errorf("it waits for debt, and there is none: %+v", claim)
				}
			case round.BoundOthers:
				if account.Free["pods"] > raised(account) {
					t.Errorf("it waits for others, and some of %d is free: %+v", account.Free["pods"], claim)
				}
			default:
				if after.Bound == claim.Bound {
					t.Errorf("it waits for %s: %+v, and without that: %+v", claim.Bound, claim, after)
				}
			}
		}
	}
	for range 10 { // some bounds are rare
		rapid.Check(t, check)
	}
	for _, bound := range []round.Bound{
		round.BoundNone, round.BoundUnlisted, round.BoundStuck, round.BoundReserved, round.BoundExpected, round.BoundReports, round.BoundUncounted,
		round.BoundDebt, round.BoundOthers,
	} {
		if said[bound] == 0 {
			t.Errorf("nothing was ever bound by %q: %v", bound, said)
		}
	}
}
