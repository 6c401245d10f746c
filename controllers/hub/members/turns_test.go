package members

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns takes all turns: another one is there when one of them ends, or has taken too long.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		ends := make([]func(), mostTurns)
		for i := range ends {
			end, err := turns.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = end
		}
		short, cancel := context.WithTimeout(t.Context(), longestTurn/2)
		defer cancel()
		if _, err := turns.Take(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there was a turn more: %v", err)
		}
		ends[0]()
		ends[0]() // it has no other one to end
		if _, err := turns.Take(t.Context()); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		if _, err := turns.Take(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != longestTurn/2 {
			t.Errorf("the turns that took long ended after %s more", took)
		}
	})
}
