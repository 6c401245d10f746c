package round

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
)

// equal says whether two of them allow the same.
func (t *TakeOver) equal(other *TakeOver) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.UID == other.UID && t.Hard.Equal(other.Hard)
}

// takeOver charges the limits that children have from somebody else, where their agents are to make those their own.
func (r *Round) takeOver() {
	var taken []*child
	switch r.in.Existing.WhenToTakeOver {
	case quotav1alpha1.TakeOverAlways:
		taken = slices.DeleteFunc(slices.Clone(r.children), func(c *child) bool { return !r.hasFound(c) })
	case quotav1alpha1.TakeOverIfNoDiff:
		taken = r.withoutDifference()
	}
	for _, c := range taken {
		r.charge(c)
	}
}

// hasFound says whether a child has a limit from somebody else that its share could take the place of: the share limits
// all that this does.
func (r *Round) hasFound(c *child) bool {
	if c.share == nil || c.share.Found == nil || !c.read() || !c.Selected || c.misfit != "" || c.deleting() || r.ledger.RevisionOf(c.Name) == 0 {
		return false
	}
	budget := r.ledger.Budget()
	for name := range c.share.Found.Hard {
		if _, limited := budget[name]; !limited {
			return false
		}
	}
	return true
}

// charge takes the limit that a child has from somebody else into the ledger, as if its agent reported it.
func (r *Round) charge(c *child) {
	c.takesOver, c.unheard = true, nil
	c.report.Hard, c.report.Used = c.share.Found.Hard, c.share.Found.Used
	r.ledger.TakeOver(c.Name, c.report)
}

// withoutDifference returns the children whose limits would stay what they are if all were taken over that have some.
// The others are told what would become of theirs. One that was allowed to goes on.
func (r *Round) withoutDifference() []*child {
	trial := r.trial()
	names := r.ledger.Budget().Names()
	input, children := trial.allocation(names)
	result := trial.allocate(input)
	full := trial.full()
	var same []*child
	for i, probe := range children {
		if !probe.takesOver {
			continue
		}
		c := r.byName[probe.Name]
		switch differences := trial.differences(probe, names, result.Verdicts[i]); {
		case c.share.TakeOver != nil && c.share.TakeOver.UID == c.share.Found.UID:
			same = append(same, c)
		case len(differences) > 0:
			c.differs = "its ResourceQuota differs from its share, and whenToTakeOver is IfNoDiff: " + strings.Join(differences, ", ")
		case !trial.keptBack(probe, full):
			same = append(same, c)
		}
	}
	return same
}

// trial returns the round as it would be if all children took over that can.
func (r *Round) trial() *Round {
	trial := *r
	trial.ledger, trial.children = r.ledger.Clone(), nil
	for _, c := range r.children {
		probe := *c
		trial.children = append(trial.children, &probe)
		if trial.hasFound(&probe) {
			trial.charge(&probe)
		}
	}
	trial.awaited = trial.waits()
	return &trial
}

// differences says which limits of a child would change, and how.
func (r *Round) differences(c *child, names []corev1.ResourceName, verdicts []allocate.Verdict) []string {
	var differences []string
	for i, name := range names {
		hard, limited := c.report.Hard[name]
		switch target := r.quantity(name, verdicts[i].Target); {
		case !limited:
			differences = append(differences, fmt.Sprintf("%s is not limited and would be %s", name, target))
		case hard != verdicts[i].Target:
			differences = append(differences, fmt.Sprintf("%s is %s and would be %s", name, r.quantity(name, hard), target))
		}
	}
	return differences
}

// allow fills in what agents may take over now: what is charged, once the budget holds all that is granted with the new
// limits in its place. Until then it stays as it is. Where no more is left than what is used, it is taken over with that.
func (r *Round) allow() {
	full := r.full()
	for _, c := range r.children {
		if c.takesOver && c.responsive() && !r.keptBack(c, full) {
			c.takeOver = &TakeOver{UID: c.share.Found.UID, Hard: c.share.Found.Hard}
		}
	}
}

// keptBack says whether a child may not take over yet, while the budget is full under these names.
func (r *Round) keptBack(c *child, full sets.Set[corev1.ResourceName]) bool {
	e, _ := r.entry(c)
	for name := range e.Target {
		if r.awaited[name] > 0 || full.Has(name) && e.Target[name] > c.report.Used[name] {
			return true
		}
	}
	return false
}

// full returns the names under which the budget does not hold all that is granted.
func (r *Round) full() sets.Set[corev1.ResourceName] {
	full := sets.New[corev1.ResourceName]()
	for name := range r.ledger.Budget() {
		if !r.fits(name) {
			full.Insert(name)
		}
	}
	return full
}

// fits says whether the budget holds all that is granted of name once all children that take over enforce their targets,
// or what they use where that is more.
func (r *Round) fits(name corev1.ResourceName) bool {
	var sum int64
	for _, c := range r.children {
		e, _ := r.entry(c)
		held := e.Granted[name]
		if c.takesOver {
			held = max(e.Target[name], c.report.Used[name])
		}
		sum = amount.Add(sum, held)
	}
	return sum <= r.ledger.Budget()[name]
}

// whyNotTaken says what a child waits for that takes over, or nothing if it does not.
func (c *child) whyNotTaken() string {
	switch {
	case !c.takesOver:
		return ""
	case c.takeOver != nil:
		return "its agent takes over the ResourceQuota that is there"
	}
	return "the ResourceQuota that is there is taken over once the budget has room for its limit"
}
