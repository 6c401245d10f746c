package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestExpected learns from requests of single pods, each under a new name, when the next one is expected.
func TestExpected(t *testing.T) {
	one, two, share := cpus(1, 1), cpus(2, 1), share()
	for name, tc := range map[string]struct {
		// refused and then admitted are when requests come, after the start.
		refused, admitted []time.Duration
		unit              amount.List
		owner             demand.Owner
		at                time.Duration
		want              amount.List
	}{
		"refused twice":                  {refused: seconds(0, 30), at: 31 * time.Second},
		"refused again and again":        {refused: seconds(0, 30, 60), at: 104 * time.Second, want: one},
		"overdue":                        {refused: seconds(0, 30, 60), at: 105 * time.Second},
		"seldom":                         {refused: seconds(0, 120, 240), at: 419 * time.Second, want: one},
		"so seldom that nobody waits":    {refused: seconds(0, 301, 602), at: 603 * time.Second},
		"often":                          {refused: seconds(0, 2, 4), at: 8 * time.Second, want: one},
		"with pauses that differ":        {refused: seconds(0, 60, 70, 80), at: 169 * time.Second, want: one},
		"all together":                   {refused: seconds(0, 0, 0, 0, 0), at: time.Second},
		"goes on when some fit":          {refused: seconds(0, 30, 60), admitted: seconds(90, 120), at: 150 * time.Second, want: one},
		"as many fit as were waited for": {refused: seconds(0, 30, 60), admitted: seconds(90, 120, 150, 180, 210, 240), at: 250 * time.Second},
		"is not followed as its workload is known": {refused: seconds(0, 30, 60), owner: web, at: 61 * time.Second},
		"large ones": {refused: seconds(0, 30, 60), unit: two, at: 61 * time.Second, want: two},
	} {
		t.Run(name, func(t *testing.T) {
			b := demand.NewBook()
			b.SetWorkload(workload(1), start)
			unit := one
			if tc.unit != nil {
				unit = tc.unit
			}
			owner := func(i int) demand.Owner {
				if tc.owner != (demand.Owner{}) {
					return tc.owner
				}
				return demand.Owner{Kind: "Pod", Name: fmt.Sprint(i)}
			}
			for i, after := range tc.refused {
				b.Hold(key, owner(i), onePod, unit, start.Add(after))
				b.End(key, owner(i), unit, false, start.Add(after))
			}
			for i, after := range tc.admitted {
				b.Admitted(key, owner(100+i), unit, start.Add(after))
			}
			if diff := cmp.Diff(tc.want, b.Expected(share, start.Add(tc.at))); diff != "" {
				t.Errorf("expected (-want +got):\n%s", diff)
			}
			if got := b.Expected(share, start.Add(tc.at+pace.MostMemory)); got != nil {
				t.Errorf("after the longest time: %v", got)
			}
		})
	}
}

func seconds(all ...int) (times []time.Duration) {
	for _, n := range all {
		times = append(times, time.Duration(n)*time.Second)
	}
	return times
}
