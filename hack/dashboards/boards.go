package main

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// one takes one series of each budget, however many hub managers have told of it.
const one = "max by (namespace, name, resource) "

// fleet shows all budgets.
func fleet() *dashboard.DashboardBuilder {
	ratio := one + `(fedquota_used / (fedquota_budget > 0))`
	pools := `max by (pool, resource) (fedquota_pool_used / (fedquota_pool_budget > 0))`
	return start("fleet", "fedquota / Fleet", "All budgets: which are full, who waits, and what keeps one from being enforced.").
		WithPanel(number("Budgets", "FederatedQuotas.", 1e9, query{`count(max by (namespace, name) (fedquota_ready))`, ""})).
		WithPanel(number("Not enforced everywhere", "FederatedQuotas whose condition Ready is not True.", 1,
			query{`count(max by (namespace, name) (fedquota_ready) == 0)`, ""})).
		WithPanel(number("In debt", "FederatedQuotas that have granted more than their budget. Nobody of them is raised.", 1,
			query{`count(max by (namespace, name) (fedquota_debt) > 0)`, ""})).
		WithPanel(number("Clusters that cannot be read", "What they were granted stays granted.", 1,
			query{`count(max by (cluster) (fedquota_member_reachable) == 0)`, ""})).
		WithPanel(bars("Fullest budgets", "Used of the budget.", half,
			query{`sort_desc(topk(15, ` + ratio + `))`, "{{namespace}}/{{name}} {{resource}}"})).
		WithPanel(bars("Fullest pools", "Used of the budget of the QuotaPool.", half,
			query{`sort_desc(topk(15, ` + pools + `))`, "{{pool}} {{resource}}"})).
		WithPanel(lines("Who waits, and for how much of the budget", "What clusters could use beyond what they use, of the budget.", "percentunit", whole,
			query{`topk(15, ` + one + `(fedquota_demand / (fedquota_budget > 0)) > 0)`, "{{namespace}}/{{name}} {{resource}}"})).
		WithPanel(lines("Debt", "What is granted above the budget.", "short", half,
			query{one + `(fedquota_debt) > 0`, "{{namespace}}/{{name}} {{resource}}"})).
		WithPanel(stacked("Clusters of budgets by state", "Each cluster counts once for each budget.", "short", half,
			query{`sum by (state) (max by (namespace, name, state) (fedquota_clusters))`, "{{state}}"})).
		WithPanel(lines("Clusters that take no new limits", "Of how many budgets a cluster is in a state in which it enforces what it was told before.", "short", half,
			query{`topk(15, max by (cluster, state) (fedquota_cluster_budgets{state=~"NotReady|Stuck|Unread|Unreachable"}) > 0)`, "{{cluster}} {{state}}"})).
		WithPanel(lines("Nodes", "On their way to budgets that have nodes added; below 0: budgets that need nodes of which none can be added.", "short", half,
			query{`max by (namespace, name) (fedquota_scale_out_nodes_on_the_way) > 0`, "{{namespace}}/{{name}}"},
			query{`-max by (namespace, name) (fedquota_scale_out_held_back) < 0`, "{{namespace}}/{{name}} held back"}))
}

// budget shows one FederatedQuota.
func budget() *dashboard.DashboardBuilder {
	const of = `{namespace="$namespace", name="$name", resource="$resource"}`
	sum := func(metric string) string { return `max(` + metric + of + `)` }
	inCluster := func(metric string) query {
		return query{`max by (cluster) (` + metric + of + `)`, "{{cluster}}"}
	}
	return start("budget", "fedquota / Budget", "One FederatedQuota: how full it is, and who has what.",
		variable{"namespace", "Namespace", "label_values(fedquota_ready, namespace)"},
		variable{"name", "FederatedQuota", `label_values(fedquota_ready{namespace="$namespace"}, name)`},
		variable{"resource", "Resource", `label_values(fedquota_budget{namespace="$namespace", name="$name"}, resource)`},
	).
		WithPanel(number("Budget", "What the clusters may use together.", 1e18, query{sum("fedquota_budget"), ""})).
		WithPanel(number("Used", "In all clusters.", 1e18, query{sum("fedquota_used"), ""})).
		WithPanel(number("Waits", "What clusters could use beyond what they use.", 1e-9, query{sum("fedquota_demand"), ""})).
		WithPanel(number("Debt", "What is granted above the budget.", 1e-9, query{sum("fedquota_debt"), ""})).
		WithPanel(lines("Used, in force, granted and budget", "Granted is the most that clusters may be enforcing or using.", "short", whole,
			query{sum("fedquota_budget"), "budget"}, query{sum("fedquota_granted"), "granted"}, query{sum("fedquota_in_force"), "in force"}, query{sum("fedquota_used"), "used"},
			query{sum("fedquota_used") + " + " + sum("fedquota_demand"), "used and asked for"})).
		WithPanel(stacked("Clusters by state", "", "short", half,
			query{`max by (state) (fedquota_clusters{namespace="$namespace", name="$name"})`, "{{state}}"})).
		WithPanel(lines("Free", "What no cluster holds.", "short", half, query{sum("fedquota_free"), "free"})).
		WithRow(dashboard.NewRowBuilder("Clusters: the hub manager exports these with --metrics-per-cluster")).
		WithPanel(stacked("Granted", "The limit of each cluster.", "short", half, inCluster("fedquota_cluster_granted"))).
		WithPanel(stacked("Used", "", "short", half, inCluster("fedquota_cluster_used"))).
		WithPanel(lines("Waits", "What each cluster could use beyond what it uses.", "short", whole, inCluster("fedquota_cluster_demand")))
}

