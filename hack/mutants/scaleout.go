package main

// What decides and what scales.
const (
	scaleOutTests    = "internal/scaleout"
	scaleOutHubTests = "controllers/hub/scaleout"
)

// scaleOutMutants take protections out of the adding of nodes.
var scaleOutMutants = []mutant{
	{
		protection: "scale out: no MachineDeployment leaves its bounds",
		in:         "internal/scaleout.decision.stepFor", old: "n), best.Room, d.Surge", new: "n), d.Surge",
		pkg: scaleOutTests, test: "TestStepsKeepTheirBounds",
	},
	{
		protection: "scale out: no more nodes are on their way than may be",
		in:         "internal/scaleout.decision.stepFor", old: "best.Room, d.Surge-d.State.OnTheWay)", new: "best.Room)",
		pkg: scaleOutTests, test: "TestStepsKeepTheirBounds",
	},
	{
		protection: "scale out: no two steps within the cooldown",
		in:         "internal/scaleout.decision.decide", old: "d.Now.Sub(last.Time) < d.Cooldown", new: "d.Now.Sub(last.Time) < 0",
		pkg: scaleOutTests, test: "TestStepsKeepTheirBounds",
	},
	{
		protection: "scale out: what may not be scaled is left alone",
		in:         "internal/scaleout.decision.may", old: ` && g.Obstacle == ""`, new: "",
		pkg: scaleOutTests, test: "TestStepsKeepTheirBounds",
	},
	{
		protection: "scale out: no step goes beyond a CapacityQuota",
		in:         "internal/scaleout.decision.stepFor", old: "nodes, bound = allowed,", new: "bound =",
		pkg: scaleOutTests, test: "TestQuotas/with_room_for_one",
	},
	{
		protection: "scale out: a CapacityQuota that may select the nodes counts",
		in:         "internal/scaleout.Quota.selects", old: "unknown = append(unknown, r.Key())", new: `return false, ""`,
		pkg: scaleOutTests, test: "TestQuotas/of_nodes_with_labels_that_nobody_knows",
	},
	{
		protection: "scale out: nothing is added where CapacityQuotas cannot be read",
		in:         "internal/scaleout.Input.room", old: `c.Unread != ""`, new: "false",
		pkg: scaleOutTests, test: "TestQuotas/that_cannot_be_read",
	},
	{
		protection: "scale out: nodes that bring nothing end it",
		in:         "internal/scaleout.decision.may", old: "d.failure(g.Key) == nil", new: "true",
		pkg: scaleOutTests, test: "TestNodesThatBringNothing",
	},
	{
		protection: "scale out: pods that are there are left to an autoscaler unless a MachineDeployment permits more",
		in:         "internal/scaleout.decision.may", old: " && (g.Unscheduled || !n.there)", new: "",
		pkg: scaleOutTests, test: "TestDecide/pods_without_a_node_by_who_permits_it",
	},
	{
		protection: "scale out: no nodes are added for pods that hard leaves no room for any more",
		in:         "internal/scaleout.Input.stranded", old: "count := r.within(room)", new: "count := r.Count",
		pkg: scaleOutTests, test: "TestDecide/those_of_the_pods_that_hard_leaves_room_for",
	},
	{
		protection: "scale out: a pod that a node has room for brings no other one",
		in:         "internal/demand.Book.Stranded", old: "!fit[key] && ", new: "",
		pkg: "internal/demand", test: "TestStranded/one_that_a_node_has_room_for",
	},
	{
		protection: "scale out: limits rise before nodes are added",
		in:         "internal/scaleout.Input.mayRise", old: "within(amount.Sub(in.Budget, in.Used)) > 0", new: "Count < 0",
		pkg: scaleOutTests, test: "TestDecide/what_the_budget_has_room_for_one_of,_a_moment_ago",
	},
	{
		protection: "scale out: a node that has come is waited for to be reported",
		in:         "internal/scaleout.decision.decide", old: "!d.fresh && settled > 0", new: "false && settled > 0",
		pkg: scaleOutTests, test: "TestDecide/a_node_has_just_come",
	},
	{
		protection: "scale out: a step is stored before it is taken",
		in:         "controllers/hub/scaleout.Reconciler.take", old: "	if err := r.store(ctx, s, &d.State); err != nil {",
		new: "	if d.Step == nil {\n		if err := r.store(ctx, s, &d.State); err != nil {\n			return ctrl.Result{}, err\n		}\n" +
			"	}\n	if err := ctx.Err(); err != nil {",
		pkg: scaleOutHubTests, test: "TestTwoManagers",
	},
	{
		protection: "scale out: a MachineDeployment that somebody has changed is not scaled",
		in:         "controllers/hub/scaleout.Reconciler.scale", old: ", ResourceVersion: in.Version(step.Group)", new: "",
		pkg: scaleOutHubTests, test: "TestScalesWhatItHasRead",
	},
}
