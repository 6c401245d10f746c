package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// tally is the sum of one resource name over all members, as it develops.
type tally struct {
	name   corev1.ResourceName
	report report.ResourceReport
	last   total
	// open is the excess that is seen right now.
	open *report.Excess
	// excesses are all that were seen, the open one included, up to maxListed.
	excesses []*report.Excess
	// aboveSince is when the sum rose above the budget; zero when it is not.
	aboveSince time.Time
	// floor is the smallest proved upper bound of the sum since the budget changed; nil before the first.
	floor *resource.Quantity
}

// measure takes the sum as of now and reports whether a probe is wanted.
func (t *tally) measure(now time.Time, sum total, current epoch, j *Judge) bool {
	moved := sum.held.Cmp(t.last.held) != 0
	t.last = sum
	if sum.recorded.Cmp(t.report.Largest) > 0 {
		t.report.Largest, t.report.LargestAt = sum.recorded, now
	}
	budget := current.budget[t.name]
	t.measureBudget(now, sum, budget)
	t.measureNative(sum, current.ceiling[t.name])
	exceeds := t.measureCeiling(now, sum, current.ceiling[t.name], j)
	drains := sum.held.Cmp(budget) > 0 && (moved || t.floor == nil)
	return exceeds || drains
}

// measureBudget keeps account of the time above the budget.
func (t *tally) measureBudget(now time.Time, sum total, budget resource.Quantity) {
	t.report.AboveBudget.Duration += t.aboveFor(now)
	t.aboveSince = time.Time{}
	if excess, isAbove := quantity.Above(sum.recorded, budget); isAbove {
		t.aboveSince = now
		t.report.LargestAboveBudget = quantity.Larger(t.report.LargestAboveBudget, excess)
	}
}

func (t *tally) aboveFor(now time.Time) time.Duration {
	if t.aboveSince.IsZero() {
		return 0
	}
	return now.Sub(t.aboveSince)
}

// measureNative keeps the largest part of the sum above the ceiling that native quota alone is the cause of.
func (t *tally) measureNative(sum total, ceiling resource.Quantity) {
	if native, isAbove := quantity.Above(sum.recorded, quantity.Larger(ceiling, sum.held)); isAbove {
		t.report.LargestNative = quantity.Larger(t.report.LargestNative, native)
	}
}

// measureCeiling opens, extends and closes the excess that is seen by arrival.
func (t *tally) measureCeiling(now time.Time, sum total, ceiling resource.Quantity, j *Judge) bool {
	amount, isAbove := quantity.Above(sum.held, ceiling)
	if !isAbove {
		t.close(now)
		return false
	}
	if t.open == nil {
		t.start(now)
	}
	if amount.Cmp(t.open.Largest) > 0 {
		t.open.Largest = amount
		if !t.open.Confirmed {
			t.open.Allowed, t.open.Holdings = ceiling, j.holdings(t.name)
		}
	}
	return true
}

func (t *tally) start(now time.Time) {
	t.report.Seen++
	t.open = &report.Excess{Resource: t.name, Start: now}
	if len(t.excesses) < maxListed {
		t.excesses = append(t.excesses, t.open)
	}
}

// list makes sure that a proved excess is in the report, also when too many were seen before it.
func (t *tally) list(e *report.Excess) {
	if !slices.Contains(t.excesses, e) {
		t.excesses = append(t.excesses, e)
	}
}

func (t *tally) close(now time.Time) {
	if t.open != nil {
		t.open.End = now
		t.open = nil
	}
}

// conclude judges what a probe has found out.
func (t *tally) conclude(p *probe, j *Judge) {
	smallest, largest, bounded := p.bounds(t.name)
	if ceiling, judged := j.epochs.limitAt(t.name, p.at); judged {
		t.concludeExcess(p, smallest, ceiling, j)
	}
	if p.at.Before(j.changed) {
		return
	}
	t.concludeGrowth(p, smallest, j)
	if bounded && (t.floor == nil || largest.Cmp(*t.floor) < 0) {
		t.floor = &largest
	}
}

func (t *tally) concludeExcess(p *probe, smallest, ceiling resource.Quantity, j *Judge) {
	amount, isAbove := quantity.Above(smallest, ceiling)
	if !isAbove {
		return
	}
	e := t.excessAt(p.at)
	fresh := !e.Confirmed
	if fresh {
		e.Confirmed, e.FirstCertain = true, p.at
		t.report.Confirmed++
		t.list(e)
	}
	e.LastCertain = p.at
	if amount.Cmp(e.Certain) > 0 {
		e.Certain, e.Allowed, e.Holdings = amount, ceiling, p.holdings(t.name)
	}
	if fresh {
		j.news = append(j.news, *e)
	}
}

// excessAt returns the excess that was seen at an instant. A probe sees no more than had arrived at its instant, so
// there is one unless the budget was changed for the past; then one is made of that instant.
func (t *tally) excessAt(at time.Time) *report.Excess {
	if t.open != nil && !t.open.Start.After(at) {
		return t.open
	}
	for _, v := range slices.Backward(t.excesses) {
		if e := v; !e.Start.After(at) && !e.End.Before(at) {
			return e
		}
	}
	open := t.open
	t.start(at)
	made := t.open
	made.End, t.open = at, open
	return made
}

// concludeGrowth finds out whether the sum has certainly grown while it is above the budget.
func (t *tally) concludeGrowth(p *probe, smallest resource.Quantity, j *Judge) {
	if t.floor == nil {
		return
	}
	allowed := quantity.Larger(*t.floor, j.epochs.last().budget[t.name])
	if smallest.Cmp(allowed) <= 0 {
		return
	}
	t.report.Growths++
	if amount := quantity.Minus(smallest, allowed); amount.Cmp(t.report.LargestGrowth) > 0 {
		t.report.LargestGrowth, t.report.LargestGrowthAt = amount, p.at
	}
}
