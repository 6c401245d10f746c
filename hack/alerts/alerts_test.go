package alerts

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

// healthy is a hub with a budget over two members and a pool, two replicas of its manager, and a metric of somebody else.
const healthy = `
	fedquota_ready{namespace="team-a",name="compute",pod="hub-0"} 1x200
	fedquota_budget{namespace="team-a",name="compute",resource="pods",pod="hub-0"} 20x200
	fedquota_used{namespace="team-a",name="compute",resource="pods",pod="hub-0"} 15x200
	fedquota_granted{namespace="team-a",name="compute",resource="pods",pod="hub-0"} 20x200
	fedquota_demand{namespace="team-a",name="compute",resource="pods",pod="hub-0"} 0x200
	fedquota_debt{namespace="team-a",name="compute",resource="pods",pod="hub-0"} 0x200
	fedquota_member_reachable{cluster="east",pod="hub-0"} 1x200
	fedquota_member_reachable{cluster="emea/east",pod="hub-0"} 1x200
	fedquota_cluster_budgets{cluster="east",state="Settled",pod="hub-0"} 3x200
	fedquota_cluster_budgets{cluster="east",state="Draining",pod="hub-0"} 1x200
	fedquota_cluster_budgets{cluster="east",state="NotReady",pod="hub-0"} 0x200
	fedquota_scale_out_held_back{namespace="team-a",name="compute",pod="hub-0"} 0x200
	fedquota_scale_out_held_back{namespace="",name="research",pod="hub-0"} 0x200
	fedquota_pool_ready{pool="research",pod="hub-0"} 1x200
	fedquota_pool_budget{pool="research",resource="pods",pod="hub-0"} 10x200
	fedquota_pool_used{pool="research",resource="pods",pod="hub-0"} 8x200
	fedquota_pool_demand{pool="research",resource="pods",pod="hub-0"} 2x200
	fedquota_pool_debt{pool="research",resource="pods",pod="hub-0"} 0x200
	leader_election_master_status{name="fedquota-hub",pod="hub-0"} 1x200
	leader_election_master_status{name="fedquota-hub",pod="hub-1"} 0x200
	leader_election_master_status{name="other",pod="x"} 1x200
`

