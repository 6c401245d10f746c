package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// gives returns what a LimitRange gives to containers that request no CPU.
func gives(cpu string) nativequota.Defaults {
	return nativequota.Defaults{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
}

// silent returns a workload whose template says nothing of what its pods request.
func silent(desired int64) demand.Workload {
	w := workload(desired)
	w.Template = &corev1.PodSpec{Containers: []corev1.Container{{}}}
	return w
}

// TestDefaults has a workload of three pods, the template of which may request nothing, need what the LimitRanges of
// its namespace give.
func TestDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		workload demand.Workload
		happens  func(b *demand.Book, now time.Time) // at the end
		want     amount.List
	}{
		"a template that requests what it needs": {workload: workload(3), want: cpus(3, 3)},
		"a template that requests nothing":       {workload: silent(3), want: cpus(6, 3)},
		"the default changes": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			if !b.SetLimitRange(key.Namespace, "limits", gives("3")) {
				t.Error("nothing was changed")
			}
		}, want: cpus(9, 3)},
		"the default stays": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			if b.SetLimitRange(key.Namespace, "limits", gives("2000m")) {
				t.Error("something was changed")
			}
		}, want: cpus(6, 3)},
		"another one gives less": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			b.SetLimitRange(key.Namespace, "less", gives("1"))
		}, want: cpus(6, 3)},
		"another one gives more": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			b.SetLimitRange(key.Namespace, "more", gives("3"))
		}, want: cpus(9, 3)},
		"another namespace gives more": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			b.SetLimitRange("other", "limits", gives("3"))
		}, want: cpus(6, 3)},
		"it is gone": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			if !b.DeleteLimitRange(key.Namespace, "limits") {
				t.Error("nothing was changed")
			}
		}, want: amount.List{"pods": 3}},
		"the workload changes": {workload: silent(3), happens: func(b *demand.Book, now time.Time) {
			b.SetWorkload(silent(2), now.Add(-later))
		}, want: cpus(4, 2)},
		"there was no other workload for a moment": {workload: silent(3), happens: func(b *demand.Book, now time.Time) {
			b.DeleteWorkload(key.Namespace, web.UID)
			b.SetWorkload(silent(3), now.Add(-later))
		}, want: cpus(6, 3)},
		"the default changes after a request by the old one": {workload: silent(3), happens: func(b *demand.Book, now time.Time) {
			before := now.Add(-time.Minute)
			b.Hold(key, web, onePod, cpus(2, 1), before)
			b.End(key, web, cpus(2, 1), false, before)
			b.SetLimitRange(key.Namespace, "limits", gives("1"))
		}, want: cpus(3, 3)},
		"a request said more": {workload: silent(3), happens: func(b *demand.Book, now time.Time) {
			before := now.Add(-time.Minute)
			b.Hold(key, web, onePod, cpus(4, 1), before)
			b.End(key, web, cpus(4, 1), false, before)
			b.SetLimitRange(key.Namespace, "limits", gives("2"))
		}, want: cpus(12, 3)},
		"pods of that size find no node": {workload: silent(3), happens: func(b *demand.Book, _ time.Time) {
			b.SetPod(stuck("other", "2"), start)
		}, want: amount.List{}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s, now := demand.NewBook(), share(), start.Add(10*time.Minute)
			b.SetLimitRange(key.Namespace, "limits", gives("2"))
			b.SetWorkload(tc.workload, start)
			if tc.happens != nil {
				tc.happens(b, now)
			}
			if diff := cmp.Diff(tc.want, total(b, s, now)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRoomOnceThereAreDefaults has a workload be one that room does not help, since its template lacks a request, until
// a LimitRange gives it.
func TestRoomOnceThereAreDefaults(t *testing.T) {
	b, s := demand.NewBook(), share()
	s.Status.Hard, s.Status.Used = s.Spec.Hard, corev1.ResourceList{}
	b.SetWorkload(silent(3), start)
	look := func(from, to int) (needs amount.List, asleep int) {
		for second := from; second <= to; second++ {
			needs = total(b, s, start.Add(time.Duration(second)*time.Second))
		}
		return needs, len(b.Asleep(s, start.Add(time.Duration(to)*time.Second)))
	}
	if got, asleep := look(0, 30); !got.IsZero() || asleep != 0 {
		t.Errorf("without a request: demand %v, %d asleep", got, asleep)
	}
	b.SetLimitRange(key.Namespace, "limits", gives("2"))
	got, asleep := look(31, 31)
	if diff := cmp.Diff(cpus(6, 3), got); diff != "" || asleep != 1 {
		t.Errorf("with one: %d asleep, demand (-want +got):\n%s", asleep, diff)
	}
}

// TestWakingWithDefaults has the room of a share suffice for a pod as its template is, and not for one as it will be
// made: nobody is woken in vain, and the time of room that does not help does not run.
func TestWakingWithDefaults(t *testing.T) {
	b, s := demand.NewBook(), share()
	s.Status.Hard, s.Status.Used = s.Spec.Hard, corev1.ResourceList{"requests.cpu": resource.MustParse("9")}
	b.SetLimitRange(key.Namespace, "limits", gives("2"))
	b.SetWorkload(silent(3), start)
	var got amount.List
	for second := range 60 {
		got = total(b, s, start.Add(time.Duration(second)*time.Second))
	}
	if diff := cmp.Diff(cpus(6, 3), got); diff != "" {
		t.Errorf("demand (-want +got):\n%s", diff)
	}
	sleepers := b.Asleep(s, start.Add(time.Minute))
	if len(sleepers) != 1 {
		t.Fatalf("%d asleep", len(sleepers))
	}
	if diff := cmp.Diff(cpus(2, 1), sleepers[0].Unit); diff != "" {
		t.Errorf("unit (-want +got):\n%s", diff)
	}
}
