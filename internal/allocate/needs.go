package allocate

import "github.com/fedquota/fedquota/internal/amount"

// Needs returns what the children need together of each resource, were the budgets to hold it: what pinned ones hold,
// and of the others all that Auto gives before headroom. Of requests that are expected, those count that the budgets
// hold as they are.
func Needs(in Input) []int64 {
	needs, a := make([]int64, len(in.Budgets)), newAuto(&in, Options{})
	for r := range needs {
		for i := range in.Children {
			held := in.Children[i].Claims[r].normalized()
			need := held.held()
			if c := &a.plans[r].claims[i]; !in.Children[i].Pinned {
				need = max(c.Used, min(c.Max, fullNeed(c, min(c.Demand, c.room()))))
			}
			needs[r] = amount.Add(needs[r], need)
		}
	}
	return needs
}
