package capacity

import (
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
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestKeep copies what a member reports, keeps it while the member has no report, and says of a Cluster that grows no
// further that it does not.
func TestKeep(t *testing.T) {
	scheme := schemes.All()
	key := client.ObjectKey{Namespace: "clusters", Name: "east"}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "u-east"}}
	hub, member := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).Build(), fake.NewClientBuilder().WithScheme(scheme).Build()
	recorder, now := events.NewFakeRecorder(10), clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	r := &Reconciler{
		Client: hub, Members: clustercache.NewFakeClusterCache(member, key, "capacity"), AgentNamespace: "fedquota-system", Timeout: time.Minute,
		Recorder: recorder, Clock: now,
	}
	round := func() *quotav1alpha1.ClusterCapacity {
		t.Helper()
		now.SetTime(now.Now().Add(pace.CapacityInterval))
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		reports, err := Reports(t.Context(), hub, members.Namespaces{Home: "home", Further: []string{"clusters"}})
		if err != nil {
			t.Fatal(err)
		}
		return reports["clusters/east"]
	}
	if got := round(); got != nil {
		t.Errorf("without a report there is %+v", got)
	}

	report := &quotav1alpha1.ClusterCapacity{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fedquota-system", Name: quotav1alpha1.CapacityName}, Nodes: new(int32(3)),
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("12")},
		Unused:      corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
	}
	if err := member.Create(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	got := round()
	if got == nil || got.Growth != nil || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "u-east" {
		t.Fatalf("the copy is %+v", got)
	}
	all, unused := got.Allocatable[corev1.ResourceCPU], got.Unused[corev1.ResourceCPU]
	if diff := cmp.Diff([]string{"12", "4"}, []string{all.String(), unused.String()}); diff != "" || *got.Nodes != 3 {
		t.Errorf("-want +got:\n%s", diff)
	}

	cluster.Annotations = map[string]string{quotav1alpha1.GrowthAnnotation: "none"}
	if err := hub.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := round(); got.Growth == nil {
		t.Error("a Cluster that grows no further is said to grow")
	}
	cluster.Annotations[quotav1alpha1.GrowthAnnotation] = "nothing"
	if err := hub.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := round(); got.Growth != nil {
		t.Error("what is not understood bounds a cluster")
	}
	select {
	case event := <-recorder.Events:
		if !strings.Contains(event, `"nothing" is not understood`) {
			t.Error(event)
		}
	default:
		t.Error("nobody is told of what is not understood")
	}
	if err := member.Delete(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	cluster.Annotations[quotav1alpha1.GrowthAnnotation] = "none"
	if err := hub.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := round(); got == nil || *got.Nodes != 3 || got.Growth == nil {
		t.Errorf("without the member's report there is %+v", got)
	}
}
