package main

const ledgerTests = "internal/ledger"

// ledgerMutants take protections out of the steps of the ledger.
var ledgerMutants = []mutant{
	{
		protection: "raise: no more than what is free",
		in:         "Ledger.Raise", old: "	x = min(x, l.Free(name))\n",
		new: "	x = max(x, 0)\n",
		pkg: ledgerTests, test: "TestSteps/raise:_no_more_than_what_is_free",
	},
	{
		protection: "raise: nobody while there is debt",
		in:         "Ledger.Free", old: "return max(0, l.budget[name]-l.Granted(name))",
		new: "return max(10, l.budget[name]-l.Granted(name))",
		pkg: ledgerTests, test: "TestSteps/raise:_not_while_there_is_debt",
	},
	{
		protection: "free: what was granted counts, not what was decided",
		in:         "Ledger.Granted", old: "amount.Add(l.sums[name], e.Granted[name])",
		new: "amount.Add(l.sums[name], e.Target[name])",
		pkg: ledgerTests, test: "TestSteer/what_a_donor_gives_is_not_free_before_it_confirmed",
	},
	{
		protection: "restore: not above what is granted",
		in:         "Ledger.Restore", old: " && target <= e.Granted[name] &&",
		new: " &&",
		pkg: ledgerTests, test: "TestSteps/restore:_not_above_what_is_granted,_nor_down",
	},
	{
		protection: "restore: nothing while there is debt",
		in:         "Ledger.Restore", old: " && l.Debt(name) == 0",
		new: "",
		pkg: ledgerTests, test: "TestSteps/restore:_not_while_there_is_debt",
	},
	{
		protection: "lower: what is granted stays until it is confirmed",
		in:         "Ledger.retarget", old: "	e.Target[name] = target\n	l.next",
		new: "	e.Target[name], e.Granted[name] = target, target\n	l.next",
		pkg: ledgerTests, test: "TestSteps/lower:_granted_stays",
	},
	{
		protection: "every step takes a new revision",
		in:         "Ledger.next", old: "	l.revision++\n",
		new: "",
		pkg: ledgerTests, test: "TestSteps/lower:_granted_stays",
	},
	{
		protection: "hear: only by a report of the entry's own revision",
		in:         "Entry.confirmedBy", old: "report.Revision == e.Revision",
		new: "report.Revision <= e.Revision",
		pkg: ledgerTests, test: "TestSteps/hear:_an_older_report_releases_nothing",
	},
	{
		protection: "hear: what is used above the limit stays granted",
		in:         "Report.inUse", old: "return max(hard, used), limited && counted",
		new: "return max(hard, min(used, 0)), limited && counted",
		pkg: ledgerTests, test: "TestSteps/hear:_usage_found_above_limit_and_grant_is_charged",
	},
	{
		protection: "hear: nothing is released of a name whose usage is not known",
		in:         "Report.inUse", old: "return max(hard, used), limited && counted",
		new: "return max(hard, used), limited || counted",
		pkg: ledgerTests, test: "TestSteps/hear:_a_name_whose_usage_is_not_known_releases_nothing",
	},
	{
		protection: "hear: a name that is not counted releases nothing of what is known to be granted",
		in:         "Entry.barredBy", old: " && e.Granted[name] == Unknown && limited",
		new: " && limited",
		pkg: ledgerTests, test: "TestSteps/hear:_a_name_whose_usage_is_not_known_releases_nothing",
	},
	{
		protection: "hear: a limit under which nothing is counted does as far as it is in force, and no more than the target",
		in:         "Entry.barredBy",
		old:        " && limited && hard <= e.Target[name]\n",
		new:        " && (limited || hard <= e.Target[name])\n",
		pkg:        ledgerTests,
		test:       "TestSteps/hear:_not_a_limit_above_the_target,_nor_an_older_one,_nor_that_of_a_name_that_is_not_in_force",
	},
	{
		protection: "hear: what an older report shows above the grant is charged",
		in:         "Ledger.Hear", old: "e.Granted[name] = max(held, e.Granted[name])",
		new: "continue",
		pkg: ledgerTests, test: "TestSteps/hear:_an_older_report_charges_what_it_shows_above_the_grant",
	},
	{
		protection: "hear: not below the target, to which the share entitles the cluster",
		in:         "Ledger.Hear", old: "e.Granted[name] = max(held, e.Target[name])",
		new: "e.Granted[name] = held",
		pkg: ledgerTests, test: "TestSteps/hear:_a_limit_below_the_target_may_rise_to_it",
	},
	{
		protection: "join: who may hold a share counts with anything until it was read",
		in:         "Ledger.Join", old: "	if mayHoldShare && e.Revision == 0 {\n",
		new: "	if false {\n",
		pkg: ledgerTests, test: "TestSteps/join:_a_child_that_may_hold_a_share_may_hold_anything",
	},
	{
		protection: "adopt: a share that was found may be enforcing anything until it confirms",
		in:         "Ledger.Adopt", old: "		e.Granted = unknown(amount.Max(l.budget, e.Granted))\n",
		new: "		e.Granted = amount.Max(share.Hard.Only(l.budget), e.Granted)\n",
		pkg: ledgerTests, test: "TestSteps/adopt:_a_share_that_is_in_force_keeps_its_limit,_far_above_all_that_was_seen",
	},
	{
		protection: "adopt: above every revision that was seen",
		in:         "Ledger.Adopt", old: "		l.Continue(share.highest())\n",
		new: "",
		pkg: ledgerTests, test: "TestSteps/adopt:_an_old_share_in_the_place_of_a_newer_one_that_is_in_force",
	},
	{
		protection: "adopt: a share that is not in force may be an old one, and what it says is not granted again",
		in:         "Ledger.Adopt", old: "share != nil && share.InForce == share.Revision",
		new: "share != nil",
		pkg: ledgerTests, test: "TestSteps/adopt:_an_old_share_in_the_place_of_a_newer_one_that_is_in_force",
	},
	{
		protection: "adopt: a share that was found may have given a name that has left the budget, too",
		in:         "Ledger.Adopt", old: "		e.Granted = unknown(amount.Max(l.budget, e.Granted))\n",
		new: "		e.Granted = amount.Max(unknown(l.budget), e.Granted)\n",
		pkg: ledgerTests, test: "TestSteps/adopt:_a_share_may_have_given_a_name_that_has_left_the_budget",
	},
	{
		protection: "rebuild: a cluster may hold a name that has left the budget, too",
		in:         "Ledger.Rebuild", old: "unknown(amount.Max(l.budget, e.Granted)), Target",
		new: "amount.Max(unknown(l.budget), e.Granted), Target",
		pkg: ledgerTests, test: "TestSteps/rebuild:_nothing_is_known_of_a_name_that_has_left_the_budget",
	},
	{
		protection: "rollback: a higher revision in a member is noticed",
		in:         "Ledger.RolledBack", old: "seen.highest() > e.Revision || ",
		new: "",
		pkg: ledgerTests, test: "TestRolledBack/a_newer_share",
	},
	{
		protection: "rollback: another limit at the same revision is noticed",
		in:         "Ledger.RolledBack", old: "seen.Revision == e.Revision && !seen.Hard.Equal(e.Target)",
		new: "false",
		pkg: ledgerTests, test: "TestRolledBack/the_same_revision_of_another_ledger",
	},
	{
		protection: "rollback: every cluster counts as unread",
		in:         "Ledger.Rebuild", old: "Entry{Granted: unknown(amount.Max(l.budget, e.Granted)),",
		new: "Entry{Granted: e.Granted,",
		pkg: ledgerTests, test: "TestSteps/rebuild:_nobody_is_known_any_more",
	},
	{
		protection: "rollback: the counter jumps above what may still be on its way",
		in:         "Ledger.Continue", old: "max(above+Gap, l.epoch)",
		new: "above",
		pkg: ledgerTests, test: "TestSteps/rebuild:_nobody_is_known_any_more",
	},
	{
		protection: "a resource name that leaves the budget stays granted until the cluster has dropped it",
		in:         "internal/ledger.New", old: "amount.Max(zero(budget), e.Granted)",
		new: "amount.Max(zero(budget), e.Granted.Only(budget))",
		pkg: ledgerTests, test: "TestNewWithOtherNames/a_name_that_left_stays_granted",
	},
	{
		protection: "the share carries the target, not what is granted",
		in:         "Ledger.Share", old: "return e.Revision, e.Target.ToList(like)",
		new: "return e.Revision, e.Granted.ToList(like)",
		pkg: hubTests, test: "TestDonorFirst",
	},
	{
		protection: "hear: a name in force that only a lost ledger has given counts",
		in:         "Ledger.Hear", old: "	e.charge(report)\n",
		new: "",
		pkg: ledgerTests, test: "TestSteps/hear:_a_name_that_a_lost_ledger_has_given_counts_until_it_is_dropped",
	},
	{
		protection: "a cluster leaves after it has said what it uses under every name of the budget",
		in:         "Ledger.Returned", old: "		if _, limited := report.Hard[name]; !limited {\n",
		new: "		if name == \"\" {\n",
		pkg: ledgerTests, test: "TestReturned/a_name_that_is_not_limited_yet",
	},
}
