package allocate

import "github.com/fedquota/fedquota/internal/amount"

// Ration cuts raises down to what is free, parallel to Input.Budgets: a member that may not be raised has no part in it. What
// is needed comes first, and among equals each gets its part by weight. The rest follows when donors have settled.
func Ration(in Input, result Result, free []int64, mayRaise func(member, resource int) bool) {
	ranks := in.ranks()
	needed, missing := make([]Bound, len(in.Members)), make([]Bound, len(in.Members))
	for r := range in.Budgets {
		for i := range in.Members {
			c := in.Members[i].Claims[r].normalized()
			lack := max(result.Verdicts[i][r].Target-c.Granted, 0)
			if !mayRaise(i, r) {
				lack = 0
			}
			need := max(amount.Add(c.Used, c.Demand), c.Min) - c.Granted
			needed[i] = Bound{Weight: in.Members[i].Weight, Hi: min(max(need, 0), lack), Rank: ranks[i]}
			missing[i] = Bound{Weight: in.Members[i].Weight, Hi: lack, Rank: ranks[i]}
		}
		for i, part := range Fill(free[r], needed) {
			missing[i].Lo = part
		}
		for i, part := range Fill(free[r], missing) {
			if missing[i].Hi > 0 {
				result.Verdicts[i][r].Target = in.Members[i].Claims[r].Granted + part
			}
		}
	}
}
