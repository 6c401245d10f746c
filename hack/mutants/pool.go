package main

const poolTests = "controllers/hub/pool"

// poolMutants take protections out of pools.
var poolMutants = []mutant{
	{
		protection: "moves: what has moved counts until it is counted where it is",
		in:         "internal/pool.Pool.Moved", old: "	if !counted || len(path)",
		new: "	_ = counted\n	if len(path)",
		pkg: poolTests, test: "TestMoveBelowOnePool",
	},
	{
		protection: "moves: a pool that outgrows its cap by what came is counted anew",
		in:         "controllers/hub/pool.Reconciler.gather", old: "	if s.pool.Outgrows(s.member) {",
		new: "	if false {",
		pkg: poolTests, test: "TestMoveBelowOnePool",
	},
	{
		protection: "moves: what a move leaves behind is free without debt above alone",
		in:         "Pool.releasable", old: "return max(debt, granted-path[meeting].debt(name))",
		new: "return granted",
		pkg: poolTests, test: "TestMoveBelowOnePool",
	},
	{
		protection: "moves: a pool stays in its own while it counts what has moved from it",
		in:         "controllers/hub/pool.Reconciler.parentOf", old: "ledger.Loses(c.Child)",
		new: "false",
		pkg: poolTests, test: "TestMoveBelowOnePool",
	},
	{
		protection: "pools: nothing is taken up of a pool that had the name before",
		in:         "Membership.TakeUp", old: "offer.PoolUID == m.UID && ",
		new: "",
		pkg: "internal/pool", test: "TestTakeUp/of_a_pool_that_had_its_name",
	},
	{
		protection: "pools: nothing is taken up that was offered before the ledger was lost",
		in:         "Membership.Floor", old: "max(m.Revision+ledger.Gap, epoch)",
		new: "m.Revision+ledger.Gap",
		pkg: "internal/pool", test: "TestTakeUp/from_before_its_ledger_was_lost",
	},
	{
		protection: "pools: one that was created again restores nobody while some are not entered",
		in:         "internal/round.round.ration", old: "	if r.in.Uncounted {",
		new: "	if false {",
		pkg: "internal/pool", test: "TestSchedules/a_pool_reborn",
	},
	{
		protection: "pools: one that has rebuilt its ledger waits anew until all that name it are entered",
		in:         "controllers/hub/pool.Reconciler.rebuild", old: "r.memoryOf(s.p.UID).raised = false",
		new: "_ = s.rebuilt",
		pkg: poolTests, test: "TestRebuiltPoolWaits",
	},
	{
		protection: "pools: a tenure is above all of a status that was lost",
		in:         "Membership.next", old: "max(epoch, m.Tenure+1)",
		new: "m.Tenure + 1",
		pkg: "internal/pool", test: "TestTenures",
	},
}
