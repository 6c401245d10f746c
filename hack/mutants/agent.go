package main

const (
	agentTests = "controllers/member"
	gateTests  = "webhooks/admission"
)

// agentMutants take protections out of the agent.
var agentMutants = []mutant{
	{
		protection: "enforce: not a share older than what is enforced",
		in:         "leftAlone", old: " || nativequota.StateOf(quota).Outdates(share.Spec.Revision)",
		new: "",
		pkg: agentTests, test: "TestStaleShare",
	},
	{
		protection: "enforce: within one revision a limit only goes down",
		in:         "Quota.Limits", old: "limited && q.Revision == revision {",
		new: "limited && q.Revision == revision && false {",
		pkg: agentTests, test: "TestLimitLoweredByHand",
	},
	{
		protection: "enforce: not below what is used",
		in:         "Quota.Limits", old: "		limit = larger(limit, used)\n",
		new: "",
		pkg: agentTests, test: "TestRaiseAndLower/lower_to_nothing",
	},
	{
		protection: "enforce: what native quota charged above the limit raises no limit",
		in:         "Quota.Limits", old: "if limited {\n			used = smaller(used, present)\n		}",
		new: "if limited {\n			_ = present\n		}",
		pkg: agentTests, test: "TestRaiseAndLower/confirm,_overcharged",
	},
	{
		protection: "enforce: no limit of a ResourceQuota that was released meanwhile",
		in:         "whileManaged", old: "append([]patches.Operation{test}, change...)",
		new: "append([]patches.Operation{test}[:0], change...)",
		pkg: agentTests, test: "TestLateAfterRelease/limit_in_force",
	},
	{
		protection: "enforce: what was released is taken over as it was read",
		in:         "specPatch", old: "			\"resourceVersion\": quota.ResourceVersion,\n",
		new: "",
		pkg: agentTests, test: "TestTakesOverAsItWasRead",
	},
	{
		protection: "report: what somebody puts in the place of a managed ResourceQuota is told to the hub",
		in:         "statusOf", old: "atRevision(seen) || replaced(seen)",
		new: "atRevision(seen)",
		pkg: agentTests, test: "TestAnotherInItsPlace",
	},
	{
		protection: "enforce: what was released is not taken over by a share older than what was enforced",
		in:         "StateOf", old: "state.Revision = ParseRevision(quota.Annotations[quotav1alpha1.ReleasedAnnotation])",
		new: "state.Revision = min(0, ParseRevision(quota.Annotations[quotav1alpha1.ReleasedAnnotation]))",
		pkg: agentTests, test: "TestLateShareAfterRelease",
	},
	{
		protection: "release: what was enforced is noted",
		in:         "releasePatch", old: "[quotav1alpha1.ReleasedAnnotation] = nativequota.FormatRevision(nativequota.Revision(quota))",
		new: "[quotav1alpha1.ReleasedAnnotation] = \"true\"",
		pkg: agentTests, test: "TestLateShareAfterRelease",
	},
	{
		protection: "release: what was enforced is noted as it is, not as it was read",
		in:         "releasePatch", old: "	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok {",
		new: "	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok && false {",
		pkg: agentTests, test: "TestReleasesWhatItRead",
	},
	{
		protection: "enforce: a ResourceQuota comes into being on account of a share that is still there",
		in:         "Reconciler.enforce", old: "\tif quota == nil || !nativequota.IsManaged(quota) {",
		new: "\tif quota != nil && !nativequota.IsManaged(quota) {",
		pkg: agentTests, test: "TestCreatesForTheShareThatIsThere",
	},
	{
		protection: "enforce: API servers ask the webhook before there is a limit",
		in:         "Reconciler.enforce", old: "\t\tif r.Ask != nil {",
		new: "\t\tif false {",
		pkg: agentTests, test: "TestAsksBeforeTheFirstLimit",
	},
	{
		protection: "enforce: what was released is taken over on account of a share that is still there",
		in:         "Reconciler.enforce", old: "\tif quota == nil || !nativequota.IsManaged(quota) {",
		new: "\tif quota == nil {",
		pkg: agentTests, test: "TestReleasedIsNotTakenBack",
	},
	{
		protection: "release: on account of a share that is still there",
		in:         "Reconciler.stillThere", old: "if live.UID == share.UID &&",
		new: "if !share.DeletionTimestamp.IsZero() || live.UID == share.UID &&",
		pkg: agentTests, test: "TestStaleDelete",
	},
	{
		protection: "enforce: limit and revision in one write",
		in:         "specPatch", old: "text := nativequota.FormatRevision(revision)",
		new: "text := nativequota.FormatRevision(max(1, nativequota.Revision(quota)))",
		pkg: agentTests, test: "TestRaiseAndLower/confirm",
	},
	{
		protection: "enforce: nothing while guard or fence is not in force",
		in:         "Reconciler.act", old: `	if verdict.Unguarded == "" {`,
		new: `	if true {`,
		pkg: agentTests, test: "TestUnguarded/fedquota-guard",
	},
	{
		protection: "enforce: nothing before the canary has come to a verdict",
		in:         "Reconciler.reconcile", old: "	if !verdict.Known {",
		new: "	if false {",
		pkg: agentTests, test: "TestWaitsForTheFirstVerdict",
	},
	{
		protection: "enforce: nothing behind broken glass",
		in:         "leftAlone", old: "!forShare(share, quota) || nativequota.BrokenGlass(quota) != \"\" ||",
		new: "!forShare(share, quota) ||",
		pkg: agentTests, test: "TestBreakGlass",
	},
	{
		protection: "enforce: the limit in force is left to the quota controller where usage is not known",
		in:         "Quota.Publish", old: "limited := q.Hard[name]; known || limited {",
		new: "limited := q.Hard[name]; known || limited || true {",
		pkg: agentTests, test: "TestNames",
	},
	{
		protection: "enforce: a name that left stays in force until the quota controller has counted those that came",
		in:         "Quota.Publish", old: "	maps.Copy(limits, q.Hard)\n",
		new: "",
		pkg: agentTests, test: "TestRename",
	},
	{
		protection: "report: nothing while a name that left is in force",
		in:         "Quota.InForce", old: "stays := q.Spec[name]; !stays {",
		new: "stays := q.Spec[name]; !stays && false {",
		pkg: agentTests, test: "TestNameThatComesBack",
	},
	{
		protection: "report: only a limit that is in force",
		in:         "Quota.InForce", old: "if known && !limited || limited && present.Cmp(limit) != 0 {",
		new: "if known && limited && present.Cmp(limit) == 99 {",
		pkg: agentTests, test: "TestReportsOnlyWhatIsInForce",
	},
	{
		protection: "report: under the revision that the ResourceQuota carries, not the share's",
		in:         "statusOf", old: "status.Revision = nativequota.Revision(seen.quota)",
		new: "status.Revision = seen.share.Spec.Revision",
		pkg: agentTests, test: "TestBreakGlass",
	},
	{
		protection: "report: out of a live read of the ResourceQuota",
		in:         "Reconciler.quotaOf", old: "	if err := r.Live.Get(ctx, key, quota); err != nil {",
		new: "	if err := r.Get(ctx, key, quota); err != nil {",
		pkg: agentTests, test: "TestReportsWhatIsReadLive",
	},
	{
		protection: "report: refused if the share has changed since it was read",
		in:         "controllers/member/share.Reconciler.store", old: "client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})",
		new: "client.MergeFrom(stored)",
		pkg: agentTests, test: "TestStatusConflict",
	},
	{
		protection: "report: nothing while the quota controller is stuck",
		in:         "reliable", old: "if seen.stuck || seen.unguarded",
		new: "if seen.unguarded",
		pkg: agentTests, test: "TestStuckQuotaController",
	},
	{
		protection: "report: nothing while guard or fence is not in force",
		in:         "reliable", old: `seen.stuck || seen.unguarded != "" ||`,
		new: `seen.stuck ||`,
		pkg: agentTests, test: "TestReportsNothingWhileUnguarded",
	},
	{
		protection: "release: no limit stays below usage that was reported",
		in:         "Quota.Release", old: "smaller(used, larger(q.Spec[name], reported[name]))",
		new: "smaller(used, q.Spec[name])",
		pkg: agentTests, test: "TestRemovalAboveTheLimit",
	},
	{
		protection: "release: no limit goes up to usage that was not reported",
		in:         "Quota.Release", old: "smaller(used, larger(q.Spec[name], reported[name]))",
		new: "used",
		pkg: agentTests, test: "TestRemovalOvercharged",
	},
	{
		protection: "release: usage above the limit is given time to fall",
		in:         "controllers/member/share.Reconciler.remove", old: "wait := r.ebbing(share, quota); wait > 0",
		new: "wait := r.ebbing(share, quota); false && wait > 0",
		pkg: agentTests, test: "TestRemovalEbbs",
	},
	{
		protection: "canary: a quota controller that does not follow is stuck",
		in:         "Canary.judge", old: "\tcase c.Clock.Since(c.waiting) >= pace.CanaryTimeout:\n\t\tverdict.Known, verdict.Stuck = true, true\n",
		new: "",
		pkg: agentTests, test: "TestCanaryStuckAndRecovers",
	},
	{
		protection: "canary: an answer from before the last change is none",
		in:         "Canary.judge", old: "limit.Value() >= c.limit && ",
		new: "",
		pkg: agentTests, test: "TestCanaryStaleRead",
	},
	{
		protection: "webhook: a dry run states no demand and is not held",
		in:         "Gate.pass", old: "if request.DryRun || g.stuck(c.lane) ",
		new: "if g.stuck(c.lane) ",
		pkg: gateTests, test: "TestAdmit/dry_run",
	},
	{
		protection: "webhook: a dry run takes no room",
		in:         "Gate.claims", old: "now, request.DryRun)",
		new: "now, false)",
		pkg: gateTests, test: "TestAdmitReservesNoRoomForADryRun",
	},
	{
		protection: "webhook: what a new ResourceQuota would charge waits for its first limits",
		in:         "fresh", old: "return len(quota.Status.Hard) == 0",
		new: "return false",
		pkg: gateTests, test: "TestAdmitHoldsFromTheStart",
	},
	{
		protection: "webhook: an update asks for no more than it adds",
		in:         "read", old: "		request.Charge.Old, err = decode(",
		new: "		_, err = decode(",
		pkg: gateTests, test: "TestUpdateOfNoMore",
	},
	{
		protection: "webhook: what the API server shows live decides a denial, not a cache",
		in:         "Gate.judge", old: "	quota := g.read(ctx, c.lane)\n",
		new: "	quota := c.quota\n",
		pkg: gateTests, test: "TestAdmit/the_cache_is_behind",
	},
	{
		protection: "webhook: nothing is held or denied while the share says that the quota controller is stuck",
		in:         "Gate.stuck", old: "return g.Stuck() || share != nil",
		new: "return g.Stuck() || false && share != nil",
		pkg: gateTests, test: "TestAdmitBesideAStuckQuotaController",
	},
	{
		protection: "webhook: no request is held once the Lease of the hub ran out",
		in:         "lane.silent", old: "return l.pings || l.hub.stopped(now)",
		new: "return l.pings",
		pkg: gateTests, test: "TestAdmitHoldsNothingAfterTheLeaseRanOut",
	},
	{
		protection: "webhook: the Lease runs out by the clock of the agent alone",
		in:         "heartbeat.see", old: "= lease, now, false",
		new: "= lease, lease.RenewTime.Time, false",
		pkg: gateTests, test: "TestAdmitHoldsNothingAfterTheLeaseRanOut",
	},
	{
		protection: "webhook: a request does not go on while the API server's cache is behind",
		in:         "Gate.awaitEcho", old: "if g.Echo != nil {",
		new: "if false && g.Echo != nil {",
		pkg: gateTests, test: "TestAdmitWaitsForTheAPIServer",
	},
	{
		protection: "webhook: a request does not go on for room that another replica has given away",
		in:         "Gate.settle", old: "return l.confirm(p, g.Clock.Now())",
		new: "return l.confirm(p, g.Clock.Now()) || true",
		pkg: gateTests, test: "TestAdmitHoldsOnWhenAnotherReplicaTookTheRoom",
	},
	{
		protection: "webhook: what another request is charged does not free the place of one that has not gone on",
		in:         "lane.seeCharges", old: "if !p.gone || !risen",
		new: "if !risen",
		pkg: gateTests, test: "TestPlacesOfRequestsThatAreHere",
	},
	{
		protection: "webhook: nor does one for which room came when it was about to be denied",
		in:         "Gate.judge", old: "g.awaitEcho(ctx, c.lane)",
		new: "",
		pkg: gateTests, test: "TestAdmitWaitsForRoomThatIsRead",
	},
}
