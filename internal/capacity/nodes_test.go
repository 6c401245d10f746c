package capacity_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
)

// newNode returns a node that is ready, of 4 cpu and 8 GPUs, after a change.
func newNode(name string, change func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10"),
				"nvidia.com/gpu": resource.MustParse("8"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if change != nil {
		change(node)
	}
	return node
}

func TestFits(t *testing.T) {
	nodes := &capacity.Nodes{}
	nodes.Set(capacity.NodeOf(newNode("a", nil)), time.Time{})
	nodes.Set(capacity.NodeOf(newNode("b", nil)), time.Time{})
	nodes.Set(capacity.NodeOf(newNode("c", func(n *corev1.Node) { n.Spec.Unschedulable = true })), time.Time{})
	for _, node := range []string{"a", "b"} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		}}}}
		nodes.Move(capacity.Load{}, capacity.LoadOf(pod))
	}
	for name, c := range map[string]struct {
		requests amount.List
		want     bool
	}{
		"what one has left":                        {requests: amount.List{"cpu": 3_000, "pods": 1}, want: true},
		"what both have left":                      {requests: amount.List{"cpu": 3_001, "pods": 1}},
		"what none has":                            {requests: amount.List{"cpu": 1_000, "amd.com/gpu": 1}},
		"what one has that takes no pods any more": {requests: amount.List{"cpu": 4_000}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nodes.Fits(c.requests, time.Time{}, 0); got != c.want {
				t.Errorf("it fits: %v", got)
			}
		})
	}
}

// tainted has a node keep off pods that do not tolerate a taint.
func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
}

// labelled has a node say itself whether it counts, after another change.
func labelled(counts string, change func(*corev1.Node)) func(*corev1.Node) {
	return func(n *corev1.Node) {
		change(n)
		n.Labels = map[string]string{quotav1alpha1.CapacityLabel: counts}
	}
}

