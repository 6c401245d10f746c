package scaleout_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// life is a budget whose steps are carried out.
type life struct {
	*scaleout.Input

	steps []scaleout.Step
}

// goOn decides after a while, and carries out the step.
func (l *life) goOn(after time.Duration) scaleout.State {
	l.Now = l.Now.Add(after)
	d := scaleout.Decide(l.Input)
	l.State = d.State
	if d.Step != nil {
		l.steps = append(l.steps, *d.Step)
		g := l.group(d.Step.Group)
		g.Room -= d.Step.To - g.Replicas
		g.Replicas = d.Step.To
	}
	return d.State
}

func (l *life) group(key string) *scaleout.Group {
	for i := range l.Groups {
		if l.Groups[i].Key == key {
			return &l.Groups[i]
		}
	}
	return nil
}

// runs has so many more cpus of nodes in the budget, all used by pods that run.
func (l *life) runs(cpus int64) {
	l.Budget = amount.List{cpu: l.Budget[cpu] + cpus*1000}
	l.Used = amount.List{cpu: l.Used[cpu] + cpus*1000}
	l.Clusters[0].Running = amount.List{cpu: l.Clusters[0].Running[cpu] + cpus*1000}
}

func TestNodesThatCome(t *testing.T) {
	l := &life{Input: asked(8, workers(2, 8))}
	l.Surge = 1
	l.goOn(0)
	if len(l.steps) != 1 || l.steps[0].To != 3 {
		t.Fatalf("the steps are %+v", l.steps)
	}
	if got := l.goOn(5 * time.Minute); got.Reason != quotav1alpha1.ReasonNodesOnTheWay || len(l.steps) != 1 {
		t.Fatalf("while a node is on its way, told is %s: %s", got.Reason, got.Message)
	}
	l.Groups[0].Ready = 3
	if got := l.goOn(time.Second); got.Reason != quotav1alpha1.ReasonNodesOnTheWay || len(l.steps) != 1 {
		t.Fatalf("before its node is reported, told is %s: %s", got.Reason, got.Message)
	}
	l.runs(8)
	if l.goOn(11 * time.Second); len(l.steps) != 2 || l.steps[1].To != 4 {
		t.Fatalf("once something runs there, the steps are %+v", l.steps)
	}
	l.Groups[0].Ready, l.Demand = 4, amount.List{}
	l.Clusters[0].Requests = nil
	l.goOn(time.Second)
	if got := l.goOn(2 * time.Minute); got.Reason != quotav1alpha1.ReasonNothingAsked || got.Last.Outcome != quotav1alpha1.ScaleOutLanded {
		t.Fatalf("in the end, told is %s of %+v", got.Reason, got.Last)
	}
}

func TestNodesThatBringNothing(t *testing.T) {
	for name, c := range map[string]func(l *life){
		"do not come":    func(*life) {},
		"run none of it": func(l *life) { l.Groups[0].Ready = l.Groups[0].Replicas },
		"run none of what was let in": func(l *life) {
			l.Groups[0].Ready = l.Groups[0].Replicas
			l.Budget, l.Used, l.Demand = amount.List{cpu: 24_000}, amount.List{cpu: 24_000}, amount.List{}
			l.Clusters[0].Requests, l.Clusters[0].Unscheduled = nil, amount.List{cpu: 8_000}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{Input: asked(3, workers(2, 8))}
			l.goOn(0)
			c(l)
			l.goOn(time.Second)
			got := l.goOn(11 * time.Minute)
			if got.Reason != quotav1alpha1.ReasonNodesBringNothing || got.Last.Outcome != quotav1alpha1.ScaleOutBroughtNothing {
				t.Fatalf("told is %s: %s of %+v", got.Reason, got.Message, got.Last)
			}
			if l.goOn(9 * time.Minute); len(l.steps) != 1 {
				t.Fatalf("the steps are %+v", l.steps)
			}
			if len(l.Clusters[0].Requests) == 0 {
				return
			}
			l.Groups[0].Ready = l.Groups[0].Replicas
			l.goOn(2 * time.Minute)
			if l.goOn(11 * time.Second); len(l.steps) != 2 {
				t.Fatalf("after a pause, told is %s: %s", l.State.Reason, l.State.Message)
			}
			l.goOn(time.Second)
			if until := l.goOn(11 * time.Minute).Failures[0].Until.Sub(l.Now); until != 20*time.Minute {
				t.Errorf("the second pause is %s", until)
			}
		})
	}
}

