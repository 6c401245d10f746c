package scaleout

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

func TestGroupOf(t *testing.T) {
	good := map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: "5",
		quotav1alpha1.ScaleOutAnnotation: "true", quotav1alpha1.CostAnnotation: "0.5",
		"capacity.cluster-autoscaler.kubernetes.io/cpu": "4", "capacity.cluster-autoscaler.kubernetes.io/memory": "1Gi",
	}
	const notUnderstood, high = "has annotations that are not understood: metadata.annotations[", clusterv1.AutoscalerMaxSizeAnnotation
	type of struct {
		cluster *clusterv1.Cluster
		group   *clusterv1.MachineDeployment
	}
	for name, c := range map[string]struct {
		change func(of)
		want   string // the obstacle begins so
	}{
		"may be scaled": {change: func(of) {}},
		"may be scaled for pods": {change: func(o of) {
			o.group.Annotations[quotav1alpha1.ScaleOutAnnotation] = scaleout.PermitsUnscheduled
		}},
		"neither yes nor no": {
			func(o of) { o.group.Annotations[quotav1alpha1.ScaleOutAnnotation] = "yes" }, "has not the annotation quota.fedquota.io/scale-out",
		},
		"not opted in": {func(o of) { delete(o.group.Annotations, quotav1alpha1.ScaleOutAnnotation) }, "has not the annotation quota.fedquota.io/scale-out"},
		"no bounds": {func(o of) {
			delete(o.group.Annotations, clusterv1.AutoscalerMinSizeAnnotation)
			delete(o.group.Annotations, clusterv1.AutoscalerMaxSizeAnnotation)
		}, "has no bounds"},
		"one bound":     {func(o of) { delete(o.group.Annotations, clusterv1.AutoscalerMinSizeAnnotation) }, "has annotations that are not understood"},
		"no price":      {func(o of) { o.group.Annotations[quotav1alpha1.CostAnnotation] = "cheap" }, `has the annotation quota.fedquota.io/cost: "cheap"`},
		"no number":     {func(o of) { o.group.Annotations[quotav1alpha1.CostAnnotation] = "NaN" }, `has the annotation quota.fedquota.io/cost: "NaN"`},
		"too few":       {func(o of) { o.group.Spec.Replicas = new(int32(0)) }, "has 0 replicas of at least 1"},
		"all there are": {func(o of) { o.group.Spec.Replicas = new(int32(5)) }, "has 5 replicas of at most 5"},
		"deleted":       {func(o of) { o.group.DeletionTimestamp = new(metav1.Now()) }, "is being deleted"},
		"no maximum":    {func(o of) { o.group.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] = "many" }, notUnderstood + high + `]: Invalid value: "many"`},
		"crossed":       {func(o of) { o.group.Annotations[clusterv1.AutoscalerMinSizeAnnotation] = "9" }, notUnderstood + high + `]: Invalid value: "5": must be at least`},
		"negative":      {func(o of) { o.group.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] = "-5" }, notUnderstood + high + `]: Invalid value: "-5"`},
		"paused":        {func(o of) { o.cluster.Spec.Paused = new(true) }, "does not change while Cluster east is paused"},
		"no more nodes": {func(o of) { o.cluster.Annotations = map[string]string{quotav1alpha1.GrowthAnnotation: "none"} }, "is left alone, since Cluster east"},
		"set by a ClusterClass": {func(o of) {
			o.group.Labels = map[string]string{clusterv1.ClusterTopologyMachineDeploymentNameLabel: "md"}
			o.cluster.Spec.Topology.Workers.MachineDeployments = []clusterv1.MachineDeploymentTopology{{Name: "md", Replicas: new(int32(2))}}
		}, "has its replicas set to 2 by the topology of Cluster east"},
	} {
		t.Run(name, func(t *testing.T) {
			o := of{&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}, &clusterv1.MachineDeployment{}}
			o.group.Namespace, o.group.Name, o.group.Spec.Replicas = "default", "workers", new(int32(2))
			o.group.Annotations = maps.Clone(good)
			c.change(o)
			g := GroupOf(members.Cluster{Cluster: o.cluster, Name: "east"}, o.group)
			if !strings.HasPrefix(g.Obstacle, c.want) || (g.Obstacle == "") != (c.want == "") {
				t.Errorf("got %q", g.Obstacle)
			}
			if g.Unscheduled != (name == "may be scaled for pods") {
				t.Errorf("it may be scaled for pods: %v", g.Unscheduled)
			}
			if g.Halted != (name == "paused" || name == "deleted") {
				t.Errorf("no machine of it comes: %v", g.Halted)
			}
			if g.Full != (name == "all there are") {
				t.Errorf("it is full: %v", g.Full)
			}
			if c.want == "" && (g.Key != "default/workers" || g.Room != 3 || g.Machine["cpu"] != 4000 || !g.Priced || g.Cost != 0.5) {
				t.Errorf("got %+v", g)
			}
		})
	}
}

