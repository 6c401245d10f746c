package hub

import (
	"math"
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

func TestWants(t *testing.T) {
	tests := map[string]struct {
		used, demand, limit int64
		want                bool
	}{
		"nothing":             {used: 5, limit: 5},
		"what it has":         {used: 3, demand: 2, limit: 5},
		"more":                {used: 3, demand: 3, limit: 5, want: true},
		"more than there is":  {used: 3, demand: math.MaxInt64, limit: 5, want: true},
		"all, and has no end": {used: 3, demand: math.MaxInt64, limit: math.MaxInt64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := &member{
				demand: amount.List{"pods": tc.demand},
				report: ledger.Report{Used: amount.List{"pods": tc.used}, Hard: amount.List{"pods": tc.limit}},
			}
			if got := m.wants(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
