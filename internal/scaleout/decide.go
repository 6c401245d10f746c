package scaleout

import (
	"fmt"
	"slices"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// Decision is what is to be done, and what is to be stored before that.
type Decision struct {
	// Step is nil if nothing is to be scaled.
	Step *Step
	// State is to be stored: with the step in it.
	State State
	// Next is when to look again although nothing has changed; 0 if that is not needed.
	Next time.Duration
}

// decision is one that is being taken.
type decision struct {
	*Input

	// fresh says that nothing was stored before.
	fresh bool
	next  time.Duration
}

// Decide returns the step to take now, or why there is none.
func Decide(input *Input) Decision {
	in := *input
	in.State.Failures = slices.Clone(input.State.Failures)
	if in.State.Last != nil {
		in.State.Last = new(*input.State.Last)
	}
	d := &decision{Input: &in, fresh: input.State.Since.IsZero()}
	needs := d.needs()
	d.forgive()
	d.count()
	d.judge(needs)
	d.giveUp(needs)
	step := d.decide(needs)
	switch {
	case step == nil:
	case d.DryRun:
		step = d.is(quotav1alpha1.ReasonWouldScaleOut, "would scale %s", step.Why)
	default:
		d.is(quotav1alpha1.ReasonScaledOut, "%s", step.Why)
		d.State.Last = step
	}
	return Decision{Step: step, State: d.State, Next: d.next}
}

// is sets what is told. It takes no step.
func (d *decision) is(reason, format string, args ...any) *Step {
	d.State.Reason, d.State.Message = reason, fmt.Sprintf(format, args...)
	return nil
}

// again has the decision be taken again after a while.
func (d *decision) again(after time.Duration) {
	if after > 0 && (d.next == 0 || after < d.next) {
		d.next = after
	}
}

// count notes how many nodes are on their way, and since when it is as many.
func (d *decision) count() {
	onTheWay := int64(0)
	for i := range d.Groups {
		if d.failure(d.Groups[i].Key) == nil {
			onTheWay += d.Groups[i].onTheWay()
		}
	}
	if onTheWay != d.State.OnTheWay || d.fresh {
		d.State.OnTheWay, d.State.Since = onTheWay, d.Now
	}
}

// decide returns the step for what is asked for.
func (d *decision) decide(needs []need) *Step {
	open, nodes := d.open(needs), counted(d.State.OnTheWay, "node")
	beyond := slices.DeleteFunc(slices.Clone(open), d.mayRise)
	settled := d.Report - d.Now.Sub(d.State.Since)
	switch {
	case len(needs) == 0:
		return d.idle()
	case len(open) == 0:
		return d.is(quotav1alpha1.ReasonNodesOnTheWay, "%s on the way can run all that is asked for", nodes)
	case len(beyond) == 0:
		d.again(d.Rise - d.Now.Sub(d.ShortSince))
		return d.is(quotav1alpha1.ReasonLimitsRise, "the budget has room for one of %s: limits have to rise first",
			open[0].words())
	case !d.fresh && settled > 0:
		d.again(settled)
		return d.is(quotav1alpha1.ReasonNodesOnTheWay, "%s on the way, another number than a moment ago: "+
			"what has come is yet to be reported", nodes)
	}
	if last := d.State.Last; last != nil && d.Now.Sub(last.Time) < d.Cooldown {
		d.again(d.Cooldown - d.Now.Sub(last.Time))
		return d.is(quotav1alpha1.ReasonCoolingDown, "the last step was less than %s ago: %s", d.Cooldown, last.Why)
	}
	if d.State.OnTheWay >= d.Surge {
		return d.is(quotav1alpha1.ReasonNodesOnTheWay, "%s on the way, and no more than %d are to be so at once",
			nodes, d.Surge)
	}
	for i := range beyond {
		if step := d.stepFor(&beyond[i]); step != nil {
			return step
		}
	}
	return d.held(&beyond[0])
}

// idle says that nothing is asked for, or that what nodes have come for does not run on them.
func (d *decision) idle() *Step {
	for i := range d.Clusters {
		c := &d.Clusters[i]
		for _, f := range d.State.Failures {
			if g := d.group(f.Group); g != nil && g.Cluster == c.Name && f.Until.After(d.Now) && !c.Unscheduled.IsZero() {
				return d.is(quotav1alpha1.ReasonNodesBringNothing, "%s", brought(&f))
			}
		}
	}
	if slices.ContainsFunc(d.Clusters, func(c Cluster) bool { return len(c.Stranded) > 0 }) {
		return d.is(quotav1alpha1.ReasonNothingAsked, "nothing is asked for that needs more nodes; pods that wait "+
			"for one are left to an autoscaler where no MachineDeployment has the annotation %s: %s",
			quotav1alpha1.ScaleOutAnnotation, PermitsUnscheduled)
	}
	return d.is(quotav1alpha1.ReasonNothingAsked, "nothing is asked for that needs more nodes")
}

// stepFor returns the step that serves a need at the least cost, nil if none can.
func (d *decision) stepFor(n *need) *Step {
	var best *Group
	for i := range d.Groups {
		if g := &d.Groups[i]; d.may(g, n) && (best == nil || d.compare(n, g, best) < 0) {
			best = g
		}
	}
	if best == nil {
		return nil
	}
	nodes := min(d.nodesFor(best, n), best.Room, d.Surge-d.State.OnTheWay)
	allowed, by := d.room(best)
	bound := ""
	if allowed < nodes {
		nodes, bound = allowed, "; "+by
	}
	step := &Step{
		Group: best.Key, Cluster: best.Cluster, From: best.Replicas, To: best.Replicas + nodes, Time: d.Now,
		Running: n.cluster.Running,
	}
	step.Why = fmt.Sprintf("MachineDeployment %s of Cluster %s from %d to %d replicas, for %s%s",
		step.Group, step.Cluster, step.From, step.To, n.why(), bound)
	return step
}

// may says whether a group may be scaled for a need.
func (d *decision) may(g *Group, n *need) bool {
	allowed, _ := d.room(g)
	return g.Cluster == n.cluster.Name && g.Obstacle == "" && g.Room > 0 && g.holds(n.unit) > 0 && allowed > 0 &&
		d.failure(g.Key) == nil && !d.unproven(g, n.cluster) && (g.Unscheduled || !n.there)
}

// compare orders groups that can serve a need: by what that costs, and by how many nodes it takes. Those that do not
// say what a machine costs come last.
func (d *decision) compare(n *need, a, b *Group) int {
	nodesOfA, nodesOfB := d.nodesFor(a, n), d.nodesFor(b, n)
	switch {
	case a.Priced != b.Priced:
		return truth(b.Priced) - truth(a.Priced)
	case a.Priced && a.Cost*float64(nodesOfA) < b.Cost*float64(nodesOfB):
		return -1
	case a.Priced && a.Cost*float64(nodesOfA) > b.Cost*float64(nodesOfB):
		return 1
	case nodesOfA != nodesOfB:
		return int(min(1, max(-1, nodesOfA-nodesOfB)))
	}
	return 0 // the first one by name
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
