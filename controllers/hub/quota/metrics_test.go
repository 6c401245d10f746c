package quota

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
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

// TestMoves counts what goes up and down, by why, and not what stays.
func TestMoves(t *testing.T) {
	counted := func(direction string, reason allocate.Reason) float64 {
		var m dto.Metric
		if err := limitMoves.WithLabelValues(direction, string(reason)).Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	up, down := counted("Up", allocate.Demand), counted("Down", allocate.Surplus)
	countMoves(
		amount.List{"pods": 5, "requests.cpu": 3, "services": 1}, amount.List{"pods": 3, "requests.cpu": 4, "services": 1, "secrets": 2},
		map[corev1.ResourceName]allocate.Reason{
			"pods": allocate.Surplus, "requests.cpu": allocate.Demand, "services": allocate.Demand, "secrets": allocate.Demand,
		},
	)
	if up, down = counted("Up", allocate.Demand)-up, counted("Down", allocate.Surplus)-down; up != 2 || down != 1 {
		t.Errorf("%v raised, %v lowered, want 2 and 1", up, down)
	}
}
