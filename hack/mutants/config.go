package main

const (
	guardFile   = "config/member/policy/guard.yaml"
	fenceFile   = "config/member/policy/fence.yaml"
	sharePolicy = "config/member/policy/share.yaml"
	takeover    = "config/member/policy/takeover.yaml"
	shareCRD    = "config/crd/bases/quota.fedquota.io_quotashares.yaml"
	crdTests    = "api/v1alpha1"
)

// configMutants take rules out of what the members' own API servers enforce.
var configMutants = []mutant{
	{
		protection: "guard: only the agent changes a managed ResourceQuota",
		file:       guardFile, old: "  - expression: variables.isAgent || variables.brokenGlass || variables.breaksGlass\n",
		new: "  - expression: variables.isAgent || variables.brokenGlass || variables.breaksGlass || (variables.wasManaged && request.operation == 'UPDATE')\n",
		pkg: agentTests, test: "TestPolicies/an_administrator_edits_a_limit",
	},
	{
		protection: "guard: only the agent deletes a managed ResourceQuota",
		file:       guardFile, old: "operations: [CREATE, UPDATE, DELETE]", new: "operations: [CREATE, UPDATE]",
		pkg: agentTests, test: "TestPolicies/an_administrator_deletes",
	},
	{
		protection: "guard: nobody but the agent writes a revision or takes it away, also behind broken glass",
		file:       guardFile, old: "(variables.isManaged && variables.newAnnotations[?",
		new: "(variables.isManaged || variables.newAnnotations[?",
		pkg: agentTests, test: "TestPolicies/behind_broken_glass_a_tenant_takes_the_revision_away",
	},
	{
		protection: "guard: nobody but the agent takes the label off, also behind broken glass",
		file:       guardFile, old: "(variables.isManaged && variables.newAnnotations[?", new: "(variables.newAnnotations[?",
		pkg: agentTests, test: "TestPolicies/behind_broken_glass_a_tenant_takes_the_label_off",
	},
	{
		protection: "guard: the revision never goes down",
		file:       guardFile, old: "variables.newRevision >= variables.oldRevision)", new: "true)",
		pkg: agentTests, test: "TestPolicies/the_agent_goes_back_a_revision",
	},
	{
		protection: "guard: the revision never goes down, also of what was released",
		file:       guardFile, old: "'quota.fedquota.io/revision' : 'quota.fedquota.io/released')]",
		new: "'quota.fedquota.io/revision' : '')]",
		pkg: agentTests, test: "TestPolicies/the_agent_takes_over_what_was_released_later",
	},
	{
		protection: "guard: the revision never goes down, also behind broken glass",
		file:       guardFile, old: "!variables.isAgent || request.operation == 'DELETE' || !variables.isManaged",
		new: "!variables.isAgent || variables.brokenGlass || request.operation == 'DELETE' || !variables.isManaged",
		pkg: agentTests, test: "TestPolicies/behind_broken_glass_the_agent_goes_back_a_revision",
	},
	{
		protection: "guard: at the same revision no limit goes up",
		file:       guardFile, old: "variables.oldHard.all(r, r in variables.newHard && (quantity",
		new: "true || variables.oldHard.all(r, r in variables.newHard && (quantity",
		pkg: agentTests, test: "TestPolicies/the_agent_raises_a_limit_at_the_same_revision",
	},
	{
		protection: "guard: no limit is lowered below what is used",
		file:       guardFile, old: "variables.newHard.all(r, !(r in variables.used) ||",
		new: "true || variables.newHard.all(r, !(r in variables.used) ||",
		pkg: agentTests, test: "TestPolicies/the_agent_lowers_a_limit_below_what_is_used",
	},
	{
		protection: "guard: glass is broken on a managed ResourceQuota only, not before it is promoted",
		file:       guardFile, old: "variables.wasManaged && variables.oldReason != ''", new: "variables.oldReason != ''",
		pkg: agentTests, test: "TestPolicies/a_tenant_promotes_one_with_a_reason_set_before",
	},
	{
		protection: "fence: no charge above spec.hard",
		file:       fenceFile, old: "request.userInfo.username != 'system:apiserver' ||", new: "true ||",
		pkg: agentTests, test: "TestPolicies/a_charge_above_a_limit_that_was_lowered",
	},
	{
		protection: "fence: the limit in force is not brought above spec.hard",
		file:       fenceFile, old: "variables.statusHard.all(r, (r in", new: "true || variables.statusHard.all(r, (r in",
		pkg: agentTests, test: "TestPolicies/anyone_brings_the_limit_in_force_above_the_limit",
	},
	{
		protection: "fence: a limit in force is not taken out of force",
		file:       fenceFile, old: "expression: variables.statusWasHard.all(",
		new: "expression: true || variables.statusWasHard.all(",
		pkg: agentTests, test: "TestPolicies/a_tenant_takes_a_limit_out_of_force",
	},
	{
		protection: "fence: none of our annotations changes through the status, past the guard",
		file:       fenceFile, old: "variables.wereAnnotations[?k] == variables.annotations[?k]", new: "true",
		pkg: agentTests, test: "TestPolicies/a_tenant_sets_the_revision_through_the_status",
	},
	{
		protection: "fence: none of our labels goes through the status, past the guard",
		file:       fenceFile, old: "|| k in variables.labels)", new: "|| true)",
		pkg: agentTests, test: "TestPolicies/a_tenant_takes_the_label_off_through_the_status",
	},
	{
		protection: "guard: who sets a label of their own changes none of ours",
		file:       guardFile, old: "|| variables.oldLabels[?k]",
		new: "|| k in variables.oldLabels || variables.oldLabels[?k]",
		pkg: agentTests, test: "TestPolicies/an_administrator_changes_the_label",
	},
	{
		protection: "echo: the API server says that its cache is behind",
		file:       "config/member/policy/echo.yaml", old: "expression: request.dryRun &&",
		new: "expression: false && request.dryRun &&",
		pkg: gateTests, test: "TestEchoOfAnAPIServer",
	},
	{
		protection: "bounds of the agent: what is taken over is judged by the policy for that",
		file:       "config/member/policy/agent.yaml",
		old:        "(variables.isManaged && 'quota.fedquota.io/takes-over' in object.metadata.labels)",
		new:        "variables.isManaged",
		pkg:        agentTests, test: "TestTakeOverIsBounded/without_labels",
	},
	{
		protection: "bounds of the agent: it takes nothing over without a share",
		file:       takeover, old: "parameterNotFoundAction: Deny", new: "parameterNotFoundAction: Allow",
		pkg: agentTests, test: "TestTakeOverIsBounded/without_a_share_that_is_labelled",
	},
	{
		protection: "bounds of the agent: it takes over what the share of that name allows",
		file:       takeover, old: "params.metadata.name == object.metadata.name && ", new: "",
		pkg: agentTests, test: "TestTakeOverIsBounded/by_another_share",
	},
	{
		protection: "bounds of the agent: it takes over no higher limit than is allowed",
		file:       takeover, old: "variables.oldHard.all(r, r in variables.allowed &&",
		new: "variables.oldHard.all(r, !(r in variables.allowed) || true ||",
		pkg: agentTests, test: "TestTakeOverIsBounded/a_larger_one",
	},
	{
		protection: "bounds of the agent: what it takes over stays limited",
		file:       takeover, old: "- expression: variables.oldHard.all(r, r in variables.newHard)",
		new: "- expression: true || variables.oldHard.all(r, r in variables.newHard)",
		pkg: agentTests, test: "TestTakeOverIsBounded/drops_what_it_is",
	},
	{
		protection: "bounds of the agent: it says before that it is about to take over",
		file:       takeover, old: `expression: "'quota.fedquota.io/to-be-taken-over' in`,
		new: `expression: "true || 'quota.fedquota.io/to-be-taken-over' in`,
		pkg: agentTests, test: "TestTakeOverIsBounded/not_announced",
	},
	{
		protection: "bounds of the agent: of a ResourceQuota of somebody else it writes one annotation",
		file:       "config/member/policy/agent.yaml", old: "request.operation == 'UPDATE' && variables.annotates",
		new: "request.operation == 'UPDATE'",
		pkg: agentTests, test: "TestTakeOverIsBounded/an_announcement_and_a_limit",
	},
	{
		protection: "share: nobody edits a QuotaShare without saying that they are the hub",
		file:       sharePolicy, old: "object.spec == oldObject.spec &&", new: "",
		pkg: agentTests, test: "TestSharePolicy/an_administrator_edits_limit_and_revision",
	},
	{
		protection: "share: nobody orders a removal without saying that they are the hub",
		file:       sharePolicy, old: "'quota.fedquota.io/cluster', 'quota.fedquota.io/removal'",
		new: "'quota.fedquota.io/cluster'",
		pkg: agentTests, test: "TestSharePolicy/an_administrator_orders_a_removal",
	},
	{
		protection: "QuotaShare: the revision never goes down",
		file:       shareCRD, old: "rule: self.revision >= oldSelf.revision", new: "rule: self.revision >= 0",
		pkg: crdTests, test: "TestQuotaShareRevision/lower_revision,_same_hard",
	},
	{
		protection: "QuotaShare: a limit changes with a higher revision only",
		file:       shareCRD, old: "self.revision > oldSelf.revision || self.hard",
		new: "self.revision >= oldSelf.revision || self.hard",
		pkg: crdTests, test: "TestQuotaShareRevision/same_revision,_more",
	},
}
