package capacity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/nodegroup"
	"github.com/fedquota/fedquota/internal/pace"
)

// bounded are the annotations of a group of at most 5 machines of 4 cores and 16Gi, without those that are named.
func bounded(without ...string) map[string]string {
	annotations := map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: "5",
		nodegroup.CPUAnnotation: "4", nodegroup.MemoryAnnotation: "16Gi",
	}
	for _, name := range without {
		delete(annotations, name)
	}
	return annotations
}

func newDeployment(cluster string, annotations map[string]string) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "md-" + cluster, Annotations: annotations},
		Spec:       clusterv1.MachineDeploymentSpec{ClusterName: cluster, Replicas: new(int32(2))},
		Status:     clusterv1.MachineDeploymentStatus{ReadyReplicas: new(int32(2))},
	}
}

func newPool(cluster string, annotations map[string]string) *clusterv1.MachinePool {
	return &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "mp-" + cluster, Annotations: annotations},
		Spec:       clusterv1.MachinePoolSpec{ClusterName: cluster, Replicas: new(int32(1))},
	}
}

// TestGrowth has what nodes may come to a cluster be known where all that brings machines to it says so, and what the
// Cluster states win over that.
func TestGrowth(t *testing.T) {
	low := clusterv1.AutoscalerMinSizeAnnotation
	for name, c := range map[string]struct {
		groups    []client.Object
		stated    string
		unwatched bool
		want      string // machines and cores, or nothing
		event     string
	}{
		"nobody brings machines":            {groups: []client.Object{newDeployment("west", bounded())}},
		"three more":                        {groups: []client.Object{newDeployment("east", bounded())}, want: "3 12"},
		"of two kinds":                      {groups: []client.Object{newDeployment("east", bounded()), newPool("east", bounded())}, want: "8 32"},
		"one without bounds":                {groups: []client.Object{newDeployment("east", bounded()), newPool("east", nil)}},
		"nobody knows what one has":         {groups: []client.Object{newDeployment("east", bounded(nodegroup.CPUAnnotation, nodegroup.MemoryAnnotation))}},
		"one is not understood":             {groups: []client.Object{newDeployment("east", bounded(low))}, event: low + "]: Required value"},
		"the Cluster says that none may":    {groups: []client.Object{newDeployment("east", bounded())}, stated: "none", want: "0 0"},
		"the Cluster says that any may":     {groups: []client.Object{newDeployment("east", bounded())}, stated: "any"},
		"the Cluster says something else":   {groups: []client.Object{newDeployment("east", bounded())}, stated: "some", event: `"some" is not understood`},
		"the kinds are not served on a hub": {groups: []client.Object{newDeployment("east", bounded())}, unwatched: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "east"}}
			cluster.Annotations = map[string]string{quotav1alpha1.GrowthAnnotation: c.stated}
			recorder := events.NewFakeRecorder(10)
			r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(c.groups...).Build(), Recorder: recorder}
			r.grows.Store(!c.unwatched)
			growth, err := r.growthOf(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if growth != nil {
				cores := growth.Resources["cpu"]
				got = fmt.Sprint(*growth.Machines, " ", cores.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			said := ""
			if len(recorder.Events) > 0 {
				said = <-recorder.Events
			}
			if (c.event == "") != (said == "") || !strings.Contains(said, c.event) {
				t.Errorf("event %q, want one that says %q", said, c.event)
			}
		})
	}
}

