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
		protection: "moves: what a full pool counts beside its ledger lets go of nothing",
		in:         "Pool.releasable", old: "sum-tree.besideBelow(n, name)", new: "sum",
		pkg: "internal/pool", test: "TestMovedAndCountedBeside/in_a_pool_beside",
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
		protection: "pools: nothing is taken up that a pool has by what the backup said",
		in:         "Membership.Floor", old: "m.Tenure, m.Revision, m.Cap = m.next(epoch), ",
		new: "m.Revision, m.Cap = ",
		pkg: "internal/pool", test: "TestTakeUp/what_the_backup_said",
	},
	{
		protection: "pools: one that was created again restores nobody while some are not entered",
		in:         "internal/round.round.ration", old: "	if r.in.Uncounted {",
		new: "	if false {",
		pkg: "internal/round", test: "TestUncountedRestoresNobody",
	},
	{
		protection: "pools: one that has rebuilt its ledger waits anew until all that name it are entered",
		in:         "controllers/hub/pool.Reconciler.rebuild", old: "r.memoryOf(s.p.UID).heard = false",
		new: "_ = s.rebuilt",
		pkg: poolTests, test: "TestRebuiltPoolWaits",
	},
	{
		protection: "pools: one that has rebuilt its ledger takes nothing up until all that name it are entered",
		in:         "internal/pool.Membership.Floored", old: "m.Frozen() && m.Revision > 0",
		new: "false",
		pkg: poolTests, test: "TestRebuiltPoolTakesUpNothing",
	},
	{
		protection: "pools: a tenure is above all of a status that was lost",
		in:         "Membership.next", old: "max(epoch, m.Tenure+1)",
		new: "m.Tenure + 1",
		pkg: "internal/pool", test: "TestTenures",
	},
	{
		protection: "pools: a restore that is known has each pool rebuild its ledger",
		in:         "controllers/hub/pool.Reconciler.rebuild", old: "s.restored || s.pool.Lost(pure)",
		new: "s.pool.Lost(pure)",
		pkg: poolTests, test: "TestRestoreIsOfEachPool",
	},
	{
		protection: "pools: a ledger that was rebuilt tells the next hub manager that the store was put back",
		in:         "Trees.Hear", old: "max(t.last, restored)",
		new: "t.last",
		pkg: poolTests, test: "TestRestoreOutlivesTheHubManager",
	},
	{
		protection: "pools: no entry ends by what a cache shows",
		in:         "controllers/hub/pool.Reconciler.dismiss", old: "		if e, _ :=",
		new: "		if c != nil && s.pool.Left(c.Child) {\n			continue\n		}\n		if e, _ :=",
		pkg: poolTests, test: "TestEntryOfWhoNeverLeft",
	},
	{
		protection: "pools: one that is gone counts while others stand in it",
		in:         "controllers/hub/pool.Reconciler.keepTorn", old: "len(inhabitants) > 0",
		new: "false",
		pkg: poolTests, test: "TestPoolThatWasTornAway",
	},
	{
		protection: "pools: what those have counts for whom there is no room",
		in:         "internal/pool.Pool.CountBeside", old: "p.Ledger.CountBeside(p.granted(c))",
		new: "_ = p.granted(c)",
		pkg: poolTests, test: "TestCrowdIsServed",
	},
	{
		protection: "pools: who finds no room may hold anything once the ledger was rebuilt",
		in:         "internal/pool.Pool.Unsure", old: "c.unsure() || c.Outlives(p.Ledger.Revision())",
		new: "c.unsure()",
		pkg: "internal/pool", test: "TestUnsure/the_pool's_was_rebuilt_since",
	},
	{
		protection: "pools: a ledger that is rebuilt has no more entries than there is room for",
		in:         "internal/pool.Pool.Rebuild", old: "(present || !p.Full())",
		new: "(present || true)",
		pkg: poolTests, test: "TestCrowdIsRestored",
	},
	{
		protection: "pools: those that are in one are raised though others find no room",
		in:         "internal/pool.Pool.Counts", old: "counted && p.holds(c) && s == stand{c.UID, c.Tenure}",
		new: "false && counted && s == stand{}",
		pkg: poolTests, test: "TestCrowdIsServed",
	},
	{
		protection: "pools: no budget decides before its pools are heard",
		in:         "controllers/hub/quota.poolsBelow", old: "!ended(p) &&",
		new: "false &&",
		pkg: "controllers/hub/quota", test: "TestBudgetsWaitForTheirPools",
	},
}
