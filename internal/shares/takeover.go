package shares

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
)

// findTakeOvers finds the children that have a limit from somebody else which their agents are to make their own.
// What is used there is charged, as of a child that joins. Their targets are raised out of what is free, as those of
// all others. But nobody else is raised meanwhile: up to the limit that is there, more may come to be used.
func (r *Round) findTakeOvers() {
	switch r.in.Existing.WhenToTakeOver {
	case quotav1alpha1.TakeOverAlways:
		for _, c := range r.children {
			c.takesOver = r.hasFound(c)
		}
	case quotav1alpha1.TakeOverIfNoDiff:
		r.compare()
	}
	r.reserved = sets.New[corev1.ResourceName]()
	for _, c := range r.children {
		if c.takesOver {
			r.charge(c)
		}
	}
}

// hasFound says whether a child has a limit from somebody else that its share could take the place of: the share limits
// all that this does.
func (r *Round) hasFound(c *child) bool {
	there := c.read && c.share != nil && c.share.Found != nil
	if !there || !c.Selected || c.misfit != "" || c.deleting || r.ledger.RevisionOf(c.Name) == 0 {
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

// charge takes what a child uses under the limit of somebody else into the ledger, as if its agent reported it, and
// reserves what that limit leaves.
func (r *Round) charge(c *child) {
	c.unheard = nil
	c.report.Hard, c.report.Used = amount.List{}, c.share.Found.Used
	for name := range c.report.Used {
		c.report.Hard[name] = 0
	}
	r.ledger.Hear(c.Name, ledger.Report{Hard: c.report.Hard, Used: c.report.Used})
	e, _ := r.entry(c)
	for name, hard := range c.share.Found.Hard {
		if hard > e.Granted[name] {
			r.reserved.Insert(name)
		}
	}
}

// compare finds the children whose limits would stay what they are if all were taken over that have some. The others
// are told what would become of theirs. One that was allowed to goes on.
func (r *Round) compare() {
	trial := r.trial()
	in := trial.steering(trial.children)
	for i, probe := range trial.children {
		if probe.takesOver {
			in.Children[i].Supposed = probe.report.Hard
		}
	}
	wanted := round.Wanted(r.ledger, in)
	for _, probe := range trial.children {
		if !probe.takesOver {
			continue
		}
		c := r.byName[probe.Name]
		differences := r.differences(probe.report.Hard, wanted[probe.Name])
		c.takesOver = len(differences) == 0 || c.share.TakeOver != nil && c.share.TakeOver.UID == c.share.Found.UID
		if !c.takesOver {
			c.differs = "its ResourceQuota differs from its share, and whenToTakeOver is IfNoDiff: " +
				strings.Join(differences, ", ")
		}
	}
}

// trial returns the round with children as they would be if all took over that can.
func (r *Round) trial() *Round {
	trial := *r
	trial.children = nil
	for _, c := range r.children {
		probe := *c
		if probe.takesOver = r.hasFound(c); probe.takesOver {
			probe.report.Hard, probe.report.Used = c.share.Found.Hard, c.share.Found.Used
		}
		trial.children = append(trial.children, &probe)
	}
	return &trial
}

// differences says which limits would change, and how.
func (r *Round) differences(found, wanted amount.List) []string {
	var differences []string
	for _, name := range wanted.Names() {
		hard, limited := found[name]
		switch target := amount.Text(name, wanted[name], r.in.Formats); {
		case !limited:
			differences = append(differences, fmt.Sprintf("%s is not limited and would be %s", name, target))
		case hard != wanted[name]:
			is := amount.Text(name, hard, r.in.Formats)
			differences = append(differences, fmt.Sprintf("%s is %s and would be %s", name, is, target))
		}
	}
	return differences
}

// allow fills in what agents may take over now: what is granted as much as its limit is, or as it shall become, or uses
// that much. Until then it stays as it is.
func (r *Round) allow() {
	for _, c := range r.children {
		if c.takesOver && c.mobility() == responsive && r.isGranted(c) {
			c.takeOver = &TakeOver{UID: c.share.Found.UID, Hard: c.share.Found.Hard}
		}
	}
}

// isGranted says whether what a child takes over would have its limit lowered to no less than what is due, or whether
// no more is to be waited for: what children that are under the budget already give back may be for it. One that may
// hold anything itself cannot wait for that: it is known once it has confirmed.
func (r *Round) isGranted(c *child) bool {
	e, _ := r.entry(c)
	if e.Unknown() {
		return true
	}
	givesBack := func(name corev1.ResourceName) bool {
		return slices.ContainsFunc(r.children, func(other *child) bool {
			e, _ := r.entry(other)
			return !other.takesOver && e.Granted[name] > e.Target[name]
		})
	}
	for name, hard := range c.share.Found.Hard {
		due, decided := r.limits[c.Name][name]
		lowered := max(e.Target[name], c.report.Used[name]) < min(hard, due.Wanted)
		if !decided || r.ledger.Granted(name) == ledger.Unknown || lowered && (r.waits[name] > 0 || givesBack(name)) {
			return false
		}
	}
	return true
}
