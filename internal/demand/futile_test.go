package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// event is something that happens, and story what happens in which second.
type (
	event func(b *demand.Book, s *quotav1alpha1.QuotaShare, now time.Time)
	story map[int]event
)

// TestFutileRoom has a workload of three pods lack them all after a request of it was held, whatever room there is:
// what room does not help asks for none, and is not woken. It is looked at every second for a minute, as the agent
// does.
func TestFutileRoom(t *testing.T) {
	const minute, late = 60, 50
	room := func(cpu string) event {
		return func(_ *demand.Book, s *quotav1alpha1.QuotaShare, _ time.Time) {
			s.Status.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("10"), "pods": resource.MustParse("10")}
			s.Status.Used = corev1.ResourceList{"requests.cpu": resource.MustParse("10"), "pods": resource.MustParse("4")}
			left := s.Status.Used["requests.cpu"]
			left.Sub(resource.MustParse(cpu))
			s.Status.Used["requests.cpu"] = left
		}
	}
	asks := func(fits bool) event {
		return func(b *demand.Book, _ *quotav1alpha1.QuotaShare, now time.Time) {
			b.Hold(key, web, onePod, cpus(1, 1), now)
			b.End(key, web, cpus(1, 1), fits, now)
		}
	}
	for name, tc := range map[string]struct {
		room string // in the first second
		at   story  // what happens in which second
		want int64  // pods that it needs after a minute
	}{
		"room that it makes nothing of":     {room: "1"},
		"no room":                           {room: "0", want: 3},
		"room for a part of a pod":          {room: "999m", want: 3},
		"room that nobody knows":            {want: 3},
		"room since a moment":               {room: "0", at: story{late: room("1")}, want: 3},
		"room that was gone for a moment":   {room: "1", at: story{late: room("0"), late + 1: room("1")}, want: 3},
		"another request of it is held":     {room: "1", at: story{late: asks(true)}, want: 3},
		"another request of it is denied":   {room: "1", at: story{late: asks(false)}, want: 3},
		"another request of it, and no pod": {room: "1", at: story{minute - 15: asks(true)}},
		"its controller says it was refused": {room: "1", at: story{late: func(b *demand.Book, _ *quotav1alpha1.QuotaShare, now time.Time) {
			w := workload(3)
			w.RefusedBy = key.Name
			b.SetWorkload(w, now)
		}}},
		"it makes a pod": {room: "1", at: story{late: func(b *demand.Book, _ *quotav1alpha1.QuotaShare, now time.Time) {
			b.SetPod(podOf(web.UID, "1"), now)
		}}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			b.SetWorkload(workload(3), start)
			if tc.room != "" {
				room(tc.room)(b, s, start)
			}
			asks(true)(b, s, start)
			var got amount.List
			var asleep int64
			for second := range minute + 1 {
				now := start.Add(time.Duration(second) * time.Second)
				if happens := tc.at[second]; happens != nil {
					happens(b, s, now)
				}
				got = total(b, s, now)
				asleep = 0
				for _, sleeper := range b.Asleep(s, now) {
					asleep += sleeper.Missing
				}
			}
			want := amount.List{}
			if tc.want > 0 {
				want = cpus(tc.want, tc.want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if asleep != tc.want {
				t.Errorf("%d missing pods of sleepers, want %d", asleep, tc.want)
			}
		})
	}
}

// TestRoomThatNobodySaw has a workload be looked at in some seconds alone, as by a replica that leads after a while, or
// while the API server is away: room does not count as useless through time in which nobody looked.
func TestRoomThatNobodySaw(t *testing.T) {
	for name, tc := range map[string]struct {
		looks []int // in which seconds
		want  int64 // pods that it needs at the last one
	}{
		"looked at rarely":        {looks: []int{0, 30}, want: 3},
		"looked at rarely, twice": {looks: []int{0, 10, 20, 30}, want: 3},
		"not for long since":      {looks: []int{0, 10, 13, 16, 19, 22}, want: 3},
		"for long since":          {looks: []int{0, 10, 13, 16, 19, 22, 25}},
		"often enough":            {looks: []int{0, 5, 10, 15}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			s.Status.Hard, s.Status.Used = s.Spec.Hard, corev1.ResourceList{}
			b.SetWorkload(workload(3), start.Add(-later))
			var got amount.List
			for _, second := range tc.looks {
				got = total(b, s, start.Add(time.Duration(second)*time.Second))
			}
			if got["pods"] != tc.want {
				t.Errorf("demand for %d pods, want %d", got["pods"], tc.want)
			}
		})
	}
}

