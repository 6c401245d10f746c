package scaleout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

var (
	start    = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	patience = scaleout.Patience{
		Report: 10 * time.Second, Rise: time.Minute, Arrival: 10 * time.Minute, Landing: time.Minute,
		BackOff: 10 * time.Minute, MostBackOff: 4 * time.Hour,
	}
)

const (
	cpu = corev1.ResourceRequestsCPU
	gpu = corev1.ResourceName("requests.nvidia.com/gpu")
)

// workers is a group of Cluster east that may be scaled, with machines of 8 cpus.
func workers(replicas, room int64) scaleout.Group {
	return scaleout.Group{
		Key: "default/workers", Cluster: "east", Replicas: replicas, Ready: replicas, Room: room,
		Machine: amount.List{"cpu": 8_000, "pods": 110},
	}
}

// gpus is a group with machines of 8 GPUs.
func gpus(replicas, room int64) scaleout.Group {
	g := workers(replicas, room)
	g.Key, g.Machine = "default/gpus", amount.List{"cpu": 64_000, "nvidia.com/gpu": 8, "pods": 110}
	return g
}

// of returns a group with something else.
func of(g scaleout.Group, change func(*scaleout.Group)) scaleout.Group {
	change(&g)
	return g
}

// asked is a budget of 16 cpus of nodes, all used, of which Cluster east asks for so many requests of 2 cpus more.
func asked(count int64, groups ...scaleout.Group) *scaleout.Input {
	return &scaleout.Input{
		Now: start, Percent: 100, Surge: 4, Cooldown: time.Minute, Patience: patience,
		Budget: amount.List{cpu: 16_000}, Ceiling: amount.List{cpu: 100_000}, Follows: []corev1.ResourceName{cpu},
		Used: amount.List{cpu: 16_000}, Demand: amount.List{cpu: 2_000 * count},
		Clusters: []scaleout.Cluster{{
			Name: "east", Requests: []scaleout.Requests{{Unit: amount.List{cpu: 2_000}, Count: count}},
			Running: amount.List{cpu: 16_000},
		}},
		Groups: groups,
	}
}

func with(in *scaleout.Input, change func(*scaleout.Input)) *scaleout.Input {
	change(in)
	return in
}

// asksForGPUs has Cluster east ask for so many requests of 8 GPUs where no node has any.
func asksForGPUs(count int64) func(*scaleout.Input) {
	return func(in *scaleout.Input) {
		in.Budget, in.Ceiling, in.Follows = amount.List{gpu: 0}, amount.List{gpu: 16}, []corev1.ResourceName{gpu}
		in.Used, in.Demand = amount.List{gpu: 0}, amount.List{gpu: 8 * count}
		in.Clusters[0].Requests = []scaleout.Requests{{Unit: amount.List{gpu: 8, cpu: 4_000}, Count: count}}
	}
}

// without has so many pods of 2 cpus in Cluster east wait for a node, which are used already.
func without(count int64) func(*scaleout.Input) {
	return func(in *scaleout.Input) {
		c := &in.Clusters[0]
		c.Stranded = []scaleout.Requests{{Unit: amount.List{cpu: 2_000}, Count: count}}
		c.Unscheduled = amount.List{cpu: 2_000 * count}
		c.Running = amount.Sub(in.Used, c.Unscheduled)
	}
}

// permits has a group be scaled for pods that are there, too.
func permits(g *scaleout.Group) { g.Unscheduled = true }

