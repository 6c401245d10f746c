package main

const (
	roundFile     = "controllers/hub/quota_controller.go"
	decideFile    = "controllers/hub/decide.go"
	deliverFile   = "controllers/hub/deliver.go"
	hubShareFile  = "controllers/hub/share.go"
	observeFile   = "controllers/hub/observe.go"
	scopeFile     = "controllers/hub/scope.go"
	statusFile    = "controllers/hub/status.go"
	removalFile   = "controllers/hub/removal.go"
	heartbeatFile = "controllers/hub/heartbeat.go"
	hubTests      = "controllers/hub"
)

// hubMutants take protections out of the hub manager.
var hubMutants = []mutant{
	{
		protection: "the ledger is stored before any share is written",
		file:       roundFile, old: "	if err := r.store(ctx, s); err != nil {\n",
		new: "	if _, err := r.deliver(ctx, s); err != nil {\n		return ctrl.Result{}, err\n	}\n	if err := r.store(ctx, s); err != nil {\n",
		pkg: hubTests, test: "TestLedgerIsStoredBeforeShares",
	},
	{
		protection: "no share is written if the ledger could not be stored",
		file:       statusFile, old: "	if err := r.Status().Update(ctx, s.fq); err != nil {\n		return err\n	}\n", new: "	_ = r.Status().Update(ctx, s.fq)\n",
		pkg: hubTests, test: "TestLedgerIsStoredBeforeShares",
	},
	{
		protection: "the ledger is stored by a compare-and-swap",
		file:       statusFile, old: "	if err := r.Status().Update(ctx, s.fq); err != nil {\n", new: "	s.fq.ResourceVersion = \"\"\n	if err := r.Status().Update(ctx, s.fq); err != nil {\n",
		pkg: hubTests, test: "TestStaleLeader",
	},
	{
		protection: "the ledger that a round is decided on is read live",
		file:       roundFile, old: "r.Live.Get(ctx, req.NamespacedName, fq)", new: "r.Get(ctx, req.NamespacedName, fq)",
		pkg: hubTests, test: "TestRoundsReadLive",
	},
	{
		protection: "what an entry is founded on, or ended by, is read live",
		file:       observeFile, old: "		return r.Members.GetUncachedClient(ctx, key)\n", new: "		return r.Members.GetReader(ctx, key)\n",
		pkg: hubTests, test: "TestGoneIsReadLive",
	},
	{
		protection: "an entry ends by a missing namespace that is seen, not remembered",
		file:       observeFile, old: "	return r.confirmMissing(parent, s, m)\n", new: "	return nil\n",
		pkg: hubTests, test: "TestNamespaceMissingBefore",
	},
	{
		protection: "a share that was written for another Cluster is left to that one",
		file:       observeFile, old: "	m.twin = s.twinOf(m, share)\n", new: "",
		pkg: hubTests, test: "TestTwoClustersOfOneServer",
	},
	{
		protection: "what was decided for a share that is gone is not written to another one",
		file:       hubShareFile, old: `map[string]any{"uid": m.share.UID, "annotations": annotations}`, new: `map[string]any{"annotations": annotations}`,
		pkg: hubTests, test: "TestLateUpdateOfAShareThatIsGone",
	},
	{
		protection: "nothing is written to a cluster that got the name within the round",
		file:       deliverFile, old: "	if now.UID != m.cluster.UID {\n", new: "	if false {\n",
		pkg: hubTests, test: "TestClusterIsReplacedWithinARound",
	},
	{
		protection: "a share of other scopes is not written",
		file:       deliverFile, old: `	case s.left(m), m.misfit != "", `, new: `	case s.left(m), `,
		pkg: hubTests, test: "TestShareOfOtherScopesIsLeftAlone",
	},
	{
		protection: "the Cluster is marked before its share is written",
		file:       deliverFile, old: "	if err := r.mark(ctx, s, m); err != nil {\n		return r.judge(ctx, s, m, err)\n	}\n", new: "	_ = r.mark(ctx, s, m)\n",
		pkg: hubTests, test: "TestMarkerComesBeforeTheShare",
	},
	{
		protection: "a Cluster with a marker may hold anything to a ledger that has read nobody, although its share cannot be read",
		file:       decideFile, old: "	case s.unread && markerOf(m.cluster) > 0, s.rebuilt:\n", new: "	case s.rebuilt:\n",
		pkg: hubTests, test: "TestWipedStatusOfAnUnreachableMember",
	},
	{
		protection: "nobody is raised while a cluster is about to say for the first time what it uses",
		file:       decideFile, old: "s.awaited[name] == 0 && ", new: "",
		pkg: hubTests, test: "TestUsageReportedLate",
	},
	{
		protection: "nobody is raised of a name that came into the budget while a cluster is about to say what it uses of it",
		file:       decideFile, old: "return known && m.report.Revision > 0\n", new: "return m.report.Revision > 0 || known\n",
		pkg: hubTests, test: "TestNewNameReportedLate/it_is_waited_for",
	},
	{
		protection: "a ledger that is lost after it was stored is not taken for a new one",
		file:       roundFile, old: "		r.memoryOf(fq.UID).newborn = false // a", new: "		// a",
		pkg: hubTests, test: "TestWipedStatusOfAMemberThatLeaves",
	},
	{
		protection: "a ledger that was lost while nobody could act upon it is still that when somebody can",
		file:       decideFile, old: "return !s.lost || !s.early()", new: "return true",
		pkg: hubTests, test: "TestLostLedgerThatNobodyCanActUpon",
	},
	{
		protection: "a cluster that only another budget knows gets no share when a ledger was lost",
		file:       decideFile, old: "return m.suspected && !m.selected && m.live && m.read() && m.empty()", new: "return false",
		pkg: hubTests, test: "TestSuspectedClusterHasNoShare",
	},
	{
		protection: "a limit in force whose share is gone counts, as if the share were there",
		file:       decideFile, old: "return m.share == nil && m.bereft == nil", new: "return m.share == nil",
		pkg: hubTests, test: "TestLostLedgerAndShareOfAClusterThatLeaves",
	},
	{
		protection: "a ledger counts on above the revision of a limit whose share is gone",
		file:       observeFile, old: "return &ledger.Share{InForce: revision}, nil", new: "return &ledger.Share{}, nil",
		pkg: hubTests, test: "TestBereft/managed",
	},
	{
		protection: "a limit whose share is gone and that counts something else is none of this budget",
		file:       observeFile, old: "!sameScope(counts, &fq.Spec)", new: "counts == nil",
		pkg: hubTests, test: "TestBereft/of_other_scopes",
	},
	{
		protection: "a cluster that was selected by mistake while it was away gets no share",
		file:       decideFile, old: "		s.suspect(m)\n	default:", new: "		s.enter(m, true)\n	default:",
		pkg: hubTests, test: "TestNeverToldAndDeselected/the_name_is_corrected",
	},
	{
		protection: "nobody leaves over a spec that cannot be acted on",
		file:       decideFile, old: " || m.share == nil || s.halted() {", new: " || m.share == nil {",
		pkg: hubTests, test: "TestNobodyLeavesOverAnInvalidSpec/a_name_that_is_never_counted",
	},
	{
		protection: "a selector that cannot be read deselects nobody",
		file:       observeFile, old: "if _, err := metav1.LabelSelectorAsSelector(placement.ClusterSelector); err != nil {", new: "if false {",
		pkg: hubTests, test: "TestInvalidSpecKeepsTheLedger/a_selector_that_cannot_be_read",
	},
	{
		protection: "a cluster that joins a ledger which was just found to be of the past may hold anything",
		file:       decideFile, old: "markerOf(m.cluster) > 0, s.rebuilt:\n", new: "markerOf(m.cluster) > 0:\n",
		pkg: hubTests, test: "TestRollbackBesideAStranger",
	},
	{
		protection: "a marker is written anew before a ledger is a gap ahead of it",
		file:       hubShareFile, old: "marker > 0 && revision-marker < ledger.Gap", new: "marker > 0",
		pkg: hubTests, test: "TestLostLedgerOfAQuotaThatIsCreatedAgain",
	},
	{
		protection: "a ledger that was lost counts on above the markers",
		file:       decideFile, old: "		s.ledger.Continue(s.marker)\n", new: "",
		pkg: hubTests, test: "TestLostLedgerAndShare",
	},
	{
		protection: "no ledger goes on from a revision that no ledger gave",
		file:       decideFile, old: "case m.forged:", new: "case false:",
		pkg: hubTests, test: "TestForgedRevision",
	},
	{
		protection: "nobody is raised while a cluster that may hold a share has no entry",
		file:       decideFile, old: "!s.uncounted && ", new: "",
		pkg: hubTests, test: "TestFullLedger/of_a_cluster_that_may_hold_a_share",
	},
	{
		protection: "a ledger that was rolled back is noticed by what members were told",
		file:       decideFile, old: "		s.ledger.Rebuild(highest)\n", new: "",
		pkg: hubTests, test: "TestRolledBackLedger",
	},
	{
		protection: "a member that cannot be read keeps what it was granted",
		file:       decideFile, old: "	if !m.read() {\n		return\n	}\n	if e, ok", new: "	if !m.read() {\n		s.ledger.Vacate(m.name)\n		return\n	}\n	if e, ok",
		pkg: hubTests, test: "TestUnreachable",
	},
	{
		protection: "a cluster that leaves keeps its entry until its share is gone",
		file:       decideFile, old: "!m.selected && m.empty() && s.before", new: "!m.selected && s.before",
		pkg: hubTests, test: "TestGoneIsReadLive",
	},
	{
		protection: "a share that is not there is not one that is gone: its limit may be in force",
		file:       decideFile, old: "return s.left(m) || m.lacksNamespace()", new: "return true",
		pkg: hubTests, test: "TestLostShareOfAClusterThatLeaves",
	},
	{
		protection: "nor is it while the FederatedQuota is deleted, unless it was told what shall become of the ResourceQuota",
		file:       decideFile, old: "return s.left(m) || ", new: "return s.removing() || ",
		pkg: hubTests, test: "TestLostShareOfARemoval/before",
	},
	{
		protection: "a removal is noted once the share shows it, before the share is deleted",
		file:       removalFile, old: "		return removalOf(m.share)\n", new: "		return quotav1alpha1.RemovalRetain\n",
		pkg: hubTests, test: "TestLostShareOfARemoval/meanwhile",
	},
	{
		protection: "a removal is not noted while the share is about to be told otherwise",
		file:       removalFile, old: "	case s.removing() || s.ledger.Drained(m.name, m.report):\n", new: "	case m.share != nil:\n",
		pkg: hubTests, test: "TestLostShareThatIsWrittenAgain",
	},
	{
		protection: "that a share is to be removed is taken back only from the share that was read",
		file:       hubShareFile, old: "		metadata[\"resourceVersion\"] = m.share.ResourceVersion\n", new: "",
		pkg: hubTests, test: "TestLateUpdateOfAShareThatIsDeleted",
	},
	{
		protection: "an API server without the API QuotaShare says nothing of shares",
		file:       observeFile, old: "case !apierrors.IsNotFound(err) || isAbsentKind(err):", new: "case !apierrors.IsNotFound(err):",
		pkg: hubTests, test: "TestLostAPI",
	},
	{
		protection: "a share is deleted only after the cluster has confirmed that it holds nothing",
		file:       decideFile, old: "return s.removing() || s.ledger.Drained(m.name, m.report)", new: "return true",
		pkg: hubTests, test: "TestClusterLeaves",
	},
	{
		protection: "a FederatedQuota waits by its finalizer for every member",
		file:       scopeFile, old: "return s.removing() && len(s.unseen) == 0 && len(s.ledger.Clusters()) == 0", new: "return s.removing()",
		pkg: hubTests, test: "TestDeletion",
	},
	{
		protection: "a member whose quota controller is stuck is not raised",
		file:       decideFile, old: "		!m.reports(quotav1alpha1.ConditionStuckQuotaController) && ", new: "		",
		pkg: hubTests, test: "TestWhatMembersReport/stuck",
	},
	{
		protection: "a member behind broken glass is not raised",
		file:       decideFile, old: "!m.reports(quotav1alpha1.ConditionBreakGlass) &&\n", new: "true &&\n",
		pkg: hubTests, test: "TestWhatMembersReport/break_glass",
	},
	{
		protection: "a member without guard or fence is not raised",
		file:       decideFile, old: "		!m.reports(quotav1alpha1.ConditionUnguarded)\n", new: "		true\n",
		pkg: hubTests, test: "TestWhatMembersReport/unguarded",
	},
	{
		protection: "a member whose agent cannot write is not raised",
		file:       decideFile, old: " && m.writable() &&\n", new: " &&\n",
		pkg: hubTests, test: "TestWhatMembersReport/name_taken",
	},
	{
		protection: "a member whose nodes are full is not raised for headroom",
		file:       "controllers/hub/plan.go", old: "	if m.reports(quotav1alpha1.ConditionNodesFull) {", new: "	if false {",
		pkg: hubTests, test: "TestLimitsFollowDemand/no_headroom_where_nodes_are_full",
	},
	{
		protection: "a member whose nodes are full says so while more pods fit, too",
		file:       "internal/demand/needs.go", old: "w.stopped(now) || ns.full(w.Owner, shape, now)", new: "w.stopped(now)",
		pkg: "internal/demand", test: "TestDemand/pods_that_no_node_has_room_for,_and_more_of_them_that_fit",
	},
	{
		protection: "a member whose usage is not known is not raised",
		file:       decideFile, old: "return m.counts(name) && m.follows()", new: "return m.follows()",
		pkg: hubTests, test: "TestNameThatIsNeverReported",
	},
	{
		protection: "a limit that a member cannot reach within the revision is asked for anew",
		file:       decideFile, old: "if s.ledger.Disagrees(m.name, m.report) && ", new: "if false && ",
		pkg: hubTests, test: "TestLostLimit",
	},
	{
		protection: "an older FederatedQuota of the same scope keeps a newer one from acting",
		file:       scopeFile, old: `return s.fq.DeletionTimestamp.IsZero() && (len(s.problems) > 0 || s.conflict != "")`,
		new: `return s.fq.DeletionTimestamp.IsZero() && len(s.problems) > 0`,
		pkg: hubTests, test: "TestConflict",
	},
	{
		protection: "the Lease in members is renewed only while the API server of the hub answers",
		file:       heartbeatFile, old: "	if err == nil {\n		err = r.List(", new: "	if true {\n		err = r.List(",
		pkg: hubTests, test: "TestLeaseIsRenewed",
	},
	{
		protection: "no Lease is renewed in a cluster without the marker",
		file:       heartbeatFile, old: "markerOf(cluster) > 0 {", new: "cluster != nil {",
		pkg: hubTests, test: "TestLeaseIsRenewed",
	},
	{
		protection: "members that do not answer delay the Lease in no other",
		file:       heartbeatFile, old: "			group.Go(func() { r.renew(ctx, cluster) })\n", new: "			r.renew(ctx, cluster)\n",
		pkg: hubTests, test: "TestLeaseIsRenewedBesideMembersThatStall",
	},
	{
		protection: "a store that is ahead of the last look, and behind the caches, went back",
		file:       "controllers/rollback/watchdog.go", old: "if err == nil && !behind {", new: "if false {",
		pkg: "controllers/rollback", test: "TestWatchdogLooksBesideTheCache",
	},
	{
		protection: "a share that no ledger knows counts, whoever is selected",
		file:       scopeFile, old: "(holders.Has(name) || s.mayHold(&clusters[i], len(selected) > 0))", new: "s.mayHold(&clusters[i], len(selected) > 0)",
		pkg: hubTests, test: "TestRestoredFromBeforeAClusterWasSelected",
	},
	{
		protection: "nothing is decided before all clusters that can be reached were looked at",
		file:       decideFile, old: "	if len(s.unseen) == 0 {", new: "	if true {",
		pkg: hubTests, test: "TestRestoredFromBeforeAClusterWasSelected",
	},
	{
		protection: "a look that fails says nothing of what a cluster holds",
		file:       "controllers/hub/looks.go", old: "if err != nil && !isAbsentKind(err) {", new: "if false {",
		pkg: hubTests, test: "TestLookThatFails",
	},
	{
		protection: "a lost ledger takes nobody in before it can be acted upon",
		file:       decideFile, old: "return s.unread && !s.removing() && (", new: "return s.rebuilt && s.unread && (",
		pkg: hubTests, test: "TestLostLedgerThatNobodyCanActUpon",
	},
	{
		protection: "a ledger that was rebuilt in this round adopts nobody",
		file:       decideFile, old: "m.live && !s.rebuilt && ", new: "m.live && ",
		pkg: hubTests, test: "TestRollbackBesideAClusterThatLeaves",
	},
	{
		protection: "rollback: what is newer than the stored entry is noticed, beside names that come",
		file:       decideFile, old: " || s.isAhead(m, *told)", new: " || false && s.isAhead(m, *told)",
		pkg: hubTests, test: "TestRollbackBesideANewName",
	},
	{
		protection: "no share that is missing is written before all clusters that can be reached were looked at",
		file:       deliverFile, old: ", m.share == nil && len(s.unseen) > 0:", new: ":",
		pkg: hubTests, test: "TestRestoredFromBeforeAClusterLeft",
	},
	{
		protection: "no FederatedQuota goes before all clusters that can be reached were looked at",
		file:       scopeFile, old: "s.removing() && len(s.unseen) == 0 && len", new: "s.removing() && len",
		pkg: hubTests, test: "TestRestoredAndRemoved",
	},
	{
		protection: "what a hub manager knew of stores before it stood still is looked at again",
		file:       "controllers/hub/stores.go", old: "		known.looked = false", new: "		_ = known",
		pkg: hubTests, test: "TestPausedLeaderOverARestore",
	},
	{
		protection: "a share that rounds have read counts before a look has found it",
		file:       "controllers/hub/stores.go", old: "	known.holds.Insert(share)\n", new: "",
		pkg: hubTests, test: "TestRestoreRightAfterAJoin",
	},
	{
		protection: "names that a cache does not show go from a share with the others",
		file:       hubShareFile, old: "		before[name] = resource.Quantity{}", new: "		_, _ = name, resource.Quantity{}",
		pkg: hubTests, test: "TestNamesThatTheCacheDoesNotShow",
	},
	{
		protection: "an order to remove does not reach a share that has changed since",
		file:       "controllers/hub/removal.go", old: "		\"resourceVersion\": m.share.ResourceVersion,\n", new: "",
		pkg: hubTests, test: "TestLateOrderToRemove",
	},
	{
		protection: "a ledger goes by the revisions that it gave, however high",
		file:       observeFile, old: "revision > max(ledger.MostRevision, fq.Status.Revision)", new: "revision > ledger.MostRevision",
		pkg: hubTests, test: "TestRevisionsNearTheMost",
	},
}
