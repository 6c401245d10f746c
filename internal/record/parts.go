package record

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/apportion"
	"github.com/fedquota/fedquota/internal/round"
)

// Share says what part of the budget falls to each of those that have some, by the weight, min and max of terms alone.
// Who has no terms has no part.
func (l *Level) Share(terms map[string]*round.Terms) {
	stakes, parts := make([]apportion.Stake, len(l.Clusters)), make([]int64, len(l.Clusters))
	var filler apportion.Filler
	for j, name := range l.Names {
		for i := range l.Clusters {
			stakes[i] = apportion.Stake{}
			if of := terms[l.Clusters[i].Name]; of != nil {
				stakes[i] = stakeOf(of, name, uint64(i))
			}
		}
		filler.Fill(l.Total[j].Budget, stakes, parts)
		for i := range l.Clusters {
			l.Clusters[i].Amounts[j].Budget = parts[i]
		}
	}
}

// stakeOf returns weight, min and max of a name.
func stakeOf(terms *round.Terms, name corev1.ResourceName, rank uint64) apportion.Stake {
	stake := apportion.Stake{Weight: terms.Weight, Lo: terms.Min[name], Hi: math.MaxInt64, Rank: rank}
	if terms.Weights != nil {
		stake.Weight = terms.Weights[name]
	}
	if most, bounded := terms.Max[name]; bounded {
		stake.Hi = most
	}
	return stake
}
