package quota

import (
	"testing"
	"time"
)

// TestSettle measures from the first decision, whatever is decided before that has settled; a hub manager that has just
// started has seen none.
func TestSettle(t *testing.T) {
	h, now := &history{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if took, ok := h.settle(now, false, true); ok {
		t.Errorf("took %s, though nothing was decided", took)
	}
	h.settle(now, true, false)
	h.settle(now.Add(time.Second), true, false)
	if took, ok := h.settle(now.Add(3*time.Second), false, true); !ok || took != 3*time.Second {
		t.Errorf("took %s, %t, want 3 s", took, ok)
	}
	if took, ok := h.settle(now.Add(4*time.Second), false, true); ok {
		t.Errorf("took %s once more", took)
	}
}
