package why

import (
	"bytes"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// TestSuspended says what a suspended Job states, and that it waits only if that is not understood.
func TestSuspended(t *testing.T) {
	for states, want := range map[string]struct {
		text  string
		waits bool
	}{
		"":    {text: "It is suspended: it makes no pods, and does not state that it wants room for them."},
		"5m":  {text: "It is suspended. It stated that it wants room for 3 pods until 5m ago: create it again if it still does."},
		"20m": {text: "It is suspended, and states that it wants room for 3 pods, for another 10m. Would one more pod fit now?"},
		"day": {text: "It is suspended. What it states does not count as demand:", waits: true},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-10 * time.Minute))}, Spec: batchv1.JobSpec{Suspend: new(true), Parallelism: new(int32(3))}}
		if states != "" {
			job.Annotations = map[string]string{quotav1alpha1.DemandForAnnotation: states}
		}
		a := &answer{now: metav1.NewTime(now), subject: &subject{object: job}, around: &around{pod: &corev1.Pod{}}}
		v := a.view()
		if got := told(t, v); !strings.Contains(got, want.text) || v.Waits != want.waits {
			t.Errorf("of one that states %q it says (%t): %s", states, v.Waits, got)
		}
	}
}

// TestNothingWaits says of a pod where it is, and of a workload that all its pods are there.
func TestNothingWaits(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	s := &subject{object: pod, wanted: 1, pods: []corev1.Pod{*pod}}
	v := (&answer{now: metav1.NewTime(now), subject: s, around: &around{}}).view()
	if got := told(t, v); v.Waits || !strings.Contains(got, "It was admitted, and is running on node node-1.") || strings.Contains(got, "Infeasible") {
		t.Errorf("of a pod it says (%t): %s", v.Waits, got)
	}
	v.Infeasible = true
	if got := told(t, v); !strings.Contains(got, "Infeasible: its node can never give it what it shall have. → Quotas charge") {
		t.Errorf("of a resize it says: %s", got)
	}
	if got := told(t, &view.Answer{Kind: "Deployment", Pods: 4}); !strings.Contains(got, "Nothing waits: all 4 pods that it wants are there.") {
		t.Errorf("of a workload it says: %s", got)
	}
}

// told returns what is printed of an answer, on one line.
func told(t *testing.T, v *view.Answer) string {
	t.Helper()
	var out bytes.Buffer
	if err := (&printer{Page: &text.Page{Out: &out}, Answer: v, now: now}).print(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
