package nodegroup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nodegroup"
)

const (
	low  = clusterv1.AutoscalerMinSizeAnnotation
	high = clusterv1.AutoscalerMaxSizeAnnotation
)

// bounded are the annotations of a group of 1 to 5 machines of 4 cores and 16Gi, with changes; "-" removes one.
func bounded(changes ...string) map[string]string {
	annotations := map[string]string{
		low: "1", high: "5", nodegroup.CPUAnnotation: "4", nodegroup.MemoryAnnotation: "16Gi",
	}
	for i := 0; i < len(changes); i += 2 {
		annotations[changes[i]] = changes[i+1]
		if changes[i+1] == "-" {
			delete(annotations, changes[i])
		}
	}
	return annotations
}

// newDeployment returns one of 2 replicas, of which 1 is ready.
func newDeployment(annotations map[string]string) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Annotations: annotations},
		Spec:       clusterv1.MachineDeploymentSpec{ClusterName: "east", Replicas: new(int32(2))},
		Status:     clusterv1.MachineDeploymentStatus{ReadyReplicas: new(int32(1))},
	}
}

func newCluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}
}

// ofTopology has the Cluster's topology have the MachineDeployment, with these replicas.
func ofTopology(replicas *int32) func(*clusterv1.Cluster, *clusterv1.MachineDeployment) {
	return func(c *clusterv1.Cluster, d *clusterv1.MachineDeployment) {
		d.Labels = map[string]string{clusterv1.ClusterTopologyMachineDeploymentNameLabel: "md-0"}
		c.Spec.Topology.Workers.MachineDeployments = []clusterv1.MachineDeploymentTopology{
			{Name: "md-1", Replicas: new(int32(9))}, {Name: "md-0", Replicas: replicas},
		}
	}
}

// unknown is a growth that nobody knows.
const unknown = -1

func TestScaling(t *testing.T) {
	deleted := metav1.Now()
	for name, c := range map[string]struct {
		annotations map[string]string
		change      func(*clusterv1.Cluster, *clusterv1.MachineDeployment)
		stopped     string
		addable     int32
		growth      int64 // in cores
	}{
		"within its bounds": {annotations: bounded(), addable: 3, growth: 16},
		"without replicas, which is one": {
			annotations: bounded(), addable: 4, growth: 16,
			change: func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.Spec.Replicas = nil },
		},
		"without a status yet": {
			annotations: bounded(), addable: 3, growth: 20,
			change: func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.Status.ReadyReplicas = nil },
		},
		"at its maximum, a machine on its way": {
			annotations: bounded(high, "2"), stopped: "has 2 replicas of at most 2", growth: 4,
		},
		"above its maximum": {annotations: bounded(low, "0", high, "1"), stopped: "has 2 replicas of at most 1", growth: 4},
		"at its maximum, all there, and nobody knows what they have": {
			annotations: bounded(high, "2", nodegroup.CPUAnnotation, "-", nodegroup.MemoryAnnotation, "-"),
			change:      func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.Status.ReadyReplicas = d.Spec.Replicas },
			stopped:     "has 2 replicas of at most 2",
		},
		"more ready than it can have, in a rollout": {
			annotations: bounded(high, "2"), stopped: "has 2 replicas of at most 2",
			change: func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.Status.ReadyReplicas = new(int32(3)) },
		},
		"nobody knows what a machine has": {
			annotations: bounded(nodegroup.CPUAnnotation, "-", nodegroup.MemoryAnnotation, "-"), addable: 3, growth: unknown,
		},
		"no bounds": {
			annotations: bounded(low, "-", high, "-"), growth: unknown,
			stopped: "has no bounds: set the annotations " + low + " and " + high,
		},
		"deleted": {
			annotations: bounded(), stopped: "is being deleted",
			change: func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.DeletionTimestamp = &deleted },
		},
		"its Cluster is deleted": {
			annotations: bounded(), stopped: "is being deleted",
			change: func(c *clusterv1.Cluster, _ *clusterv1.MachineDeployment) { c.DeletionTimestamp = &deleted },
		},
		"its Cluster is paused": {
			annotations: bounded(), stopped: "does not change while Cluster east is paused",
			change: func(c *clusterv1.Cluster, _ *clusterv1.MachineDeployment) { c.Spec.Paused = new(true) },
		},
		"paused by annotation, and without bounds": {
			annotations: bounded(clusterv1.PausedAnnotation, "", low, "-", high, "-"),
			stopped:     "is paused by the annotation cluster.x-k8s.io/paused",
		},
		"rollouts are paused, and an autoscaler may scale it": {
			annotations: bounded(), stopped: "is paused by spec.paused", growth: 16,
			change: func(_ *clusterv1.Cluster, d *clusterv1.MachineDeployment) { d.Spec.Paused = new(true) },
		},
		"its topology sets replicas": {
			annotations: bounded(low, "-", high, "-"), change: ofTopology(new(int32(2))), growth: 4,
			stopped: "has its replicas set to 2 by the topology of Cluster east",
		},
		"its topology is about to set more": {
			annotations: bounded(), change: ofTopology(new(int32(4))), growth: 12,
			stopped: "has its replicas set to 4 by the topology of Cluster east",
		},
		"its topology leaves replicas to others": {annotations: bounded(), change: ofTopology(nil), addable: 3, growth: 16},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, d := newCluster(), newDeployment(c.annotations)
			if c.change != nil {
				c.change(cluster, d)
			}
			g, errs := nodegroup.OfDeployment(cluster, d, nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			growth, known := g.Growth()
			cores := growth[corev1.ResourceCPU] / 1000
			if !known {
				cores = unknown
			}
			if g.Stopped != c.stopped || g.Addable() != c.addable || cores != c.growth {
				t.Errorf("stopped %q, %d may be added, growth of %d cores; want %q, %d, %d",
					g.Stopped, g.Addable(), cores, c.stopped, c.addable, c.growth)
			}
		})
	}
}

