package scaleout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// selecting returns what a selector demands.
func selecting(t *testing.T, selector string) labels.Requirements {
	t.Helper()
	requirements, err := labels.ParseToRequirements(selector)
	if err != nil {
		t.Fatal(err)
	}
	return requirements
}

// TestQuotas has 5 requests of 2 cpus be asked for, for which it takes two machines of 8 cpus: 2 are there, and one is on
// its way where that is said.
func TestQuotas(t *testing.T) {
	const nodes, memory = corev1.ResourceName("nodes"), corev1.ResourceMemory
	coming := func(g *scaleout.Group) { g.Replicas, g.Ready = 3, 2 }
	labelled := func(g *scaleout.Group) { g.Labels = labels.Set{"pool": "shared"} }
	// Together with the quota, which is of all nodes unless there is a selector.
	for name, c := range map[string]struct {
		in       *scaleout.Input
		selector string
		limits   amount.List
		used     amount.List
		to       int64
		reason   string
		says     string
	}{
		"with room": {
			in: asked(5, workers(2, 8)), limits: amount.List{nodes: 4}, used: amount.List{nodes: 2}, to: 4,
		},
		"with room for one": {
			in: asked(5, workers(2, 8)), limits: amount.List{nodes: 3}, used: amount.List{nodes: 2}, to: 3,
			says: "that nodes leave no room for; CapacityQuota total allows 3 of nodes, 2 are there, and 0 on the way",
		},
		"with none": {
			in: asked(5, workers(2, 8)), limits: amount.List{nodes: 2}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonAtCapacityQuota, says: "CapacityQuota total allows 2 of nodes, 2 are there",
		},
		"over it": {
			in: asked(5, workers(2, 8)), limits: amount.List{nodes: 1}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonAtCapacityQuota,
		},
		"by what a machine has": {
			in: asked(5, workers(2, 8)), limits: amount.List{"cpu": 31_000, nodes: 9}, used: amount.List{"cpu": 16_000, nodes: 2},
			to: 3, says: "allows 31 of cpu, 16 are there",
		},
		"of what no machine has": {
			in: asked(5, workers(2, 8)), limits: amount.List{"nvidia.com/gpu": 0}, used: amount.List{"nvidia.com/gpu": 0}, to: 4,
		},
		"with those on their way": {
			in:     asked(9, of(workers(3, 8), coming)),
			limits: amount.List{"cpu": 32_000}, used: amount.List{"cpu": 16_000}, to: 4,
			says: "allows 32 of cpu, 16 are there, and 8 on the way",
		},
		"with those on their way, which leave none": {
			in:     asked(9, of(workers(3, 8), coming)),
			limits: amount.List{nodes: 3}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonNodesOnTheWay, says: "CapacityQuota total allows 3 of nodes, 2 are there, and 1 on the way",
		},
		"with those of others on their way": {
			in:     asked(5, workers(2, 8), of(gpus(1, 0), func(g *scaleout.Group) { g.Ready, g.Machine = 0, nil })),
			limits: amount.List{nodes: 3}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonNodesOnTheWay, says: "1 on the way",
		},
		"with those of another cluster on their way": {
			in:     asked(5, workers(2, 8), of(gpus(1, 0), func(g *scaleout.Group) { g.Ready, g.Cluster = 0, "west" })),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, reason: quotav1alpha1.ReasonAtCapacityQuota,
		},
		"of which nobody has said what is used": {
			in: asked(5, workers(2, 8)), limits: amount.List{nodes: 9}, used: amount.List{},
			reason: quotav1alpha1.ReasonAtCapacityQuota, says: "CapacityQuota total does not say how much of its nodes is used",
		},
		"of memory that a machine does not say it has": {
			in: asked(5, workers(2, 8)), limits: amount.List{memory: 0}, used: amount.List{}, to: 4,
		},
		"of its nodes": {
			in:     asked(5, of(workers(2, 8), labelled)),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, selector: "pool=shared",
			reason: quotav1alpha1.ReasonAtCapacityQuota, says: "2 are there, and 0 on the way",
		},
		"of other nodes": {
			in:     asked(5, of(workers(2, 8), labelled)),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, selector: "pool=own,tier=prod", to: 4,
		},
		"of nodes that have none of its labels": {
			in:     asked(5, of(workers(2, 8), labelled)),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, selector: "!pool", to: 4,
		},
		"of nodes with labels that nobody knows": {
			in:     asked(5, of(workers(2, 8), labelled)),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, selector: "pool,tier notin (prod),zone=a",
			reason: quotav1alpha1.ReasonAtCapacityQuota,
			says:   ", if it selects nodes of default/workers: nobody says what they have as label tier, zone",
		},
		"of one of two groups": {
			in:     asked(5, of(workers(2, 8), labelled), of(gpus(0, 2), func(g *scaleout.Group) { g.Labels = labels.Set{"pool": "gpus"} })),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2}, selector: "pool=shared", to: 1,
		},
		"for pods that are there": {
			in:     with(asked(0, of(workers(2, 8), permits)), without(3)),
			limits: amount.List{nodes: 2}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonAtCapacityQuota, says: "3 pods without a node",
		},
		"that cannot be read": {
			in:     with(asked(5, workers(2, 8)), func(in *scaleout.Input) { in.Clusters[0].Unread = "they cannot be read" }),
			reason: quotav1alpha1.ReasonAtCapacityQuota, says: "Cluster east needs nodes for 5 requests for requests.cpu=2 each: they cannot be read",
		},
		"in a dry run": {
			in:     with(asked(5, workers(2, 8)), func(in *scaleout.Input) { in.DryRun = true }),
			limits: amount.List{nodes: 3}, used: amount.List{nodes: 2},
			reason: quotav1alpha1.ReasonWouldScaleOut, says: "from 2 to 3 replicas, for 5 requests for requests.cpu=2 each that nodes leave no room for; CapacityQuota total",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limits != nil {
				q := scaleout.Quota{Name: "total", Selector: selecting(t, c.selector), Limits: c.limits, Used: c.used}
				c.in.Clusters[0].Quotas = []scaleout.Quota{q}
			}
			d := scaleout.Decide(c.in)
			to := int64(0)
			if d.Step != nil {
				to = d.Step.To
			}
			if to != c.to || c.reason != "" && d.State.Reason != c.reason || !strings.Contains(d.State.Message, c.says) {
				t.Errorf("got %d replicas, want %d; told is %s: %s", to, c.to, d.State.Reason, d.State.Message)
			}
		})
	}
}

