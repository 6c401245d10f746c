package member_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestWorkloadsAreWoken has a workload sleep that lacks a pod: it is woken when there is room, and again if it goes on
// sleeping and is known to have been refused.
func TestWorkloadsAreWoken(t *testing.T) {
	for name, refused := range map[string]bool{"was refused": true, "lacks a pod for an unknown reason": false} {
		t.Run(name, func(t *testing.T) { testWorkloadIsWoken(t, refused) })
	}
}

func testWorkloadIsWoken(t *testing.T, refused bool) {
	t.Helper()
	w := settled(t, 1, l{"pods", "3"}, l{"pods", "3"})
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "web"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}},
	}
	must(t, w.hub.Create(t.Context(), set))
	book, refusedBy := demand.NewBook(), ""
	if refused {
		refusedBy = w.key.Name
	}
	book.SetWorkload(demand.Workload{
		Owner:     demand.Owner{Kind: "ReplicaSet", Name: set.Name, UID: set.UID},
		Namespace: set.Namespace, Desired: 1, Template: &set.Spec.Template.Spec, RefusedBy: refusedBy,
	}, w.clock.Now())
	w.agent.Demand = &memberdemand.Demand{Client: as(t, agent), Clock: w.clock, Book: book}
	version := set.ResourceVersion
	wantWoken := func(when string, want bool) {
		t.Helper()
		w.reconcile()
		must(t, w.hub.Get(t.Context(), client.ObjectKeyFromObject(set), set))
		if woken := set.ResourceVersion != version; woken != want {
			t.Errorf("woken %s: %t, annotated %q", when, woken, set.Annotations[quotav1alpha1.PokedAnnotation])
		}
		version = set.ResourceVersion
	}
	w.clock.Step(time.Minute)
	wantWoken("without room", false)
	w.share(2, "pods", "4")
	w.reconcile()
	w.count("pods", "3")
	wantWoken("with room", true)
	w.clock.Step(time.Second)
	wantWoken("again, soon", false)
	w.clock.Step(10 * time.Second)
	wantWoken("again, later", refused)
	w.clock.Step(time.Second)
	w.share(3, "pods", "5")
	w.reconcile()
	w.count("pods", "3")
	wantWoken("with more room", true)
}

// TestWakingOfEachKind wakes a workload of each kind with the rights of the agent.
func TestWakingOfEachKind(t *testing.T) {
	labels := map[string]string{"app": "web"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "web", Image: "web"}},
	}}
	once := *template.DeepCopy()
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	for kind, workload := range map[string]client.Object{
		"ReplicaSet":  &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}},
		"StatefulSet": &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}},
		"DaemonSet":   &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
		"ReplicationController": &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{
			Selector: labels, Template: &template,
		}},
		"Job": &batchv1.Job{Spec: batchv1.JobSpec{Template: once}},
	} {
		t.Run(kind, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "3"}, l{"pods", "0"})
			workload.SetNamespace(w.key.Namespace)
			workload.SetName("web")
			must(t, w.hub.Create(t.Context(), workload))
			book := demand.NewBook()
			book.SetWorkload(demand.Workload{
				Owner:     demand.Owner{Kind: kind, Name: "web", UID: workload.GetUID()},
				Namespace: w.key.Namespace, Desired: 1, Template: &template.Spec, RefusedBy: w.key.Name,
			}, w.clock.Now())
			w.agent.Demand = &memberdemand.Demand{Client: as(t, agent), Clock: w.clock, Book: book}
			w.clock.Step(time.Minute)
			w.reconcile()
			must(t, w.hub.Get(t.Context(), client.ObjectKeyFromObject(workload), workload))
			if workload.GetAnnotations()[quotav1alpha1.PokedAnnotation] == "" {
				t.Error("not woken")
			}
		})
	}
}