func TestPool(t *testing.T) {
	const by = clusterv1.ReplicasManagedByAnnotation
	for name, c := range map[string]struct {
		annotations map[string]string
		stopped     string
		addable     int32
		known       bool
	}{
		"within its bounds":  {annotations: bounded(), addable: 4, known: true},
		"others scale it":    {annotations: bounded(by, "eks"), stopped: "has its replicas set by others, says the annotation " + by},
		"others do not":      {annotations: bounded(by, "false"), addable: 4, known: true},
		"paused, and others": {annotations: bounded(by, "", clusterv1.PausedAnnotation, ""), known: true, stopped: "is paused by the annotation cluster.x-k8s.io/paused"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Name: "pool", Annotations: c.annotations}}
			g, errs := nodegroup.OfPool(newCluster(), p, nil)
			if _, known := g.Growth(); g.Stopped != c.stopped || g.Addable() != c.addable || known != c.known || len(errs) > 0 {
				t.Errorf("stopped %q, %d may be added, growth known %t, errors %v", g.Stopped, g.Addable(), known, errs)
			}
		})
	}
}

func TestMachine(t *testing.T) {
	template := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), "amd.com/gpu": resource.MustParse("2"),
	}
	for name, c := range map[string]struct {
		annotations map[string]string
		template    corev1.ResourceList
		want        amount.List
	}{
		"cpu and memory": {annotations: bounded(), want: amount.List{"cpu": 4000, "memory": 16 << 30, "pods": 110}},
		"all there is": {
			annotations: bounded(nodegroup.EphemeralDiskAnnotation, "100Gi", nodegroup.MaxPodsAnnotation, "30",
				nodegroup.GPUTypeAnnotation, "nvidia.com/gpu", nodegroup.GPUCountAnnotation, "8"),
			want: amount.List{
				"cpu": 4000, "memory": 16 << 30, "pods": 30, "ephemeral-storage": 100 << 30, "nvidia.com/gpu": 8,
			},
		},
		"a template alone": {
			template: template, want: amount.List{"cpu": 8000, "memory": 32 << 30, "pods": 110, "amd.com/gpu": 2},
		},
		"annotations over a template": {
			annotations: map[string]string{nodegroup.CPUAnnotation: "4"}, template: template,
			want: amount.List{"cpu": 4000, "memory": 32 << 30, "pods": 110, "amd.com/gpu": 2},
		},
		"half a template": {template: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}},
		"nothing":         {},
	} {
		t.Run(name, func(t *testing.T) {
			g, errs := nodegroup.OfDeployment(newCluster(), newDeployment(c.annotations), c.template)
			if diff := cmp.Diff(c.want, g.Adds(1)); diff != "" || len(errs) > 0 {
				t.Errorf("errors %v, -want +got:\n%s", errs, diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const prefix = "metadata.annotations["
	for name, c := range map[string]struct {
		changes []string
		want    []string
	}{
		"no minimum":      {changes: []string{low, "-"}, want: []string{prefix + low + "]: Required value: must be there, since the other bound is"}},
		"no maximum":      {changes: []string{high, "-"}, want: []string{prefix + high + "]: Required value: must be there, since the other bound is"}},
		"no integer":      {changes: []string{high, "five"}, want: []string{prefix + high + `]: Invalid value: "five": must be an integer of 0 or more`}},
		"negative":        {changes: []string{low, "-1"}, want: []string{prefix + low + `]: Invalid value: "-1": must be an integer of 0 or more`}},
		"too many":        {changes: []string{high, "2147483648"}, want: []string{prefix + high + `]: Invalid value: "2147483648": must be an integer of 0 or more`}},
		"crossed":         {changes: []string{low, "6"}, want: []string{prefix + high + `]: Invalid value: "5": must be at least the minimum of 6`}},
		"no quantity":     {changes: []string{nodegroup.CPUAnnotation, "many"}, want: []string{prefix + nodegroup.CPUAnnotation + `]: Invalid value: "many": must be a quantity of 0 or more, such as 8 or 32Gi`}},
		"a debt":          {changes: []string{nodegroup.MemoryAnnotation, "-1Gi"}, want: []string{prefix + nodegroup.MemoryAnnotation + `]: Invalid value: "-1Gi": must be a quantity of 0 or more, such as 8 or 32Gi`}},
		"cpu alone":       {changes: []string{nodegroup.MemoryAnnotation, "-"}, want: []string{prefix + nodegroup.MemoryAnnotation + "]: Required value: must be there, since " + nodegroup.CPUAnnotation + " is"}},
		"memory alone":    {changes: []string{nodegroup.CPUAnnotation, "-"}, want: []string{prefix + nodegroup.CPUAnnotation + "]: Required value: must be there, since " + nodegroup.MemoryAnnotation + " is"}},
		"GPUs of no type": {changes: []string{nodegroup.GPUCountAnnotation, "8"}, want: []string{prefix + nodegroup.GPUTypeAnnotation + "]: Required value: must be there, since " + nodegroup.GPUCountAnnotation + " is"}},
		"no GPUs counted": {changes: []string{nodegroup.GPUTypeAnnotation, "nvidia.com/gpu"}, want: []string{prefix + nodegroup.GPUCountAnnotation + "]: Required value: must be there, since " + nodegroup.GPUTypeAnnotation + " is"}},
		"two at once": {changes: []string{low, "x", nodegroup.MaxPodsAnnotation, "y"}, want: []string{
			prefix + low + `]: Invalid value: "x": must be an integer of 0 or more`,
			prefix + nodegroup.MaxPodsAnnotation + `]: Invalid value: "y": must be a quantity of 0 or more, such as 8 or 32Gi`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, errs := nodegroup.OfDeployment(newCluster(), newDeployment(bounded(c.changes...)), nil)
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, known := g.Growth(); known {
				t.Error("what is not understood is held to be known")
			}
		})
	}
}

// FuzzAnnotations has no annotation make a group that leaves its bounds or grows by less than nothing, and none that is
// both understood and not.
func FuzzAnnotations(f *testing.F) {
	f.Add("1", "5", "4", "16Gi", "nvidia.com/gpu", "8", "110", int32(2))
	f.Add("", "9999999999", "-1", "1e400", "a/b/c", "0.5", "x", int32(-3))
	f.Fuzz(func(t *testing.T, minimum, maximum, cpu, memory, kind, count, pods string, replicas int32) {
		d := newDeployment(map[string]string{
			low: minimum, high: maximum, nodegroup.CPUAnnotation: cpu, nodegroup.MemoryAnnotation: memory,
			nodegroup.GPUTypeAnnotation: kind, nodegroup.GPUCountAnnotation: count, nodegroup.MaxPodsAnnotation: pods,
		})
		d.Spec.Replicas = &replicas
		g, errs := nodegroup.OfDeployment(newCluster(), d, nil)
		if understood := g.Bounds != nil && g.Machine != nil; understood != (len(errs) == 0) {
			t.Fatalf("bounds %v, machine %v, and errors %v", g.Bounds, g.Machine, errs)
		}
		if more := g.Addable(); more < 0 || more > 0 && int64(replicas)+int64(more) > int64(g.Bounds.Max) {
			t.Fatalf("%d may be added to %d, bounds %+v", more, replicas, g.Bounds)
		}
		growth, _ := g.Growth()
		for name, value := range growth {
			if value < 0 {
				t.Fatalf("%s grows by %d", name, value)
			}
		}
	})
}