// TestQuotasAmongThemselves has the one bind that leaves the least, and writes memory as it does.
func TestQuotasAmongThemselves(t *testing.T) {
	g := of(workers(2, 8), func(g *scaleout.Group) { g.Machine["memory"] = 16 << 30 })
	in := asked(9, g)
	in.Clusters[0].Quotas = []scaleout.Quota{
		{Name: "nodes", Limits: amount.List{"nodes": 4}, Used: amount.List{"nodes": 2}},
		{
			Name: "memory", Limits: amount.List{"memory": 60 << 30}, Used: amount.List{"memory": 32 << 30},
			Formats: amount.List{"memory": 1 << 30}.ToList(corev1.ResourceList{"memory": amount.ToQuantity("memory", 1<<30, "BinarySI")}),
		},
	}
	d := scaleout.Decide(in)
	if want := "CapacityQuota memory allows 60Gi of memory, 32Gi are there"; d.Step == nil || d.Step.To != 3 || !strings.Contains(d.Step.Why, want) {
		t.Errorf("told is %s: %s", d.State.Reason, d.State.Message)
	}
}

// TestQuotaThatIsRaised has a step be taken once there is room for it.
func TestQuotaThatIsRaised(t *testing.T) {
	l := &life{Input: asked(3, workers(2, 8))}
	q := scaleout.Quota{Name: "total", Limits: amount.List{"nodes": 2}, Used: amount.List{"nodes": 2}}
	l.Clusters[0].Quotas = []scaleout.Quota{q}
	if got := l.goOn(0); got.Reason != quotav1alpha1.ReasonAtCapacityQuota || len(l.steps) > 0 {
		t.Fatalf("told is %s: %s", got.Reason, got.Message)
	}
	l.Clusters[0].Quotas[0].Limits = amount.List{"nodes": 3}
	if got := l.goOn(11 * time.Second); len(l.steps) != 1 {
		t.Fatalf("told is %s: %s", got.Reason, got.Message)
	}
}
