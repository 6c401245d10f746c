package observer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createPod creates a pod of half a CPU that is in the given phase, and named after it.
func (m *realMember) createPod(t *testing.T, namespace string, phase corev1.PodPhase) {
	t.Helper()
	pod := podWith("500m", "")
	pod.Name = strings.ToLower(string(phase))
	pod, err := m.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = phase
	if _, err := m.client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestRecountOver(t *testing.T) {
	cases := map[string]struct {
		play func(r *run)
		// exists is the pods in a and b.
		exists [2]string
		over   string
	}{
		"all of the budget":                {func(*run) {}, [2]string{"6", "4"}, ""},
		"more than the budget":             {func(*run) {}, [2]string{"6", "7"}, "pods=3"},
		"while a cut drains":               {func(r *run) { r.cut("pods=5") }, [2]string{"6", "4"}, ""},
		"more than before the cut":         {func(r *run) { r.cut("pods=5") }, [2]string{"6", "5"}, "pods=1"},
		"more than is granted after a cut": {func(r *run) { r.cut("pods=5"); r.setGranted(amounts("pods=7"), r.tick(), r.now) }, [2]string{"4", "4"}, "pods=1"},
		"overcharged":                      {func(r *run) { r.see("a", stepNext, pods(6, 8, 2)) }, [2]string{"8", "4"}, ""},
		"more than was overcharged":        {func(r *run) { r.see("a", stepNext, pods(6, 7, 2)) }, [2]string{"8", "4"}, "pods=1"},
		"used above a lowered limit": {func(r *run) {
			r.see("a", stepNext, pods(6, 6, 2))
			r.see("a", stepNext, pods(3, 6, 3).Revision("2"))
		}, [2]string{"6", "7"}, "pods=3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := twoFull()
			tc.play(r)
			recount := newRecount(r.epochs.at(r.now))
			for i, member := range []string{"a", "b"} {
				recount.add(member, amounts("pods="+tc.exists[i]))
			}
			r.recounted(&recount, r.now)
			if over := recount.Over(); !sameLimits(over, amounts(tc.over)) {
				t.Errorf("over %v, want %s", over, tc.over)
			}
		})
	}
}

func testRecount(t *testing.T, members map[string]*realMember) {
	const namespace = "recount"
	namespaces(t, members, namespace)
	for _, m := range members {
		m.createPod(t, namespace, corev1.PodRunning)
		m.createPod(t, namespace, corev1.PodSucceeded)
	}
	o := watchMembers(t, members, namespace,
		"requests.cpu=700m,pods=2,count/pods=9,count/deployments.apps=1,services.nodeports=1,count/nothing.example.com=1")
	counted, err := o.Recount(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := amounts("requests.cpu=1,pods=2,count/pods=4,count/deployments.apps=0,services.nodeports=0")
	got := corev1.ResourceList{}
	for _, res := range counted.Resources {
		got[res.Name] = res.Exists
	}
	if !sameLimits(want, got) {
		t.Errorf("exists %v, want %v", got, want)
	}
	if over := counted.Over(); !sameLimits(over, amounts("requests.cpu=300m")) {
		t.Errorf("over %v", over)
	}
	if len(counted.Uncounted) != 1 || counted.Uncounted[0] != "count/nothing.example.com" {
		t.Errorf("uncounted %v", counted.Uncounted)
	}
	if recounts := o.Stop().Recounts; len(recounts) != 1 {
		t.Errorf("%d recounts in the report, want 1", len(recounts))
	}
}