func TestDecide(t *testing.T) {
	last := func(ago time.Duration) func(*scaleout.Input) {
		return func(in *scaleout.Input) {
			in.State.Since, in.State.Last = start.Add(-ago), &scaleout.Step{
				Group: "default/workers", Cluster: "east", From: 1, To: 2, Time: start.Add(-ago), Running: amount.List{cpu: 12_000},
			}
		}
	}
	price := func(cost float64) func(*scaleout.Group) {
		return func(g *scaleout.Group) { g.Cost, g.Priced = cost, true }
	}
	for name, c := range map[string]struct {
		in     *scaleout.Input
		group  string
		to     int64
		reason string
		says   string
	}{
		"nothing is asked for": {in: asked(0, workers(2, 8)), reason: quotav1alpha1.ReasonNothingAsked},
		"what the budget has room for": {
			in:     with(asked(4, workers(2, 8)), func(in *scaleout.Input) { in.Used = amount.List{cpu: 8_000} }),
			reason: quotav1alpha1.ReasonNothingAsked,
		},
		"what the budget has room for one of, a moment ago": {
			in: with(asked(6, workers(2, 8)), func(in *scaleout.Input) {
				in.Used, in.ShortSince = amount.List{cpu: 8_000}, start.Add(-59*time.Second)
			}), reason: quotav1alpha1.ReasonLimitsRise, says: "the budget has room for one of 2 requests for requests.cpu=2 each",
		},
		"what the budget has room for one of, for a while": {
			in: with(asked(6, workers(2, 8)), func(in *scaleout.Input) {
				in.Used, in.ShortSince = amount.List{cpu: 8_000}, start.Add(-time.Minute)
			}), group: "default/workers", to: 3,
		},
		"what the budget has room for none of, a moment ago": {
			in: with(asked(6, workers(2, 8)), func(in *scaleout.Input) {
				in.Used, in.ShortSince = amount.List{cpu: 14_001}, start
			}), group: "default/workers", to: 4,
		},
		"GPUs that no node has, while limits of cpus may rise": {
			in: with(with(asked(1, gpus(0, 2)), asksForGPUs(1)), func(in *scaleout.Input) {
				in.Budget[cpu], in.Follows, in.ShortSince = 16_000, append(in.Follows, cpu), start
			}), group: "default/gpus", to: 1,
		},
		"requests that limits may rise to, and pods without a node": {
			in: with(with(asked(6, of(workers(2, 8), permits)), without(3)), func(in *scaleout.Input) {
				in.Used, in.ShortSince = amount.List{cpu: 8_000}, start
			}), group: "default/workers", to: 3, says: "for 3 pods without a node",
		},
		"what hard leaves no room for": {
			in:     with(asked(4, workers(2, 8)), func(in *scaleout.Input) { in.Ceiling = in.Budget }),
			reason: quotav1alpha1.ReasonNothingAsked,
		},
		"one node": {
			in: asked(3, workers(2, 8)), group: "default/workers", to: 3, reason: quotav1alpha1.ReasonScaledOut,
			says: "MachineDeployment default/workers of Cluster east from 2 to 3 replicas, for 3 requests for requests.cpu=2 each",
		},
		"two nodes": {in: asked(5, workers(2, 8)), group: "default/workers", to: 4},
		"of what hard leaves room for": {
			in:    with(asked(5, workers(2, 8)), func(in *scaleout.Input) { in.Ceiling = amount.List{cpu: 20_000} }),
			group: "default/workers", to: 3,
		},
		"no more than may be on their way": {in: asked(50, workers(2, 80)), group: "default/workers", to: 6},
		"no more than the bounds allow":    {in: asked(50, workers(2, 1)), group: "default/workers", to: 3},
		"half of what nodes have is the budget": {
			in:    with(asked(4, workers(2, 8)), func(in *scaleout.Input) { in.Percent = 50 }),
			group: "default/workers", to: 4,
		},
		"more is the budget than nodes have": {
			in:    with(asked(8, workers(2, 8)), func(in *scaleout.Input) { in.Percent = 400 }),
			group: "default/workers", to: 4, // four requests run on one machine, whatever the budget says
		},
		"those on their way suffice": {
			in:     asked(4, of(workers(3, 8), func(g *scaleout.Group) { g.Ready = 2 })),
			reason: quotav1alpha1.ReasonNodesOnTheWay, says: "1 node on the way",
		},
		"those on their way do not suffice": {
			in:    asked(5, of(workers(3, 8), func(g *scaleout.Group) { g.Ready = 2 })),
			group: "default/workers", to: 4,
		},
		"as many are on their way as may be": {
			in:     asked(50, of(workers(6, 8), func(g *scaleout.Group) { g.Ready = 2 })),
			reason: quotav1alpha1.ReasonNodesOnTheWay, says: "no more than 4",
		},
		"a node has just come": {
			in: with(asked(4, workers(3, 8)), func(in *scaleout.Input) {
				in.State.OnTheWay, in.State.Since = 1, start.Add(-time.Hour)
			}),
			reason: quotav1alpha1.ReasonNodesOnTheWay, says: "yet to be reported",
		},
		"a step was just taken": {
			in: with(asked(4, workers(2, 8)), last(30*time.Second)), reason: quotav1alpha1.ReasonCoolingDown,
		},
		"a step was taken a while ago": {
			in: with(asked(4, workers(2, 8)), last(2*time.Minute)), group: "default/workers", to: 3,
		},
		"a machine with GPUs for a request for them": {
			in: with(asked(1, workers(2, 8), gpus(0, 2)), asksForGPUs(1)), group: "default/gpus", to: 1,
			says: "from 0 to 1 replicas, for 1 request for requests.cpu=4, requests.nvidia.com/gpu=8 that",
		},
		"no machine that has them all": {
			in:     with(asked(1, of(gpus(0, 8), func(g *scaleout.Group) { g.Machine["nvidia.com/gpu"] = 4 })), asksForGPUs(1)),
			reason: quotav1alpha1.ReasonNoMachineFits, says: "a machine of default/gpus cannot run one",
		},
		"the cheaper one": {
			in: asked(3, of(workers(2, 8), price(2)), of(gpus(0, 2), price(1))), group: "default/gpus", to: 1,
		},
		"the cheaper one for all of it": {
			in: asked(8, of(workers(2, 8), price(2)), of(gpus(0, 2), price(3))), group: "default/gpus", to: 1,
		},
		"one that has a price first":        {in: asked(3, workers(2, 8), of(gpus(0, 2), price(9))), group: "default/gpus", to: 1},
		"fewer nodes if none has":           {in: asked(8, workers(2, 8), gpus(0, 2)), group: "default/gpus", to: 1},
		"the first one if all else is even": {in: asked(3, workers(2, 8), gpus(0, 2)), group: "default/workers", to: 3},
		"not one of another cluster": {
			in:     asked(3, of(workers(2, 8), func(g *scaleout.Group) { g.Cluster = "west" })),
			reason: quotav1alpha1.ReasonNoMachineFits, says: "no MachineDeployment of it is selected",
		},
		"at the maximum": {
			in: asked(3, of(workers(2, 0), func(g *scaleout.Group) {
				g.Full, g.Obstacle = true, "has 2 replicas of at most 2"
			})),
			reason: quotav1alpha1.ReasonAtMaximum, says: "default/workers has 2 replicas of at most 2",
		},
		"paused": {
			in:     asked(3, of(workers(2, 8), func(g *scaleout.Group) { g.Obstacle = "is paused" })),
			reason: quotav1alpha1.ReasonNoMachineFits, says: "default/workers is paused",
		},
		"nobody says what a machine has": {
			in:     asked(3, of(workers(2, 8), func(g *scaleout.Group) { g.Machine = nil })),
			reason: quotav1alpha1.ReasonNoMachineFits, says: "nobody says what a machine can run",
		},
		"pods without a node": {
			in: with(asked(0, of(workers(2, 8), permits)), without(3)), group: "default/workers", to: 3,
			says: "from 2 to 3 replicas, for 3 pods without a node for requests.cpu=2 each",
		},
		"pods without a node, which nobody permits": {
			in: with(asked(0, workers(2, 8)), without(3)), reason: quotav1alpha1.ReasonNothingAsked, says: "left to an autoscaler",
		},
		"pods without a node where another cluster permits it": {
			in: with(asked(0, workers(2, 8), of(gpus(0, 2), func(g *scaleout.Group) {
				g.Unscheduled, g.Cluster = true, "west"
			})), without(3)), reason: quotav1alpha1.ReasonNothingAsked,
		},
		"pods without a node by who permits it": {
			in: with(asked(0, workers(2, 8), of(gpus(0, 2), permits)), without(3)), group: "default/gpus", to: 1,
		},
		"pods without a node, and requests": {
			in: with(asked(3, of(workers(2, 8), permits)), without(3)), group: "default/workers", to: 3,
		},
		"requests once nodes are on their way for pods": {
			in: with(asked(4, of(workers(3, 8), func(g *scaleout.Group) {
				g.Ready, g.Unscheduled = 2, true
			})), without(4)), group: "default/workers", to: 4, says: "for 4 requests",
		},
		"requests and pods for which one node on its way suffices": {
			in: with(asked(2, of(workers(3, 8), func(g *scaleout.Group) {
				g.Ready, g.Unscheduled = 2, true
			})), without(2)), reason: quotav1alpha1.ReasonNodesOnTheWay, says: "can run all",
		},
		"pods for which nodes are on their way": {
			in: with(asked(0, of(workers(3, 8), func(g *scaleout.Group) {
				g.Ready, g.Unscheduled = 2, true
			})), without(4)), reason: quotav1alpha1.ReasonNodesOnTheWay,
		},
		"pods without a node, by what they run on and not by the budget": {
			in:    with(with(asked(0, of(workers(2, 8), permits)), without(4)), func(in *scaleout.Input) { in.Percent = 50 }),
			group: "default/workers", to: 3,
		},
		"pods that hard leaves no room for any more": {
			in: with(with(asked(0, of(workers(2, 8), permits)), without(4)), func(in *scaleout.Input) {
				in.Ceiling = amount.List{cpu: 9_999}
			}), reason: quotav1alpha1.ReasonNothingAsked,
		},
		"those of the pods that hard leaves room for": {
			in: with(with(asked(0, of(workers(2, 8), permits)), without(5)), func(in *scaleout.Input) {
				in.Ceiling = amount.List{cpu: 14_000}
			}), group: "default/workers", to: 3, says: "for 4 pods",
		},
		"pods that ask for nothing that follows the nodes": {
			in: with(with(asked(0, of(workers(2, 8), permits)), without(4)), func(in *scaleout.Input) {
				in.Follows = []corev1.ResourceName{gpu}
			}), reason: quotav1alpha1.ReasonNothingAsked,
		},
		"pods without a node at the maximum": {
			in: with(asked(0, of(workers(2, 0), func(g *scaleout.Group) {
				g.Unscheduled, g.Full, g.Obstacle = true, true, "has 2 replicas of at most 2"
			})), without(3)), reason: quotav1alpha1.ReasonAtMaximum, says: "needs nodes for 3 pods without a node",
		},
		"pods without a node beside a group that is not scaled for them": {
			in: with(asked(0, workers(2, 8), of(gpus(0, 0), func(g *scaleout.Group) {
				g.Unscheduled, g.Obstacle = true, "is paused"
			})), without(3)), reason: quotav1alpha1.ReasonNoMachineFits,
			says: "default/workers is not scaled for pods that are there; default/gpus is paused",
		},
		"pods without a node soon after a step": {
			in:     with(with(asked(0, of(workers(2, 8), permits)), without(3)), last(30*time.Second)),
			reason: quotav1alpha1.ReasonCoolingDown,
		},
		"in a dry run": {
			in:     with(asked(3, workers(2, 8)), func(in *scaleout.Input) { in.DryRun = true }),
			reason: quotav1alpha1.ReasonWouldScaleOut, says: "would scale MachineDeployment default/workers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := scaleout.Decide(c.in)
			got, to := "", int64(0)
			if d.Step != nil {
				got, to = d.Step.Group, d.Step.To
			}
			if got != c.group || to != c.to {
				t.Errorf("got %s with %d replicas, want %s with %d: %s", got, to, c.group, c.to, d.State.Message)
			}
			if c.reason != "" && d.State.Reason != c.reason || !strings.Contains(d.State.Message, c.says) {
				t.Errorf("got %s: %s", d.State.Reason, d.State.Message)
			}
			if (d.Step != nil) != (d.State.Reason == quotav1alpha1.ReasonScaledOut) {
				t.Errorf("a step is %v, and told is %s", d.Step, d.State.Reason)
			}
		})
	}
}
