package hub

import (
	"math"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

func TestWants(t *testing.T) {
	tests := map[string]struct {
		used, demand, limit int64
		leaves, away        bool
		want                bool
	}{
		"nothing":             {used: 5, limit: 5},
		"what it has":         {used: 3, demand: 2, limit: 5},
		"more":                {used: 3, demand: 3, limit: 5, want: true},
		"more, and it leaves": {used: 3, demand: 3, limit: 5, leaves: true},
		"more, long ago":      {used: 3, demand: 3, limit: 5, away: true},
		"more than there is":  {used: 3, demand: math.MaxInt64, limit: 5, want: true},
		"all, and has no end": {used: 3, demand: math.MaxInt64, limit: math.MaxInt64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &member{
				selected: !tc.leaves,
				demand:   amount.List{"pods": tc.demand},
				report:   ledger.Report{Used: amount.List{"pods": tc.used}, Hard: amount.List{"pods": tc.limit}},
			}
			if tc.away {
				m.unreachable = "away"
			}
			if got := m.wants(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestAdmissionOf has no request be held in a cluster that leaves: it gets nothing any more.
func TestAdmissionOf(t *testing.T) {
	s := &scope{fq: quotaOf(`{hard: {pods: "10"}, placement: {clusterSelector: {}}, admission: {poke: Disabled}}`)}
	if got, want := s.admissionOf(&member{selected: true}), (quotav1alpha1.Admission{Poke: "Disabled"}); got != want {
		t.Errorf("selected: %+v", got)
	}
	if got, want := s.admissionOf(&member{}), (quotav1alpha1.Admission{Mode: "Off", Poke: "Disabled"}); got != want {
		t.Errorf("leaving: %+v", got)
	}
}
