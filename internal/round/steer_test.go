package round_test

import (
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// TestUncountedRestoresNobody has a child use again what it was told to give back: it may have that, unless somebody may
// hold it of whom the ledger does not know.
func TestUncountedRestoresNobody(t *testing.T) {
	for uncounted, want := range map[bool]int64{false: 5, true: 2} {
		l := ledger.New(amount.List{"pods": 5}, 9, map[string]ledger.Entry{
			"a": {Revision: 1, Granted: amount.List{"pods": 5}, Target: amount.List{"pods": 2}},
		})
		round.Steer(l, &round.Input{
			ID: "uid", Split: round.Split{Options: pace.Options(true), Respites: pace.Respites()}, Uncounted: uncounted,
			Children: []round.Standing{{
				Name: "a", UID: "uid-a", CanRaise: true, Terms: round.Terms{Weight: 1}, Used: amount.List{"pods": 5},
			}},
		})
		if e, _ := l.Entry("a"); e.Target["pods"] != want {
			t.Errorf("with uncounted children %t the limit is %d, want %d", uncounted, e.Target["pods"], want)
		}
	}
}
