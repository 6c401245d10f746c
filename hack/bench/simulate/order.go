package simulate

import (
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// order makes the targets of a round out of its verdicts. When what is free does not reach for all raises, those for need
// come first, and among equals it is shared by weight.
func order(in allocate.Input, verdicts [][]allocate.Verdict, free int64) []ledger.Target {
	urgent := make([]allocate.Bound, len(in.Members))
	missing := make([]allocate.Bound, len(in.Members))
	for i := range in.Members {
		c, target := &in.Members[i].Claims[0], verdicts[i][0].Target
		weight, rank := in.Members[i].Weight, uint64(i)
		lack := max(target-c.Granted, 0)
		need := min(max(max(c.Used+c.Demand, c.Min)-c.Granted, 0), lack)
		urgent[i] = allocate.Bound{Weight: weight, Hi: need, Rank: rank}
		missing[i] = allocate.Bound{Weight: weight, Hi: lack, Rank: rank}
	}
	for i, part := range allocate.Fill(free, urgent) {
		missing[i].Lo = part
	}
	targets := make([]ledger.Target, len(in.Members))
	for i, part := range allocate.Fill(free, missing) {
		target := min(verdicts[i][0].Target, in.Members[i].Claims[0].Granted+part)
		targets[i] = ledger.Target{Cluster: in.Members[i].ID, Amounts: amount.List{resource: target}}
	}
	return targets
}