func TestAddShare(t *testing.T) {
	const name = corev1.ResourceRequestsCPU
	share := &quotav1alpha1.QuotaShareStatus{
		Used: cpus("6"), Unscheduled: cpus("2"), UnscheduledByShape: []quotav1alpha1.DemandShape{{Amounts: cpus("2"), Unit: cpus("1")}},
		DemandByShape: []quotav1alpha1.DemandShape{{Amounts: cpus("3"), Unit: cpus("1")}, {Amounts: cpus("9"), Unit: cpus("4")}},
	}
	for what, c := range map[string]struct {
		most amount.List
		want []int64
	}{
		"no bound": {want: []int64{3, 3}},
		"a max":    {most: amount.List{name: 14_000}, want: []int64{3, 1}},
		"no room":  {most: amount.List{name: 6_000}, want: []int64{0, 0}},
	} {
		t.Run(what, func(t *testing.T) {
			cluster := scaleout.Cluster{Name: "east"}
			AddShare(&cluster, share, c.most, []corev1.ResourceName{name})
			var got []int64
			for _, r := range cluster.Requests {
				got = append(got, r.Count)
			}
			if len(cluster.Stranded) != 1 || cluster.Stranded[0].Count != 2 || cluster.Stranded[0].Unit[name] != 1_000 {
				t.Errorf("pods without a node are %+v", cluster.Stranded)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || cluster.Running[name] != 4_000 || cluster.Unscheduled[name] != 2_000 {
				t.Errorf("%+v -want +got:\n%s", cluster, diff)
			}
		})
	}
}

func TestCeiling(t *testing.T) {
	const name = corev1.ResourceRequestsCPU
	for what, c := range map[string]struct {
		hard, reserve, cap string
		want               amount.List
	}{
		"hard":                            {hard: "100", want: amount.List{name: 100_000}},
		"less a reserve":                  {hard: "100", reserve: "10", want: amount.List{name: 90_000}},
		"none":                            {want: amount.List{}},
		"a pool that gives less":          {hard: "100", cap: "15", want: amount.List{name: 15_000}},
		"a pool that gives what is asked": {hard: "100", cap: "16", want: amount.List{name: 100_000}},
	} {
		t.Run(what, func(t *testing.T) {
			b := Budget{Rule: following(), Nodes: &quotav1alpha1.CapacityStatus{Allocatable: cpus("16")}}
			b.Rule.Resources = []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(name)}
			if c.hard != "" {
				b.Hard = cpus(c.hard)
			}
			if c.reserve != "" {
				b.Reserve = cpus(c.reserve)
			}
			if c.cap != "" {
				b.Membership = &quotav1alpha1.PoolMembership{UID: "u", Cap: cpus(c.cap)}
			}
			if diff := cmp.Diff(c.want, b.Input(time.Now()).Ceiling); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
