package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMakeRoom(t *testing.T) {
	tests := map[string]struct {
		budget  int64
		members []Member
		want    []int64
	}{
		"a lender that lacks its min gets it out of what another uses": {
			budget: 30,
			members: []Member{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Lendable: 10, Max: Unlimited, Used: 0, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{22, 5},
		},
		"without a min nobody's usage is taken": {
			budget: 30,
			members: []Member{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Demand: 10, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 0, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{25, 5},
		},
		"a min that is served takes nothing": {
			budget: 30,
			members: []Member{
				{ID: "east", Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 20, Demand: 10, Granted: 20, Target: 20}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Max: Unlimited, Used: 4, Demand: 20, Granted: 10, Target: 10}}},
			},
			want: []int64{20, 10},
		},
		"a pinned member keeps what it holds": {
			budget: 30,
			members: []Member{
				{ID: "east", Pinned: true, Weight: 1, Claims: []Claim{{Max: Unlimited, Used: 25, Granted: 25, Target: 25}}},
				{ID: "west", Weight: 1, Claims: []Claim{{Min: 10, Max: Unlimited, Demand: 8, Granted: 5, Target: 5}}},
			},
			want: []int64{25, 5},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{Quota: "q", Budgets: []int64{tc.budget}, Members: tc.members}
			result := Auto(in, Options{})
			MakeRoom(in, result)
			var got []int64
			for _, verdicts := range result.Verdicts {
				got = append(got, verdicts[0].Target)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}
