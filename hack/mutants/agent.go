package main

const (
	shareFile   = "controllers/member/share_controller.go"
	quotaFile   = "internal/ledger/quota.go"
	enforceFile = "controllers/member/enforce.go"
	releaseFile = "controllers/member/release.go"
	reportFile  = "controllers/member/report.go"
	canaryFile  = "controllers/member/canary.go"
	agentTests  = "controllers/member"
	gateTests   = "webhooks/member"
)

// agentMutants take protections out of the agent.
var agentMutants = []mutant{
	{
		protection: "enforce: not a share older than what is enforced",
		file:       shareFile, old: ` || stateOf(quota).Outdates(share.Spec.Revision)`, new: ``,
		pkg: agentTests, test: "TestStaleShare",
	},
	{
		protection: "enforce: within one revision a limit only goes down",
		file:       quotaFile, old: "limited && q.Revision == revision {", new: "limited && q.Revision == revision && false {",
		pkg: agentTests, test: "TestLimitLoweredByHand",
	},
	{
		protection: "enforce: not below what is used",
		file:       quotaFile, old: "		limit = larger(limit, used)\n", new: "",
		pkg: agentTests, test: "TestRaiseAndLower/lower_to_nothing",
	},
	{
		protection: "enforce: what native quota charged above the limit raises no limit",
		file:       quotaFile, old: "			used = smaller(used, present)\n", new: "",
		pkg: agentTests, test: "TestRaiseAndLower/confirm,_overcharged",
	},
	{
		protection: "enforce: no limit of a ResourceQuota that was released meanwhile",
		file:       enforceFile, old: "append([]write.Operation{test}, change...)", new: "append([]write.Operation{test}[:0], change...)",
		pkg: agentTests, test: "TestLateAfterRelease/limit_in_force",
	},
	{
		protection: "enforce: what was released is taken over as it was read",
		file:       enforceFile, old: "			\"resourceVersion\": quota.ResourceVersion,\n", new: "",
		pkg: agentTests, test: "TestTakesOverAsItWasRead",
	},
	{
		protection: "report: what somebody puts in the place of a managed ResourceQuota is told to the hub",
		file:       reportFile, old: "settled(seen) || replaced(seen)", new: "settled(seen)",
		pkg: agentTests, test: "TestAnotherInItsPlace",
	},
	{
		protection: "enforce: what was released is not taken over by a share older than what was enforced",
		file:       enforceFile, old: "state.Revision = revisionIn(quota, quotav1alpha1.ReleasedAnnotation)", new: "state.Revision = min(0, revisionIn(quota, quotav1alpha1.ReleasedAnnotation))",
		pkg: agentTests, test: "TestLateShareAfterRelease",
	},
	{
		protection: "release: what was enforced is noted",
		file:       enforceFile, old: "[quotav1alpha1.ReleasedAnnotation] = strconv.FormatInt(revisionOf(quota), 10)", new: "[quotav1alpha1.ReleasedAnnotation] = \"true\"",
		pkg: agentTests, test: "TestLateShareAfterRelease",
	},
	{
		protection: "release: what was enforced is noted as it is, not as it was read",
		file:       enforceFile, old: "	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok {", new: "	if text, ok := annotations[quotav1alpha1.RevisionAnnotation]; ok && false {",
		pkg: agentTests, test: "TestReleasesWhatItRead",
	},
	{
		protection: "enforce: a ResourceQuota comes into being on account of a share that is still there",
		file:       shareFile, old: "	if quota == nil || !managed(quota) {", new: "	if quota != nil && !managed(quota) {",
		pkg: agentTests, test: "TestCreatesForTheShareThatIsThere",
	},
	{
		protection: "enforce: what was released is taken over on account of a share that is still there",
		file:       shareFile, old: "	if quota == nil || !managed(quota) {", new: "	if quota == nil {",
		pkg: agentTests, test: "TestReleasedIsNotTakenBack",
	},
	{
		protection: "release: on account of a share that is still there",
		file:       releaseFile, old: "if live.UID == share.UID &&", new: "if !share.DeletionTimestamp.IsZero() || live.UID == share.UID &&",
		pkg: agentTests, test: "TestStaleDelete",
	},
	{
		protection: "enforce: limit and revision in one write",
		file:       enforceFile, old: "text := strconv.FormatInt(revision, 10)", new: "text := strconv.FormatInt(max(1, revisionOf(quota)), 10)",
		pkg: agentTests, test: "TestRaiseAndLower/confirm",
	},
	{
		protection: "enforce: nothing while guard or fence is not in force",
		file:       shareFile, old: `	if verdict.Unguarded == "" {`, new: `	if true {`,
		pkg: agentTests, test: "TestUnguarded/fedquota-guard",
	},
	{
		protection: "enforce: nothing before the canary has come to a verdict",
		file:       shareFile, old: "	if !verdict.Known {", new: "	if false {",
		pkg: agentTests, test: "TestWaitsForTheFirstVerdict",
	},
	{
		protection: "enforce: nothing behind broken glass",
		file:       shareFile, old: `!forShare(share, quota) || brokenGlass(quota) != "" ||`, new: `!forShare(share, quota) ||`,
		pkg: agentTests, test: "TestBreakGlass",
	},
	{
		protection: "enforce: the limit in force is left to the quota controller where usage is not known",
		file:       quotaFile, old: "limited := q.Hard[name]; known || limited {", new: "limited := q.Hard[name]; known || limited || true {",
		pkg: agentTests, test: "TestNames",
	},
	{
		protection: "enforce: a name that left stays in force until the quota controller has counted those that came",
		file:       quotaFile, old: "	maps.Copy(limits, q.Hard)\n", new: "",
		pkg: agentTests, test: "TestRename",
	},
	{
		protection: "report: nothing while a name that left is in force",
		file:       quotaFile, old: "stays := q.Spec[name]; !stays {", new: "stays := q.Spec[name]; !stays && false {",
		pkg: agentTests, test: "TestNameThatComesBack",
	},
	{
		protection: "report: only a limit that is in force",
		file:       quotaFile, old: "if known && !limited || limited && present.Cmp(limit) != 0 {", new: "if known && limited && present.Cmp(limit) == 99 {",
		pkg: agentTests, test: "TestReportsOnlyWhatIsInForce",
	},
	{
		protection: "report: under the revision that the ResourceQuota carries, not the share's",
		file:       reportFile, old: "status.Revision = revisionOf(seen.quota)", new: "status.Revision = seen.share.Spec.Revision",
		pkg: agentTests, test: "TestBreakGlass",
	},
	{
		protection: "report: out of a live read of the ResourceQuota",
		file:       shareFile, old: "	if err := r.Live.Get(ctx, key, quota); err != nil {", new: "	if err := r.Get(ctx, key, quota); err != nil {",
		pkg: agentTests, test: "TestReportsWhatIsReadLive",
	},
	{
		protection: "report: refused if the share has changed since it was read",
		file:       reportFile, old: "client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})", new: "client.MergeFrom(stored)",
		pkg: agentTests, test: "TestStatusConflict",
	},
	{
		protection: "report: nothing while the quota controller is stuck",
		file:       reportFile, old: "if seen.stuck || seen.unguarded", new: "if seen.unguarded",
		pkg: agentTests, test: "TestStuckQuotaController",
	},
	{
		protection: "report: nothing while guard or fence is not in force",
		file:       reportFile, old: `seen.stuck || seen.unguarded != "" ||`, new: `seen.stuck ||`,
		pkg: agentTests, test: "TestReportsNothingWhileUnguarded",
	},
	{
		protection: "release: no limit stays below usage that was reported",
		file:       quotaFile, old: "smaller(used, larger(q.Spec[name], reported[name]))", new: "smaller(used, q.Spec[name])",
		pkg: agentTests, test: "TestRemovalAboveTheLimit",
	},
	{
		protection: "release: no limit goes up to usage that was not reported",
		file:       quotaFile, old: "smaller(used, larger(q.Spec[name], reported[name]))", new: "used",
		pkg: agentTests, test: "TestRemovalOvercharged",
	},
	{
		protection: "release: usage above the limit is given time to fall",
		file:       releaseFile, old: "wait := r.ebbing(share, quota); wait > 0", new: "wait := r.ebbing(share, quota); wait > releasePatience",
		pkg: agentTests, test: "TestRemovalEbbs",
	},
	{
		protection: "canary: a quota controller that does not follow is stuck",
		file:       canaryFile, old: "	case c.Clock.Since(c.waiting) >= canaryTimeout:\n		verdict.Known, verdict.Stuck = true, true\n", new: "",
		pkg: agentTests, test: "TestCanaryStuckAndRecovers",
	},
	{
		protection: "canary: an answer from before the last change is none",
		file:       canaryFile, old: "limit.Value() >= c.limit && ", new: "",
		pkg: agentTests, test: "TestCanaryStaleRead",
	},
	{
		protection: "webhook: a dry run states no demand and is not held",
		file:       "webhooks/member/gate.go", old: "if request.DryRun || g.stuck(c.lane) ", new: "if g.stuck(c.lane) ",
		pkg: gateTests, test: "TestAdmit/dry_run",
	},
	{
		protection: "webhook: a dry run takes no room",
		file:       "webhooks/member/gate.go", old: "now, request.DryRun)", new: "now, false)",
		pkg: gateTests, test: "TestAdmitReservesNoRoomForADryRun",
	},
	{
		protection: "webhook: an update asks for no more than it adds",
		file:       "webhooks/member/handler.go", old: "		request.Charge.Old, err = decode(", new: "		_, err = decode(",
		pkg: gateTests, test: "TestUpdateOfNoMore",
	},
	{
		protection: "webhook: what the API server shows live decides a denial, not a cache",
		file:       "webhooks/member/gate.go", old: "	quota := g.read(ctx, c.lane)\n", new: "	quota := c.quota\n",
		pkg: gateTests, test: "TestAdmit/the_cache_is_behind",
	},
	{
		protection: "webhook: nothing is held or denied while the share says that the quota controller is stuck",
		file:       "webhooks/member/hold.go", old: "return g.Stuck() || share != nil", new: "return g.Stuck() || false && share != nil",
		pkg: gateTests, test: "TestAdmitBesideAStuckQuotaController",
	},
	{
		protection: "webhook: no request is held once the Lease of the hub ran out",
		file:       "webhooks/member/hold.go", old: "return l.asks || l.hub.stopped(now)", new: "return l.asks",
		pkg: gateTests, test: "TestAdmitHoldsNothingAfterTheLeaseRanOut",
	},
	{
		protection: "webhook: the Lease runs out by the clock of the agent alone",
		file:       "webhooks/member/heartbeat.go", old: "= lease, now, false", new: "= lease, lease.RenewTime.Time, false",
		pkg: gateTests, test: "TestAdmitHoldsNothingAfterTheLeaseRanOut",
	},
	{
		protection: "webhook: a request does not go on while the API server's cache is behind",
		file:       "webhooks/member/echo.go", old: "if g.Echo != nil {", new: "if false && g.Echo != nil {",
		pkg: gateTests, test: "TestAdmitWaitsForTheAPIServer",
	},
}