func TestNodesThatCount(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   int32
	}{
		"ready":                             {want: 1},
		"not ready":                         {change: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }},
		"says nothing":                      {change: func(n *corev1.Node) { n.Status.Conditions = nil }},
		"cordoned":                          {change: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		"being deleted":                     {change: func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.Now()) }},
		"virtual":                           {change: func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} }},
		"of a control plane":                {change: tainted("node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule)},
		"of a control plane if need be":     {want: 1, change: tainted("node-role.kubernetes.io/control-plane", corev1.TaintEffectPreferNoSchedule)},
		"about to be taken away":            {change: tainted("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule)},
		"about to be taken away otherwise":  {change: tainted("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule)},
		"for pods that tolerate its taint":  {want: 1, change: tainted("nvidia.com/gpu", corev1.TaintEffectNoSchedule)},
		"of a control plane, for all":       {want: 1, change: labelled("true", tainted("node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule))},
		"not for what budgets are for":      {change: labelled("false", func(*corev1.Node) {})},
		"cordoned, whatever its label says": {change: labelled("true", func(n *corev1.Node) { n.Spec.Unschedulable = true })},
		"virtual and all": {want: 1, change: func(n *corev1.Node) {
			n.Labels = map[string]string{"type": "virtual-kubelet", quotav1alpha1.CapacityLabel: "true"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := &capacity.Nodes{}
			nodes.Set(capacity.NodeOf(newNode("a", c.change)), time.Time{})
			if got := nodes.Report(time.Time{}, 0); got.Nodes != c.want || got.Allocatable["nvidia.com/gpu"] != 8*int64(c.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStorm has nodes that cease to be ready count for a while, and a node that was never ready not at all.
func TestStorm(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	down := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
	nodes := &capacity.Nodes{}
	nodes.Set(capacity.NodeOf(newNode("a", nil)), start)
	nodes.Set(capacity.NodeOf(newNode("b", down)), start)
	nodes.Set(capacity.NodeOf(newNode("a", down)), start)
	nodes.Set(capacity.NodeOf(newNode("a", down)), start.Add(50*time.Second)) // says the same once more
	for after, want := range map[time.Duration]int32{0: 1, 59 * time.Second: 1, time.Minute: 0} {
		if got := nodes.Report(start.Add(after), time.Minute).Nodes; got != want {
			t.Errorf("after %s: %d nodes, want %d", after, got, want)
		}
	}
}

func newPod(node, cpu string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}}}
	if change != nil {
		change(pod)
	}
	return pod
}

func TestLoads(t *testing.T) {
	nodes := &capacity.Nodes{}
	nodes.Set(capacity.NodeOf(newNode("a", nil)), time.Time{})
	nodes.Set(capacity.NodeOf(newNode("b", nil)), time.Time{})
	place := func(pod *corev1.Pod) capacity.Load {
		load := capacity.LoadOf(pod)
		nodes.Move(capacity.Load{}, load)
		return load
	}
	place(newPod("a", "6", nil)) // more than the node has: nothing of b is taken for that
	first := place(newPod("b", "1", nil))
	place(newPod("b", "1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	place(newPod("", "1", nil))
	unused := func() amount.List { return nodes.Report(time.Time{}, 0).Unused }
	if diff := cmp.Diff(amount.List{corev1.ResourceCPU: 3000, corev1.ResourcePods: 18, "nvidia.com/gpu": 16}, unused()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	nodes.Move(first, capacity.Load{})
	if got := unused()[corev1.ResourceCPU]; got != 4000 {
		t.Errorf("after a pod is gone %d are unused", got)
	}
}

// TestUnusedProperty has pods come and go in any order: what is unused is what the pods that are there leave.
func TestUnusedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, there := &capacity.Nodes{}, []capacity.Load{}
		nodes.Set(capacity.NodeOf(newNode("a", nil)), time.Time{})
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			if len(there) > 0 && rapid.Bool().Draw(t, "goes") {
				at := rapid.IntRange(0, len(there)-1).Draw(t, "which")
				nodes.Move(there[at], capacity.Load{})
				there = append(there[:at], there[at+1:]...)
				continue
			}
			load := capacity.LoadOf(newPod("a", rapid.SampledFrom([]string{"100m", "1", "3"}).Draw(t, "cpu"), nil))
			nodes.Move(capacity.Load{}, load)
			there = append(there, load)
		}
		fresh := &capacity.Nodes{}
		fresh.Set(capacity.NodeOf(newNode("a", nil)), time.Time{})
		for _, load := range there {
			fresh.Move(capacity.Load{}, load)
		}
		if diff := cmp.Diff(fresh.Report(time.Time{}, 0), nodes.Report(time.Time{}, 0)); diff != "" {
			t.Fatalf("-as if only these had come +got:\n%s", diff)
		}
	})
}

func TestDiffers(t *testing.T) {
	report := func(nodes int32, cpu, unused int64) *capacity.Report {
		return &capacity.Report{
			Nodes: nodes, Allocatable: amount.List{corev1.ResourceCPU: cpu}, Unused: amount.List{corev1.ResourceCPU: unused},
		}
	}
	before := report(10, 1000, 500)
	for name, c := range map[string]struct {
		before, after *capacity.Report
		want          bool
	}{
		"the same":              {after: report(10, 1000, 500)},
		"less than a twentieth": {after: report(10, 1000, 451)},
		"a twentieth less":      {after: report(10, 1000, 450), want: true},
		"a twentieth more":      {after: report(10, 1000, 550), want: true},
		"another node as large": {after: report(11, 1000, 500), want: true},
		"the last of it":        {after: report(10, 1000, 1), before: report(10, 1000, 0), want: true},
		"a fourth less":         {after: report(10, 1000, 30), before: report(10, 1000, 40), want: true},
		"less than a fourth":    {after: report(10, 1000, 35), before: report(10, 1000, 40)},
		"larger nodes":          {after: report(10, 1001, 500), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.before == nil {
				c.before = before
			}
			if got := c.after.Differs(c.before); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestBound leaves out names of plug-ins, and none that every node has.
func TestBound(t *testing.T) {
	r := capacity.Report{
		Allocatable: amount.List{"akri.sh/a": 1, "cpu": 4000, "example.com/b": 1, "pods": 10},
		Unused:      amount.List{"akri.sh/a": 0, "cpu": 1000, "example.com/b": 1, "pods": 9},
	}
	r.Bound(4)
	if len(r.Allocatable) != 4 || len(r.Unused) != 4 {
		t.Errorf("as many as there may be are %v and %v", r.Allocatable, r.Unused)
	}
	r.Bound(3)
	want := capacity.Report{
		Allocatable: amount.List{"akri.sh/a": 1, "cpu": 4000, "pods": 10}, Unused: amount.List{"akri.sh/a": 0, "cpu": 1000, "pods": 9},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