// TestPodsThatNoNodeHelps has pods without a node run on none of the nodes that come for them.
func TestPodsThatNoNodeHelps(t *testing.T) {
	l := &life{Input: with(asked(0, of(workers(2, 8), permits)), without(3))}
	l.goOn(0)
	l.Groups[0].Ready = 3
	l.goOn(time.Second)
	if got := l.goOn(2 * time.Minute); len(l.steps) != 1 || got.Reason != quotav1alpha1.ReasonNodesBringNothing {
		t.Fatalf("the steps are %+v; told is %s: %s", l.steps, got.Reason, got.Message)
	}
	l.Clusters[0].Stranded = nil // they fit on the node that has come
	if l.goOn(time.Hour); len(l.steps) != 1 {
		t.Errorf("the steps are %+v", l.steps)
	}
}

func TestOthersServeWhatFailedNodesDoNot(t *testing.T) {
	l := &life{Input: asked(3, workers(2, 8), gpus(0, 2))}
	l.Surge = 1
	l.goOn(0)
	l.goOn(time.Second)
	l.goOn(11 * time.Minute)
	l.goOn(time.Second)
	if l.goOn(11 * time.Second); len(l.steps) != 2 || l.steps[1].Group != "default/gpus" {
		t.Fatalf("the steps are %+v; told is %s", l.steps, l.State.Message)
	}
}

func TestSomebodyElseScalesIn(t *testing.T) {
	l := &life{Input: asked(3, workers(2, 8))}
	l.goOn(0)
	l.Groups[0].Replicas = 2
	if got := l.goOn(2 * time.Minute); len(l.steps) != 2 || l.steps[1].To != 3 {
		t.Fatalf("told is %s: %s", got.Reason, got.Message)
	}
}

// TestNobodyWaitsForWhatDoesNotCome has nodes be on their way for which others have asked, and never come.
func TestNobodyWaitsForWhatDoesNotCome(t *testing.T) {
	stuck := of(workers(3, 8), func(g *scaleout.Group) { g.Ready = 2 })
	for name, c := range map[string]struct {
		groups []scaleout.Group
		asked  int64
		reason string
		group  string
	}{
		"another one serves":   {groups: []scaleout.Group{stuck, gpus(0, 2)}, asked: 3, group: "default/gpus", reason: quotav1alpha1.ReasonScaledOut},
		"none serves":          {groups: []scaleout.Group{stuck}, asked: 3, reason: quotav1alpha1.ReasonNodesBringNothing},
		"nobody needs a node":  {groups: []scaleout.Group{stuck}, reason: quotav1alpha1.ReasonNothingAsked},
		"more than one do not": {groups: []scaleout.Group{stuck, of(gpus(1, 2), func(g *scaleout.Group) { g.Ready = 0 })}, asked: 3, reason: quotav1alpha1.ReasonNodesBringNothing},
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{Input: asked(c.asked, c.groups...)}
			l.goOn(0)
			if got := l.goOn(9 * time.Minute); len(l.steps) > 0 || c.asked > 0 && got.Reason != quotav1alpha1.ReasonNodesOnTheWay {
				t.Fatalf("after a while the steps are %+v, told is %s: %s", l.steps, got.Reason, got.Message)
			}
			got := l.goOn(2 * time.Minute)
			if got.Reason != c.reason || (len(l.steps) > 0) != (c.group != "") || c.group != "" && l.steps[0].Group != c.group {
				t.Fatalf("after a long while the steps are %+v, told is %s: %s", l.steps, got.Reason, got.Message)
			}
			if c.asked == 0 && len(got.Failures) > 0 {
				t.Errorf("while nobody needs a node, there are %+v", got.Failures)
			}
		})
	}
}

// TestHaltedDuringAStep has the Cluster or the MachineDeployment of a step be paused or deleted before its node has come.
func TestHaltedDuringAStep(t *testing.T) {
	l := &life{Input: asked(3, workers(2, 8))}
	l.goOn(0)
	l.Groups[0].Halted, l.Groups[0].Obstacle = true, "does not change while Cluster east is paused"
	l.goOn(time.Minute)
	if got := l.goOn(11 * time.Second); got.Reason != quotav1alpha1.ReasonNoMachineFits ||
		!strings.Contains(got.Message, "while Cluster east is paused") || got.Last.Outcome != quotav1alpha1.ScaleOutUndone {
		t.Fatalf("told is %s: %s of %+v", got.Reason, got.Message, got.Last)
	}
	if l.goOn(time.Hour); len(l.State.Failures) > 0 || len(l.steps) != 1 {
		t.Fatalf("after an hour there are %+v, %+v", l.State.Failures, l.steps)
	}
	l.Groups[0].Halted, l.Groups[0].Obstacle = false, ""
	if got := l.goOn(time.Second); got.Reason != quotav1alpha1.ReasonNodesOnTheWay || len(l.steps) != 1 {
		t.Fatalf("once it goes on, told is %s: %s", got.Reason, got.Message)
	}
	l.Groups[0].Ready = 3
	l.runs(6)
	l.Demand, l.Clusters[0].Requests = amount.List{}, nil
	if got := l.goOn(time.Second); got.Reason != quotav1alpha1.ReasonNothingAsked {
		t.Fatalf("in the end, told is %s: %s", got.Reason, got.Message)
	}
}