// TestGrowsOtherwise has nothing done for changes that decide nothing.
func TestGrowsOtherwise(t *testing.T) {
	cluster := &clusterv1.Cluster{}
	for name, c := range map[string]struct {
		object client.Object
		change func(client.Object)
		want   bool
	}{
		"a condition": {object: newDeployment("east", nil), change: func(o client.Object) {
			o.(*clusterv1.MachineDeployment).Status.Conditions = []metav1.Condition{{Type: "Available"}}
		}},
		"a machine is a node": {object: newDeployment("east", nil), want: true, change: func(o client.Object) {
			o.(*clusterv1.MachineDeployment).Status.ReadyReplicas = new(int32(3))
		}},
		"a machine is wanted": {object: newPool("east", nil), want: true, change: func(o client.Object) {
			o.(*clusterv1.MachinePool).Spec.Replicas = new(int32(3))
		}},
		"a bound":  {object: newPool("east", nil), want: true, change: func(o client.Object) { o.SetAnnotations(bounded()) }},
		"deletion": {object: newPool("east", nil), want: true, change: func(o client.Object) { o.SetDeletionTimestamp(new(metav1.Now())) }},
		"a pause":  {object: cluster, want: true, change: func(o client.Object) { o.(*clusterv1.Cluster).Spec.Paused = new(true) }},
		"a Cluster's state": {object: cluster, change: func(o client.Object) {
			o.(*clusterv1.Cluster).Status.Phase = "Provisioned"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.object.DeepCopyObject().(client.Object)
			c.change(after)
			if got := growsOtherwise(event.UpdateEvent{ObjectOld: c.object, ObjectNew: after}); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestMachinesThatFlap has the hub write once in a while what machines may still come, while these cease to be ready and
// are ready again all the time, and in the end what is true.
func TestMachinesThatFlap(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "east"}}
	d, writes := newDeployment("east", bounded()), 0
	kept := &quotav1alpha1.ClusterCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "east"}}
	hub := fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster, d, kept).WithStatusSubresource(d).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				writes++
				return c.Patch(ctx, o, p, opts...)
			},
		}).Build()
	now := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	r := &Reconciler{Client: hub, Clock: now}
	r.grows.Store(true)
	const minute = 60
	var due time.Duration
	for second := range minute {
		d.Status.ReadyReplicas = new(int32(second % 3))
		if err := hub.Status().Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		var err error
		if due, err = r.keep(t.Context(), cluster, nil); err != nil {
			t.Fatal(err)
		}
		now.SetTime(now.Now().Add(time.Second))
	}
	if most := int(minute * time.Second / pace.CapacityInterval); writes == 0 || writes > most+1 {
		t.Errorf("%d writes in a minute, want at most %d", writes, most)
	}
	now.SetTime(now.Now().Add(due))
	if wait, err := r.keep(t.Context(), cluster, nil); err != nil || wait > 0 {
		t.Fatal(wait, err)
	}
	if err := hub.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || *kept.Growth.Machines != 3 {
		t.Errorf("in the end it says %+v (%v), want 3 machines", kept.Growth, err)
	}
}

// TestNodesThatCome has a node count once that its cluster and Cluster API tell of one after the other, and a node that is
// none of these machines count after a while.
func TestNodesThatCome(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "east"}}
	d := newDeployment("east", bounded())
	hub := fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster, d).WithStatusSubresource(d).Build()
	now := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	r := &Reconciler{Client: hub, Clock: now}
	r.grows.Store(true)
	for _, c := range []struct {
		what         string
		after        int // seconds
		nodes, ready int32
		machines     int32
		cores, most  string
		again        time.Duration
	}{
		{what: "two nodes", nodes: 2, ready: 2, machines: 3, cores: "12", most: "20"},
		{what: "its cluster tells first", after: 30, nodes: 3, ready: 2, machines: 3, cores: "8", most: "20", again: pace.NodeReport},
		{what: "then Cluster API", after: 2, nodes: 3, ready: 3, machines: 3, cores: "8", most: "20", again: 3 * time.Second},
		{what: "once more, a moment later", after: 3, nodes: 3, ready: 3, machines: 2, cores: "8", most: "20"},
		{what: "Cluster API tells first", after: 20, nodes: 3, ready: 4, machines: 1, cores: "4", most: "16"},
		{what: "then its cluster", after: 1, nodes: 4, ready: 4, machines: 1, cores: "4", most: "20"},
		{what: "one from elsewhere", after: 20, nodes: 5, ready: 4, machines: 1, cores: "0", most: "20", again: pace.NodeReport},
		{what: "which is there for a while", after: 10, nodes: 5, ready: 4, machines: 1, cores: "4", most: "24"},
	} {
		now.SetTime(now.Now().Add(time.Duration(c.after) * time.Second))
		d.Status.ReadyReplicas = &c.ready
		if err := hub.Status().Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		has := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(4*c.nodes), resource.DecimalSI)}
		report := &quotav1alpha1.ClusterCapacity{Nodes: &c.nodes, Allocatable: has, Unused: has}
		again, err := r.keep(t.Context(), cluster, report)
		if err != nil {
			t.Fatal(err)
		}
		kept := &quotav1alpha1.ClusterCapacity{}
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(cluster), kept); err != nil {
			t.Fatal(err)
		}
		cores, most := kept.Growth.Resources[corev1.ResourceCPU], kept.Allocatable[corev1.ResourceCPU]
		most.Add(cores)
		got := []any{*kept.Growth.Machines, cores.String(), most.String(), again}
		if diff := cmp.Diff([]any{c.machines, c.cores, c.most, c.again}, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.what, diff)
		}
	}
}
