package pool

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/record"
	"github.com/fedquota/fedquota/internal/round"
)

// record has what the round has reported be recorded.
func (r *Reconciler) record(s *scope) {
	if r.Records != nil {
		r.Records.ObservePool(s.p, s.level())
	}
}

// forget ends the record of a pool that is gone.
func (r *Reconciler) forget(name string) { r.Records.Forget(client.ObjectKey{Name: name}) }

// level returns what the status says of the pool.
func (s *scope) level() *record.Level {
	status, budget := &s.p.Status, s.pool.Ledger.Budget()
	granted, used := amount.Saturate(status.Granted, amount.Up), amount.Saturate(status.Used, amount.Up)
	demand := amount.Saturate(status.Demand, amount.Up)
	level := &record.Level{Names: budget.Names()}
	for _, name := range level.Names {
		level.Total = append(level.Total, record.AmountsOf(budget[name], granted[name], used[name], demand[name]))
	}
	parts := map[string]*round.Terms{}
	for i := range status.Children {
		c := &status.Children[i]
		key := string(c.Key)
		if child := s.children[key]; child != nil && s.pool.Knows(child.Child) && (!child.leaving || !child.names) {
			parts[key] = new(terms(s.p, child)) // who leaves has no part
		}
		e, _ := s.pool.Entry(key)
		used, demand := amount.Saturate(c.Used, amount.Up), amount.Saturate(c.Demand, amount.Up)
		holding := record.Holding{Name: key}
		for _, name := range level.Names {
			a := record.AmountsOf(budget[name], e.Granted[name], used[name], demand[name])
			holding.Amounts = append(holding.Amounts, a)
		}
		level.Clusters = append(level.Clusters, holding)
	}
	level.Share(parts)
	return level
}