// TestAlerts has each alert fire on its fault once it has lasted for as long as the alert says, and on nothing else.
func TestAlerts(t *testing.T) {
	for name, c := range map[string]struct {
		series string
		at     time.Duration
		want   []string
	}{
		"healthy":              {healthy, 150 * time.Minute, nil},
		"not ready, at first":  {instead(`fedquota_ready`, "0x200"), 9 * time.Minute, nil},
		"not ready":            {instead(`fedquota_ready`, "0x200"), 11 * time.Minute, []string{"FederatedQuotaNotReady: FederatedQuota team-a/compute is not enforced everywhere"}},
		"ready in between":     {instead(`fedquota_ready`, "0x6 1 0x200"), 15 * time.Minute, nil},
		"debt, at first":       {instead(`fedquota_debt`, "3x200"), 59 * time.Minute, nil},
		"debt":                 {instead(`fedquota_debt`, "3x200"), 61 * time.Minute, []string{"FederatedQuotaDebt: More pods is granted than FederatedQuota team-a/compute allows"}},
		"debt without a bound": {instead(`fedquota_debt`, strings.Repeat("Inf ", 100)), 61 * time.Minute, []string{"FederatedQuotaDebt: More pods is granted than FederatedQuota team-a/compute allows"}},
		"pool held, at first":  {instead(`fedquota_pool_ready`, "0x200"), 9 * time.Minute, nil},
		"pool held":            {instead(`fedquota_pool_ready`, "0x200"), 11 * time.Minute, []string{"QuotaPoolNotReady: QuotaPool research is held"}},
		"pool in debt":         {instead(`fedquota_pool_debt`, "3x200"), 61 * time.Minute, []string{"QuotaPoolDebt: QuotaPool research has given more pods than it has"}},
		"pool short, at first": {instead(`fedquota_pool_demand`, "3x200"), 59 * time.Minute, nil},
		"pool short":           {instead(`fedquota_pool_demand`, "3x200"), 61 * time.Minute, []string{"QuotaPoolChildWaits: Children of QuotaPool research wait for pods"}},
		"unreachable":          {instead(`fedquota_member_reachable{cluster="east"`, "0x200"), 11 * time.Minute, []string{"FedquotaMemberUnreachable: The hub cannot read cluster east"}},
		"of a further namespace": {
			instead(`fedquota_member_reachable{cluster="emea/east"`, "0x200"), 11 * time.Minute,
			[]string{"FedquotaMemberUnreachable: The hub cannot read cluster emea/east"},
		},
		"waits, at first":          {instead(`fedquota_demand`, "3x200"), 14 * time.Minute, nil},
		"waits":                    {instead(`fedquota_demand`, "3x200"), 16 * time.Minute, []string{"FederatedQuotaWaits: Somebody has waited for pods of FederatedQuota team-a/compute"}},
		"waits now and then":       {instead(`fedquota_demand`, "3x10 0 3x10 0 3x10"), 30 * time.Minute, nil},
		"old shares, at first":     {instead(`fedquota_cluster_budgets{cluster="east",state="NotReady"`, "2x200"), 9 * time.Minute, nil},
		"old shares":               {instead(`fedquota_cluster_budgets{cluster="east",state="NotReady"`, "2x200"), 11 * time.Minute, []string{"FedquotaSharesOld: Cluster east does not take new limits"}},
		"no nodes, at first":       {instead(`fedquota_scale_out_held_back{namespace="team-a"`, "1x200"), 9 * time.Minute, nil},
		"no nodes":                 {instead(`fedquota_scale_out_held_back{namespace="team-a"`, "1x200"), 11 * time.Minute, []string{"FederatedQuotaNodesHeldBack: FederatedQuota team-a/compute needs nodes that cannot be added"}},
		"no nodes for a pool":      {instead(`fedquota_scale_out_held_back{namespace=""`, "1x200"), 11 * time.Minute, []string{"FederatedQuotaNodesHeldBack: QuotaPool research needs nodes that cannot be added"}},
		"no hub manager, at first": {`up{job="other"} 1x200`, 4 * time.Minute, nil},
		"no hub manager":           {`up{job="other"} 1x200`, 6 * time.Minute, []string{"FedquotaHubManagerDown: No hub manager acts"}},
		"nobody leads": {`
			leader_election_master_status{name="fedquota-hub",pod="hub-0"} 0x200
			leader_election_master_status{name="other",pod="x"} 1x200`, 6 * time.Minute, []string{"FedquotaHubManagerDown: No hub manager acts"}},
		"a leader has no budget": {`leader_election_master_status{name="fedquota-hub",pod="hub-0"} 1x200`, 6 * time.Minute, nil},
		"the leader is followed by another one": {instead(`fedquota_ready`, "1x100 stale") +
			`	fedquota_ready{namespace="team-a",name="compute",pod="hub-1"} _x100 1x100`, 150 * time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, firing(t, c.series, c.at)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecorded records ratios of each budget, and sums of all, and counts a budget once, however many hub managers have
// told of it.
func TestRecorded(t *testing.T) {
	series := healthy + `	fedquota_used{namespace="team-a",name="compute",resource="pods",pod="hub-1"} 15x200
	fedquota_budget{namespace="team-a",name="compute",resource="pods",pod="hub-1"} 20x200
	fedquota_used{namespace="team-b",name="compute",resource="pods",pod="hub-0"} 4x200
	fedquota_budget{namespace="team-a",name="compute",resource="services",pod="hub-0"} 0x200
	fedquota_used{namespace="team-a",name="compute",resource="services",pod="hub-0"} 0x200
`
	store := promqltest.LoadedStorage(t, "load 1m\n"+strings.TrimSpace(series)+"\n")
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery), store)
	got := map[string]string{}
	for _, rule := range parsed(t) {
		if rule.Record == "" {
			continue
		}
		vector, err := query(t.Context(), rule.Expr, time.Unix(600, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range vector {
			got[rule.Record+sample.Metric.String()] = fmt.Sprint(sample.F)
		}
	}
	want := map[string]string{
		`namespace_name_resource:fedquota_used:ratio{name="compute", namespace="team-a", resource="pods"}`:    "0.75",
		`namespace_name_resource:fedquota_granted:ratio{name="compute", namespace="team-a", resource="pods"}`: "1",
		`resource:fedquota_used:sum{resource="pods"}`:                                                         "19",
		`resource:fedquota_used:sum{resource="services"}`:                                                     "0",
		`resource:fedquota_granted:sum{resource="pods"}`:                                                      "20",
		`resource:fedquota_demand:sum{resource="pods"}`:                                                       "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// instead returns the healthy series, and others for those that begin so.
func instead(series, values string) string {
	return regexp.MustCompile(`(?m)^(\s*`+regexp.QuoteMeta(series)+`.*\}).*$`).ReplaceAllString(healthy, "$1 "+values)
}

// firing returns the alerts that fire after so long, evaluated every 30 seconds, with their summaries.
func firing(t *testing.T, series string, at time.Duration) []string {
	t.Helper()
	store := promqltest.LoadedStorage(t, "load 1m\n"+strings.TrimSpace(series)+"\n")
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query := rules.EngineQueryFunc(engine, store)
	var found []string
	for _, rule := range parsed(t) {
		if rule.Alert == "" {
			continue
		}
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		alert := rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), 0, labels.FromMap(rule.Labels),
			labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, promslog.NewNopLogger())
		for since := time.Duration(0); since <= at; since += 30 * time.Second {
			if _, err := alert.Eval(t.Context(), 0, time.Unix(0, 0).Add(since), query, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, active := range alert.ActiveAlerts() {
			if active.State == rules.StateFiring {
				found = append(found, rule.Alert+": "+active.Annotations.Get("summary"))
			}
			if text := active.Annotations.String(); strings.Contains(text, "no value") || strings.Contains(text, "error") {
				t.Errorf("annotations: %s", text)
			}
		}
	}
	return found
}

// parsed returns the rules of the PrometheusRule, as Prometheus reads those of a file.
func parsed(t *testing.T) []rulefmt.Rule {
	t.Helper()
	content, err := os.ReadFile("../../config/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec any `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	file, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(bytes.TrimSpace(file), false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var found []rulefmt.Rule
	for _, group := range groups.Groups {
		found = append(found, group.Rules...)
	}
	return found
}