// cluster shows one cluster.
func cluster() *dashboard.DashboardBuilder {
	const of = `{cluster="$cluster", resource="$resource"}`
	since := func(metric string) string { return `time() - max(` + metric + `{cluster="$cluster"})` }
	return start("cluster", "fedquota / Cluster", "One cluster: whether it can be read, what its nodes can run, and which budgets it has parts of.",
		variable{"cluster", "Cluster", "label_values(fedquota_member_reachable, cluster)"},
		variable{"resource", "Resource", `label_values(fedquota_cluster_allocatable{cluster="$cluster"}, resource)`},
	).
		WithPanel(number("Cannot be read", "1 while the hub cannot read the cluster.", 1,
			query{`max(fedquota_member_reachable{cluster="$cluster"}) == bool 0`, ""})).
		WithPanel(number("Nodes", "Ready and schedulable.", 1e9, query{`max(fedquota_cluster_nodes{cluster="$cluster"})`, ""})).
		WithPanel(number("Last answer", "How long ago it answered the hub manager, which looks every 5 seconds.", 60,
			query{since("fedquota_member_last_look_timestamp_seconds"), ""}).Unit("s")).
		WithPanel(number("Last report", "How long ago an agent there told something new. One to which nothing happens tells nothing.", 1e18,
			query{since("fedquota_member_last_report_timestamp_seconds"), ""}).Unit("s")).
		WithPanel(lines("What nodes can run", "Allocatable of nodes that are ready and schedulable, and what of it no pod requests.", "short", half,
			query{`max(fedquota_cluster_allocatable` + of + `)`, "allocatable"}, query{`max(fedquota_cluster_unused` + of + `)`, "unused"})).
		WithRow(dashboard.NewRowBuilder("Budgets: the hub manager exports these with --metrics-per-cluster")).
		WithPanel(lines("Used of what was granted", "By budget and resource.", "percentunit", half,
			query{`topk(20, ` + one + `(fedquota_cluster_used{cluster="$cluster"} / (fedquota_cluster_granted{cluster="$cluster"} > 0)))`, "{{namespace}}/{{name}} {{resource}}"})).
		WithPanel(lines("Waits", "What could be used beyond what is used, by budget and resource.", "short", half,
			query{one + `(fedquota_cluster_demand{cluster="$cluster"}) > 0`, "{{namespace}}/{{name}} {{resource}}"}))
}

// operator shows the managers themselves.
func operator() *dashboard.DashboardBuilder {
	const rate = `[$__rate_interval]))`
	quantiles := func(histogram string) []query {
		var all []query
		for _, q := range []string{"0.5", "0.99"} {
			all = append(all, query{`histogram_quantile(` + q + `, sum by (le) (rate(` + histogram + `_bucket` + rate + `)`, "p" + q})
		}
		return all
	}
	return start("operator", "fedquota / Operator", "The hub manager and the agents: how fast they are, and what fails.").
		WithRow(dashboard.NewRowBuilder("Hub manager")).
		WithPanel(lines("A limit until it is seen to be enforced", "From the decision on a cluster.", "s", half, quantiles("fedquota_settle_seconds")...)).
		WithPanel(stacked("Limits that were moved", "By direction and by why.", "ops", half,
			query{`sum by (direction, reason) (rate(fedquota_limit_moves_total` + rate, "{{direction}} {{reason}}"})).
		WithPanel(lines("Rounds", "By controller.", "ops", half,
			query{`sum by (controller) (rate(controller_runtime_reconcile_total{controller=~"quota|pool"}` + rate, "{{controller}}"})).
		WithPanel(lines("Time of a round", "", "s", half,
			query{`histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket{controller=~"quota|pool"}` + rate + `)`, "{{controller}} p0.99"})).
		WithPanel(lines("Rounds that failed, and writes that were fenced", "A fenced write was decided on an older state: it is made again.", "ops", half,
			query{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{controller=~"quota|pool"}` + rate, "{{controller}}"},
			query{`sum(rate(fedquota_fenced_writes_total` + rate, "fenced"})).
		WithPanel(stacked("Writes into clusters", "By verb, resource and code of the answer.", "reqps", half,
			query{`topk(15, sum by (verb, resource, code) (rate(fedquota_member_writes_total` + rate + `)`, "{{verb}} {{resource}} {{code}}"})).
		WithPanel(lines("Requests to API servers", "By host, those that are not reads.", "reqps", half,
			query{`topk(15, sum by (host) (rate(rest_client_requests_total{method!="GET"}` + rate + `)`, "{{host}}"})).
		WithPanel(lines("Requests that were refused or failed", "By host and code.", "reqps", half,
			query{`topk(15, sum by (host, code) (rate(rest_client_requests_total{code!~"2.."}` + rate + `)`, "{{host}} {{code}}"})).
		WithRow(dashboard.NewRowBuilder("Agents")).
		WithPanel(stacked("Requests by outcome", "", "reqps", half,
			query{`sum by (outcome) (rate(fedquota_requests_total` + rate, "{{outcome}}"})).
		WithPanel(stacked("Requests that were denied", "By what is full.", "reqps", half,
			query{`sum by (reason) (rate(fedquota_denials_total` + rate, "{{reason}}"})).
		WithPanel(lines("Requests that wait for a raise", "", "short", half, query{`sum(fedquota_requests_held)`, "held"})).
		WithPanel(lines("How long requests waited", "By outcome.", "s", half,
			query{`histogram_quantile(0.5, sum by (le, outcome) (rate(fedquota_hold_seconds_bucket` + rate + `)`, "{{outcome}} p0.5"},
			query{`histogram_quantile(0.99, sum by (le, outcome) (rate(fedquota_hold_seconds_bucket` + rate + `)`, "{{outcome}} p0.99"})).
		WithPanel(lines("Time of an answer", "Those that waited included.", "s", half, quantiles("fedquota_review_seconds")...))
}
