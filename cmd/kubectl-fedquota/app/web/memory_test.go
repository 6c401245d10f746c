package web

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestSince sees that somebody waits since he was first seen to, for as long as he does not cease to.
func TestSince(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r, fq := newMemory(now), other("web", 1)
	first := &fq.Status.Clusters[0]
	for _, step := range []struct {
		at     int64
		demand string
		want   int64
	}{{1000, "0", 0}, {1001, "2", 1001}, {1007, "5", 1001}, {1009, "0", 0}, {1012, "1", 1012}} {
		now.SetTime(time.Unix(step.at, 0))
		first.Demand = corev1.ResourceList{"requests.cpu": resource.MustParse(step.demand)}
		r.see(fq)
		since, waits := r.recall(client.ObjectKeyFromObject(fq)).since[claim{"c-0000", "requests.cpu"}]
		if waits != (step.want > 0) || waits && since.Unix() != step.want {
			t.Errorf("at %d it waits since %v", step.at, since)
		}
	}
}

// TestMemoryIsBounded sees that what is remembered does not grow without end, begins with the first sample, and ends with the
// latest.
func TestMemoryIsBounded(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r, fq := newMemory(now), other("web", 1)
	for i := range 3 * mostSamples {
		now.SetTime(time.Unix(0, int64(i)*int64(fine)/2))
		fq.Status.Used["requests.cpu"] = *resource.NewQuantity(int64(i), resource.DecimalSI)
		r.see(fq)
	}
	p := r.recall(client.ObjectKeyFromObject(fq))
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	if len(p.samples) > mostSamples || len(p.samples) < mostSamples/2 || first.At != 0 || last.Levels[0].Used != 3*mostSamples-1 {
		t.Errorf("%d samples are remembered, from %d on, the last one of %v", len(p.samples), first.At, last.Levels)
	}
	if late := p.samples[len(p.samples)-3].At; last.At-late > 4*fine.Milliseconds() {
		t.Errorf("the latest samples are at %d and %d", late, last.At)
	}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: "one", ResourceVersion: "1"}, InvolvedObject: corev1.ObjectReference{Namespace: "team-a", Name: "web"},
		Reason: quotav1alpha1.ReasonLimitsMoved, Message: "requests.cpu: east 5 → 9 (Demand), west 9 → 5 (Surplus)",
	}
	r.hear(event)
	r.hear(event)
	if moves := r.recall(client.ObjectKeyFromObject(fq)).moves; len(moves) != 2 || moves[1].Words != "Surplus: it had more than it needs" {
		t.Errorf("of an event that was heard twice %v is remembered", moves)
	}
}
