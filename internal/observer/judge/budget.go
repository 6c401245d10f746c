package judge

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer/quantity"
)

// epoch is what is allowed from an instant on, until the next epoch begins.
type epoch struct {
	from time.Time
	// budget is what may be in force over all members once the epoch has settled.
	budget corev1.ResourceList
	// ceiling is what may be in force while an earlier, larger budget drains: never below budget.
	ceiling corev1.ResourceList
}

// timeline is the epochs of a run, in order of time. It is never empty.
type timeline []epoch

func newTimeline(budget corev1.ResourceList, from time.Time) timeline {
	return timeline{{from: from, budget: maps.Clone(budget), ceiling: maps.Clone(budget)}}
}

func (t timeline) last() epoch { return t[len(t)-1] }

// at returns the epoch that was in force at an instant.
func (t timeline) at(when time.Time) epoch {
	for i := len(t) - 1; i > 0; i-- {
		if !t[i].from.After(when) {
			return t[i]
		}
	}
	return t[0]
}

// withBudget starts an epoch with another budget. The ceiling never comes down by that.
func (t timeline) withBudget(budget corev1.ResourceList, when time.Time) timeline {
	ceiling := corev1.ResourceList{}
	for name, amount := range budget {
		ceiling[name] = quantity.Larger(amount, t.last().ceiling[name])
	}
	return t.with(epoch{from: when, budget: maps.Clone(budget), ceiling: ceiling})
}

// withGranted starts an epoch whose ceiling is what is granted, where that is above the budget. Names that granted
// leaves out keep their ceiling.
func (t timeline) withGranted(granted corev1.ResourceList, when time.Time) timeline {
	budget, ceiling := t.last().budget, maps.Clone(t.last().ceiling)
	for name, amount := range granted {
		if _, judged := budget[name]; judged {
			ceiling[name] = quantity.Larger(amount, budget[name])
		}
	}
	return t.with(epoch{from: when, budget: budget, ceiling: ceiling})
}

// with appends an epoch, which begins no earlier than the one before it.
func (t timeline) with(next epoch) timeline {
	if next.from.Before(t.last().from) {
		next.from = t.last().from
	}
	return append(t, next)
}

// raisedTo returns the larger of both budgets per name, over the names of next.
func raisedTo(current, next corev1.ResourceList) corev1.ResourceList {
	both := corev1.ResourceList{}
	for name, amount := range next {
		both[name] = quantity.Larger(amount, current[name])
	}
	return both
}

// limitAt returns the ceiling for name at an instant, and whether name is judged then.
func (t timeline) limitAt(name corev1.ResourceName, when time.Time) (resource.Quantity, bool) {
	ceiling, judged := t.at(when).ceiling[name]
	return ceiling, judged
}
