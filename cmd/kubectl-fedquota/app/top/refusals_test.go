package top

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// TestRefusals counts what is refused while it looks, and nothing from before.
func TestRefusals(t *testing.T) {
	event := func(uid string, count int32, message string) corev1.Event {
		return corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", UID: types.UID(uid)}, Count: count, Message: message}
	}
	const both = `(combined from similar events): Error creating: pods "web-1" is forbidden: exceeded quota: compute, requested: ` +
		`pods=1,requests.cpu=1, used: pods=3,requests.cpu=3, limited: pods=3,requests.cpu=3`
	const pods = `Error creating: admission webhook "pods.fedquota.io" denied the request: exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3; …`
	r := newRefusals(nil, "", members.Namespaces{})
	count := func() map[corev1.ResourceName]int {
		counts := map[corev1.ResourceName]int{}
		for of, n := range r.counts {
			if of.namespace == "team-a" && of.name == "compute" {
				counts[of.resource] = n
			}
		}
		return counts
	}
	if _, known := r.of(&view.Line{}); known {
		t.Error("nobody was asked, and it knows")
	}
	for _, step := range []struct {
		cluster string
		events  []corev1.Event
		want    map[corev1.ResourceName]int
	}{
		{"east", []corev1.Event{event("1", 7, both)}, map[corev1.ResourceName]int{}},
		{"east", []corev1.Event{event("1", 9, both)}, map[corev1.ResourceName]int{"pods": 2, "requests.cpu": 2}},
		{"west", []corev1.Event{event("2", 4, pods)}, map[corev1.ResourceName]int{"pods": 2, "requests.cpu": 2}},
		{"west", []corev1.Event{event("2", 4, pods), event("3", 0, pods), event("4", 5, "no quota")}, map[corev1.ResourceName]int{"pods": 3, "requests.cpu": 2}},
		{"east", nil, map[corev1.ResourceName]int{"pods": 3, "requests.cpu": 2}},
		{"east", []corev1.Event{event("5", 1, both)}, map[corev1.ResourceName]int{"pods": 4, "requests.cpu": 3}},
	} {
		r.take(step.cluster, step.events)
		if diff := cmp.Diff(step.want, count()); diff != "" {
			t.Error(diff)
		}
	}
	l := &view.Line{Namespace: "team-a", Name: "compute", Filled: view.Filled{Amounts: view.Amounts{Resource: "pods"}}}
	if n, known := r.of(l); n != 4 || !known {
		t.Errorf("of pods it says %d, %t", n, known)
	}
}