// TestDeletedDuringAStep has another MachineDeployment serve what one that is deleted does not.
func TestDeletedDuringAStep(t *testing.T) {
	for name, deleted := range map[string]func(l *life){
		"and is there": func(l *life) { l.Groups[0].Halted, l.Groups[0].Obstacle = true, "is being deleted" },
		"and is gone":  func(l *life) { l.Groups = l.Groups[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			l := &life{Input: asked(3, workers(2, 8), gpus(0, 2))}
			l.goOn(0)
			deleted(l)
			l.goOn(time.Minute)
			if l.goOn(11 * time.Second); len(l.steps) != 2 || l.steps[1].Group != "default/gpus" {
				t.Fatalf("the steps are %+v; told is %s: %s", l.steps, l.State.Reason, l.State.Message)
			}
		})
	}
}

// TestStepsKeepTheirBounds has anything happen, and looks at each step.
func TestStepsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{Input: asked(rapid.Int64Range(0, 40).Draw(t, "asked"),
			workers(rapid.Int64Range(0, 3).Draw(t, "workers"), rapid.Int64Range(0, 5).Draw(t, "room")),
			gpus(rapid.Int64Range(0, 3).Draw(t, "gpus"), rapid.Int64Range(0, 5).Draw(t, "room of gpus")))}
		l.Surge = rapid.Int64Range(1, 4).Draw(t, "surge")
		l.Percent = rapid.Int64Range(1, 400).Draw(t, "percent")
		l.Groups[1].Obstacle = rapid.SampledFrom([]string{"", "", "is paused"}).Draw(t, "obstacle")
		l.Clusters[0].Quotas = []scaleout.Quota{{Name: "total", Limits: amount.List{"nodes": rapid.Int64Range(0, 15).Draw(t, "quota")}}}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			l.Clusters[0].Quotas[0].Used = amount.List{"nodes": l.Groups[0].Ready + l.Groups[1].Ready}
			before, groups := len(l.steps), []scaleout.Group{l.Groups[0], l.Groups[1]}
			l.goOn(time.Duration(rapid.IntRange(0, 900).Draw(t, "seconds")) * time.Second)
			if len(l.steps) > before {
				l.check(t, groups)
			}
			g := &l.Groups[rapid.IntRange(0, 1).Draw(t, "group")]
			switch rapid.SampledFrom([]string{"comes", "goes", "runs", "asks", "in"}).Draw(t, "event") {
			case "comes":
				g.Ready = min(g.Replicas, g.Ready+1)
			case "goes":
				g.Ready = max(0, g.Ready-1)
			case "runs":
				l.runs(rapid.Int64Range(1, 8).Draw(t, "cpus"))
			case "asks":
				count := rapid.Int64Range(0, 40).Draw(t, "asked")
				l.Demand, l.Clusters[0].Requests[0].Count = amount.List{cpu: 2_000 * count}, count
			case "in":
				if g.Replicas > 0 {
					g.Replicas, g.Room, g.Ready = g.Replicas-1, g.Room+1, min(g.Ready, g.Replicas-1)
				}
			}
		}
	})
}

// check looks at the last step, taken when the groups were as they are given.
func (l *life) check(t *rapid.T, groups []scaleout.Group) {
	step, g := l.steps[len(l.steps)-1], groups[0]
	if step.Group == groups[1].Key {
		g = groups[1]
	}
	if step.From != g.Replicas || step.To <= step.From || step.To > g.Replicas+g.Room || g.Obstacle != "" {
		t.Fatalf("%+v is a step of %+v", step, g)
	}
	if len(l.steps) > 1 {
		if ago := step.Time.Sub(l.steps[len(l.steps)-2].Time); ago < l.Cooldown {
			t.Fatalf("two steps come within %s", ago)
		}
	}
	onTheWay := int64(0)
	for i := range l.Groups {
		failed := false
		for _, f := range l.State.Failures {
			failed = failed || f.Group == l.Groups[i].Key && f.Until.After(l.Now)
		}
		if !failed {
			onTheWay += max(0, l.Groups[i].Replicas-l.Groups[i].Ready)
		}
	}
	if onTheWay > l.Surge {
		t.Fatalf("%d nodes are on their way after %+v", onTheWay, step)
	}
	if all, most := l.Groups[0].Replicas+l.Groups[1].Replicas, l.Clusters[0].Quotas[0].Limits["nodes"]; all > most {
		t.Fatalf("%d nodes are wanted of at most %d after %+v", all, most, step)
	}
}
