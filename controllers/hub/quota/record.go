package quota

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
	"github.com/fedquota/fedquota/internal/record"
	"github.com/fedquota/fedquota/internal/shares"
)

// record has what the round has seen be recorded.
func (r *Reconciler) record(s *scope) {
	if r.Records != nil {
		r.Records.Observe(s.fq, s.level())
	}
}

// level returns what the round has seen of the budget.
func (s *scope) level() *record.Level {
	budget, totals := s.decision.Ledger.Budget(), &s.decision.Totals
	level := &record.Level{Names: budget.Names()}
	for _, name := range level.Names {
		level.Total = append(level.Total, record.Amounts{
			Budget: budget[name], Granted: known(totals.Granted[name], budget[name]),
			Used: totals.Used[name], Demand: totals.Demand[name],
		})
	}
	for _, m := range s.members {
		if m.verdict != nil && m.verdict.State != "" {
			level.Clusters = append(level.Clusters, s.holding(m, level.Names, budget))
		}
	}
	s.share(level)
	return level
}

// holding returns what a member has. What it did not say now counts as it was stored.
func (s *scope) holding(m *member, names []corev1.ResourceName, budget amount.List) record.Holding {
	holding := record.Holding{Name: m.Name, Silent: !m.verdict.Read, Amounts: make([]record.Amounts, len(names))}
	e, _ := s.decision.Ledger.Entry(m.Name)
	used, demand := m.said()
	for j, name := range names {
		holding.Amounts[j] = record.Amounts{
			Granted: known(e.Granted[name], budget[name]), Used: used[name], Demand: demand[name],
		}
	}
	return holding
}

// said returns what a member uses and asks for as far as is known.
func (m *member) said() (used, demand amount.List) {
	switch {
	case m.verdict.Reported:
		return m.Reading.Share.Report.Used, m.Reading.Share.Demand
	case m.Entry != nil:
		return m.Entry.Used, m.Entry.Demand
	}
	return nil, nil
}

// known returns an amount, and all of the budget for what nobody knows.
func known(value, budget int64) int64 {
	if value == math.MaxInt64 {
		return budget
	}
	return value
}

// share says what part of the budget falls to each member by weight, min and max alone. Members that leave have none.
func (s *scope) share(level *record.Level) {
	selected := map[string]*shares.Child{}
	for _, m := range s.members {
		if m.Selected {
			selected[m.Name] = m.Child
		}
	}
	stakes, parts := make([]apportion.Stake, len(level.Clusters)), make([]int64, len(level.Clusters))
	var filler apportion.Filler
	for j, name := range level.Names {
		for i := range level.Clusters {
			stakes[i] = apportion.Stake{}
			if child := selected[level.Clusters[i].Name]; child != nil {
				stakes[i] = stakeOf(child, name, uint64(i))
			}
		}
		filler.Fill(level.Total[j].Budget, stakes, parts)
		for i := range level.Clusters {
			level.Clusters[i].Amounts[j].Budget = parts[i]
		}
	}
}

// stakeOf returns weight, min and max of a member.
func stakeOf(child *shares.Child, name corev1.ResourceName, rank uint64) apportion.Stake {
	terms := &child.Terms
	stake := apportion.Stake{Weight: terms.Weight, Lo: terms.Min[name], Hi: math.MaxInt64, Rank: rank}
	if terms.Weights != nil {
		stake.Weight = terms.Weights[name]
	}
	if most, bounded := terms.Max[name]; bounded {
		stake.Hi = most
	}
	return stake
}
