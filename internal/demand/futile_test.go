package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// event is something that happens, and story what happens in which second.
type (
	event func(b *demand.Book, s *quotav1alpha1.QuotaShare, now time.Time)
	story map[int]event
)

// TestFutileRoom has a workload of three pods lack them all after a request of it was held, whatever room there is: what room does
// not help asks for none, and is not woken. It is looked at every second for a minute, as the agent does.
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
			w.Refused = true
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
				got, _ = b.Demand(s, now)
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
