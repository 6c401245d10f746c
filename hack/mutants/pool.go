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
		protection: "pools: one that was created again restores nobody while some are not entered",
		in:         "internal/round.round.ration", old: "	if r.in.Uncounted {",
		new: "	if false {",
		pkg: "internal/pool", test: "TestSchedules/a_pool_reborn",
	},
}
