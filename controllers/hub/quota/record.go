package quota

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/record"
	"github.com/fedquota/fedquota/internal/round"
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
		level.Total = append(level.Total, record.AmountsOf(
			budget[name], totals.Granted[name], totals.Used[name], totals.Demand[name],
		))
	}
	for _, m := range s.members {
		if m.verdict != nil && m.verdict.State != "" {
			level.Clusters = append(level.Clusters, s.holding(m, level.Names, budget))
		}
	}
	terms := map[string]*round.Terms{} // who leaves has no part
	for _, m := range s.members {
		if m.Selected {
			terms[m.Name] = &m.Terms
		}
	}
	level.Share(terms)
	return level
}

// holding returns what a member has. What it did not say now counts as it was stored.
func (s *scope) holding(m *member, names []corev1.ResourceName, budget amount.List) record.Holding {
	holding := record.Holding{Name: m.Name, Silent: !m.verdict.Read, Amounts: make([]record.Amounts, len(names))}
	e, _ := s.decision.Ledger.Entry(m.Name)
	used, demand := m.said()
	for j, name := range names {
		holding.Amounts[j] = record.AmountsOf(budget[name], e.Granted[name], used[name], demand[name])
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
