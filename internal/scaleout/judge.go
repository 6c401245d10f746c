package scaleout

import (
	"slices"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// failure returns that of a group which is left alone for it now, nil if it is not.
func (in *Input) failure(group string) *Failure {
	for i := range in.State.Failures {
		if f := &in.State.Failures[i]; f.Group == group && f.Until.After(in.Now) {
			return f
		}
	}
	return nil
}

// group returns one by its key, nil if it is gone.
func (d *decision) group(key string) *Group {
	i := slices.IndexFunc(d.Groups, func(g Group) bool { return g.Key == key })
	if i < 0 {
		return nil
	}
	return &d.Groups[i]
}

// forgive drops failures that are long over and those of groups that are gone. A group that is waited for all the same
// is left alone for longer.
func (d *decision) forgive() {
	d.State.Failures = slices.DeleteFunc(d.State.Failures, func(f Failure) bool {
		return d.group(f.Group) == nil || d.Now.Sub(f.Until) > d.MostBackOff
	})
	for _, f := range slices.Clone(d.State.Failures) {
		if !f.Until.After(d.Now) && d.group(f.Group).onTheWay() > 0 && !d.pending(f.Group) {
			d.fail(f.Group)
		} else if f.Until.After(d.Now) {
			d.again(f.Until.Sub(d.Now))
		}
	}
}

// pending says whether the last step was one of a group, and is not judged yet.
func (d *decision) pending(group string) bool {
	last := d.State.Last
	return last != nil && last.Outcome == "" && last.Group == group
}

// judge says what has become of the last step.
func (d *decision) judge(needs []need) {
	last := d.State.Last
	if last == nil || last.Outcome != "" {
		return
	}
	g := d.group(last.Group)
	if undone(g, last) {
		last.Outcome = quotav1alpha1.ScaleOutUndone
		return
	}
	c := d.cluster(last.Cluster)
	wanted := !c.Unscheduled.IsZero() || slices.ContainsFunc(needs, func(n need) bool { return n.cluster == c })
	if g.onTheWay() > 0 {
		if left := d.Arrival - d.quiet(last); left > 0 {
			d.again(left)
		} else {
			d.fail(g.Key)
		}
		return
	}
	switch left := d.Landing - d.quiet(last); {
	case left > 0:
		d.again(left)
	case wanted && !more(c.Running, last.Running):
		d.fail(g.Key)
	default:
		last.Outcome = quotav1alpha1.ScaleOutLanded
		d.State.Failures = slices.DeleteFunc(d.State.Failures, func(f Failure) bool { return f.Group == g.Key })
	}
}

// undone says whether the nodes of a step cannot come any more, or not for now, since somebody has done something to its
// group.
func undone(g *Group, last *Step) bool {
	return g == nil || g.Replicas < last.To || g.Halted && g.missing() > 0
}

// giveUp has those who need nodes wait no longer for nodes that others have asked for, and that do not come.
func (d *decision) giveUp(needs []need) {
	if d.State.OnTheWay == 0 || len(needs) == 0 {
		return
	}
	left := d.Arrival - d.Now.Sub(d.State.Since)
	for i := range d.Groups {
		g := &d.Groups[i]
		switch {
		case g.onTheWay() == 0 || d.failure(g.Key) != nil || d.pending(g.Key):
		case left > 0:
			d.again(left)
		default:
			d.fail(g.Key)
		}
	}
}

// quiet returns for how long nothing has come, nor was asked for.
func (d *decision) quiet(last *Step) time.Duration {
	since := d.State.Since
	if last.Time.After(since) {
		since = last.Time
	}
	return d.Now.Sub(since)
}

// fail notes that the nodes of a group have brought nothing.
func (d *decision) fail(group string) {
	i := slices.IndexFunc(d.State.Failures, func(f Failure) bool { return f.Group == group })
	if i < 0 {
		if len(d.State.Failures) == mostFailures {
			d.State.Failures = d.State.Failures[1:]
		}
		d.State.Failures = append(d.State.Failures, Failure{Group: group})
		i = len(d.State.Failures) - 1
	}
	f, pause := &d.State.Failures[i], d.BackOff
	for range f.Count {
		pause = min(2*pause, d.MostBackOff)
	}
	f.Count, f.Until = min(f.Count+1, mostCounted), d.Now.Add(pause)
	if d.pending(group) {
		d.State.Last.Outcome = quotav1alpha1.ScaleOutBroughtNothing
	}
	d.again(pause)
}

// What the status has room for.
const (
	mostFailures = 16
	mostCounted  = 1000
)

// unproven says whether the last nodes of a group have come, and nothing runs on them yet.
func (d *decision) unproven(g *Group, c *Cluster) bool {
	return d.pending(g.Key) && g.onTheWay() == 0 && !more(c.Running, d.State.Last.Running)
}

// more says whether there is more of a name than there was.
func more(now, before amount.List) bool {
	for name, value := range now {
		if value > before[name] {
			return true
		}
	}
	return false
}