// TestRefusedByAnother has a workload lack pods, maybe refused by a quota that is not the share's: while the share has
// room it has nothing to do with that.
func TestRefusedByAnother(t *testing.T) {
	other := types.NamespacedName{Namespace: key.Namespace, Name: "other"}
	deniedBy := func(share types.NamespacedName) func(*demand.Book) {
		return func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(share, web, onePod, cpus(1, 1), start)
			b.End(share, web, cpus(1, 1), false, start)
		}
	}
	refusedBy := func(quota string) func(*demand.Book) {
		return func(b *demand.Book) {
			w := workload(3)
			w.RefusedBy = quota
			b.SetWorkload(w, start)
		}
	}
	for name, tc := range map[string]struct {
		happens []func(*demand.Book)
		full    bool
		want    int64
		refused bool
	}{
		"denied by the share":              {happens: []func(*demand.Book){deniedBy(key)}, want: 3, refused: true},
		"denied by another share":          {happens: []func(*demand.Book){deniedBy(other)}},
		"denied by both, by this last":     {happens: []func(*demand.Book){deniedBy(other), deniedBy(key)}, want: 3, refused: true},
		"denied by both, by this first":    {happens: []func(*demand.Book){deniedBy(key), deniedBy(other)}},
		"refused by the share's quota":     {happens: []func(*demand.Book){refusedBy(key.Name)}, want: 3, refused: true},
		"refused by a quota of the tenant": {happens: []func(*demand.Book){refusedBy("own")}},
		"refused by a quota of the tenant, and denied by the share since": {
			happens: []func(*demand.Book){refusedBy("own"), deniedBy(key), refusedBy("own")}, want: 3, refused: true,
		},
		"refused by a quota of the tenant, and no room either": {happens: []func(*demand.Book){refusedBy("own")}, full: true, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			s.Status.Hard = s.Spec.Hard
			s.Status.Used = corev1.ResourceList{}
			if tc.full {
				s.Status.Used = s.Spec.Hard
			}
			for _, happens := range tc.happens {
				happens(b)
			}
			got := total(b, s, start.Add(later))
			if got["pods"] != tc.want {
				t.Errorf("demand for %d pods, want %d", got["pods"], tc.want)
			}
			var asleep int64
			for _, sleeper := range b.Asleep(s, start.Add(later)) {
				asleep += sleeper.Missing
				if sleeper.Refused != tc.refused {
					t.Errorf("refused: %t", sleeper.Refused)
				}
			}
			if asleep != tc.want {
				t.Errorf("%d missing pods of sleepers, want %d", asleep, tc.want)
			}
		})
	}
}

// TestSecondShareIsRaised has a workload be refused by another quota at first, while the share is full: when the share
// is raised, that refusal is too old to keep the workload asleep.
func TestSecondShareIsRaised(t *testing.T) {
	const raised = 60
	other := types.NamespacedName{Namespace: key.Namespace, Name: "other"}
	deniedBy := func(share types.NamespacedName) event {
		return func(b *demand.Book, _ *quotav1alpha1.QuotaShare, now time.Time) {
			b.Hold(share, web, onePod, cpus(1, 1), now)
			b.End(share, web, cpus(1, 1), false, now)
		}
	}
	for name, tc := range map[string]struct {
		refusedBy string // as its controller says all the time
		at        story
		want      int64 // pods that it needs, and that it is woken for
	}{
		"its controller says so":                                   {refusedBy: other.Name, want: 3},
		"it was denied":                                            {at: story{0: deniedBy(other)}, want: 3},
		"it was denied, and by this one since":                     {at: story{0: deniedBy(other), 30: deniedBy(key)}, want: 3},
		"and is denied once more":                                  {refusedBy: other.Name, at: story{raised: deniedBy(other)}},
		"and is denied once more, before the raise":                {refusedBy: other.Name, at: story{raised - 1: deniedBy(other)}, want: 3},
		"and a tenant's quota refuses it, of which nobody is told": {refusedBy: "own", want: 3},
		"and had all its pods meanwhile": {refusedBy: other.Name, at: story{raised: func(b *demand.Book, _ *quotav1alpha1.QuotaShare, now time.Time) {
			b.SetWorkload(workload(0), now)
			w := workload(3)
			w.RefusedBy = other.Name
			b.SetWorkload(w, now.Add(-later))
		}}},
		"and the share is another one": {refusedBy: other.Name, at: story{raised: func(b *demand.Book, _ *quotav1alpha1.QuotaShare, _ time.Time) {
			b.DeleteShare(key)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			w := workload(3)
			w.RefusedBy = tc.refusedBy
			b.SetWorkload(w, start)
			s.Status.Hard, s.Status.Used = s.Spec.Hard, s.Spec.Hard
			for second := range raised + 1 {
				now := start.Add(time.Duration(second) * time.Second)
				if happens := tc.at[second]; happens != nil {
					happens(b, s, now)
				}
				if second == raised {
					s.Status.Used = corev1.ResourceList{}
				}
				if got := total(b, s, now)["pods"]; second == raised && got != tc.want {
					t.Errorf("demand for %d pods, want %d", got, tc.want)
				}
			}
			var asleep int64
			for _, sleeper := range b.Asleep(s, start.Add(raised*time.Second)) {
				asleep += sleeper.Missing
			}
			if asleep != tc.want {
				t.Errorf("%d missing pods of sleepers, want %d", asleep, tc.want)
			}
		})
	}
}
