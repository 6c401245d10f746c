package pool

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

// splitOf returns how the budget of a pool is split. Its children keep no respite: their own members do, and kept at
// each level it would add up to room that nobody can use.
func splitOf(spec *quotav1alpha1.QuotaPoolSpec) round.Split {
	split := round.Split{
		Static: spec.Rebalance.Mode == quotav1alpha1.RebalanceStatic, Options: pace.Options(true),
		Grains: amount.Saturate(spec.Distribution.Granularity, amount.Down),
	}
	if percent := spec.Rebalance.HeadroomPercent; percent != nil {
		split.Options.HeadroomPercent = int64(*percent)
	}
	return split
}

// damping returns the least time between two moves of a child's part for headroom alone.
func damping(spec *quotav1alpha1.QuotaPoolSpec) time.Duration {
	if seconds := spec.Rebalance.DampingSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return pace.DampingOf(true)
}

func shapesOf(stored []quotav1alpha1.DemandShape) []round.Shape {
	shapes := make([]round.Shape, len(stored))
	for i, s := range stored {
		shapes[i] = round.Shape{Amounts: amount.Saturate(s.Amounts, amount.Up), Unit: amount.Saturate(s.Unit, amount.Up)}
	}
	return shapes
}
