package input

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/round"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clustersOf returns Clusters out of names, each with the labels name and tier; those of tier prod begin with p.
func clustersOf(names ...string) []members.Cluster {
	var clusters []members.Cluster
	for _, name := range names {
		tier := "test"
		if strings.HasPrefix(name, "p") {
			tier = "prod"
		}
		clusters = append(clusters, members.Namespaces{}.Of(&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-" + "x", Labels: map[string]string{"name": name, "tier": tier}},
		}))
	}
	return clusters
}

// quotaOf returns a FederatedQuota of the spec that the YAML says.
func quotaOf(spec string) *quotav1alpha1.FederatedQuota {
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "quota", UID: "uid", Generation: 3, CreationTimestamp: metav1.NewTime(epoch)}}
	if err := yaml.UnmarshalStrict([]byte(spec), &fq.Spec); err != nil {
		panic(spec + ": " + err.Error())
	}
	return fq
}

func TestPlaced(t *testing.T) {
	tests := map[string]struct {
		placement         string
		selected, missing []string
	}{
		"nothing":         {placement: `{}`},
		"all":             {placement: `{clusterSelector: {}}`, selected: []string{"p1", "p2", "t1"}},
		"by label":        {placement: `{clusterSelector: {matchLabels: {tier: prod}}}`, selected: []string{"p1", "p2"}},
		"by expression":   {placement: `{clusterSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [prod]}]}}`, selected: []string{"t1"}},
		"by name":         {placement: `{clusters: [t1]}`, selected: []string{"t1"}},
		"by both":         {placement: `{clusters: [t1], clusterSelector: {matchLabels: {name: p2}}}`, selected: []string{"p2", "t1"}},
		"in vain":         {placement: `{clusters: [t1, t2, p9]}`, selected: []string{"t1"}, missing: []string{"t2", "p9"}},
		"a bad selector":  {placement: `{clusterSelector: {matchExpressions: [{key: tier, operator: Is}]}}`},
		"no such cluster": {placement: `{clusterSelector: {matchLabels: {tier: none}}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fq := quotaOf(`placement: ` + tc.placement)
			selected, missing := Placed(fq, clustersOf("p1", "p2", "t1"))
			if diff := cmp.Diff(tc.selected, slices.Sorted(maps.Keys(selected))); diff != "" {
				t.Errorf("selected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrangers(t *testing.T) {
	fq := quotaOf(`
placement: {clusters: [p1, a, b, c, d, e, f]}
distribution: {rules: [{clusters: [p1], weight: 1}, {clusters: [t1, g], weight: 2}]}`)
	clusters := clustersOf("p1", "t1")
	_, missing := Placed(fq, clusters)
	want := []string{"spec.placement.clusters: a, b, c, d, e and 1 more", "spec.distribution.rules[1].clusters: g"}
	if diff := cmp.Diff(want, strangers(&fq.Spec, clusters, missing)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConflictOf(t *testing.T) {
	const pods = `{hard: {pods: "1"}, placement: {clusterSelector: {}}}`
	conflict := func(clusters string) string {
		return "FederatedQuota team/other is older and covers the same scope in clusters " + clusters + ": merge spec.hard into it, or make placement or scopes of the two disjoint"
	}
	tests := map[string]struct {
		spec, other string
		name        string
		age         time.Duration
		want        string
	}{
		"older":            {spec: pods, other: pods, age: time.Second, want: conflict("p1, p2, t1")},
		"younger":          {spec: pods, other: pods, age: -time.Second},
		"of the same age":  {spec: pods, other: pods, want: conflict("p1, p2, t1")},
		"other clusters":   {spec: `{hard: {pods: "1"}, placement: {clusters: [p1]}}`, other: `{hard: {pods: "1"}, placement: {clusters: [t1]}}`, age: time.Second},
		"one in common":    {spec: `{hard: {pods: "1"}, placement: {clusters: [p1, t1]}}`, other: `{hard: {secrets: "1"}, placement: {clusterSelector: {matchLabels: {tier: prod}}}}`, age: time.Second, want: conflict("p1")},
		"other scopes":     {spec: `{hard: {pods: "1"}, placement: {clusterSelector: {}}, scopes: [BestEffort]}`, other: pods, age: time.Second},
		"scopes reordered": {spec: `{placement: {clusterSelector: {}}, scopes: [BestEffort, Terminating]}`, other: `{placement: {clusterSelector: {}}, scopes: [Terminating, BestEffort]}`, age: time.Second, want: conflict("p1, p2, t1")},
		"other selector": {
			spec:  `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a]}]}}`,
			other: `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [b]}]}}`,
			age:   time.Second,
		},
		"a scope as a selector": {
			spec:  `{placement: {clusterSelector: {}}, scopes: [BestEffort]}`,
			other: `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: Exists}]}}`,
			age:   time.Second, want: conflict("p1, p2, t1"),
		},
		"a scope and a selector": {
			spec:  `{placement: {clusterSelector: {}}, scopes: [NotTerminating], scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: Exists}]}}`,
			other: `{placement: {clusterSelector: {}}, scopes: [BestEffort, NotTerminating, BestEffort]}`,
			age:   time.Second, want: conflict("p1, p2, t1"),
		},
		"an empty selector": {
			spec:  pods,
			other: `{hard: {pods: "1"}, placement: {clusterSelector: {}}, scopeSelector: {}}`,
			age:   time.Second, want: conflict("p1, p2, t1"),
		},
		"selector reordered": {
			spec:  `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a, b]}, {scopeName: BestEffort, operator: Exists}]}}`,
			other: `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: Exists}, {scopeName: PriorityClass, operator: In, values: [b, a]}]}}`,
			age:   time.Second, want: conflict("p1, p2, t1"),
		},
		"other operator": {
			spec:  `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a]}]}}`,
			other: `{placement: {clusterSelector: {}}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [a]}]}}`,
			age:   time.Second,
		},
		"itself": {spec: pods, other: pods, name: "quota", age: time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			clusters := clustersOf("p1", "p2", "t1")
			fq, other := quotaOf(tc.spec), quotaOf(tc.other)
			other.Name = "other"
			if tc.name != "" {
				other.Name = tc.name
			}
			other.CreationTimestamp = metav1.NewTime(epoch.Add(-tc.age))
			selected, _ := Placed(fq, clusters)
			if diff := cmp.Diff(tc.want, conflictOf(fq, selected, clusters, []quotav1alpha1.FederatedQuota{*other})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		spec string
		// agents is where the agents run.
		agents string
		want   string
	}{
		"guarantees that fit":  {spec: `{hard: {pods: "6"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "2"}}]}}`},
		"guarantees of others": {spec: `{hard: {pods: "2"}, placement: {clusters: [p1]}, distribution: {rules: [{min: {pods: "2"}}]}}`},
		"guarantees that do not fit": {
			spec: `{hard: {requests.memory: 5Gi}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {requests.memory: 2Gi}}]}}`,
			want: `spec.distribution.rules.min[requests.memory]: Invalid value: "6Gi": the min of clusters p1, p2, t1 add up to more than the budget: must be at most 5Gi in all`,
		},
		"guarantees that the reserve leaves no room for": {
			spec: `{hard: {pods: "7"}, reserve: {pods: "2"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "2"}}]}}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "6": the min of clusters p1, p2, t1 add up to more than the budget: must be at most 5 in all`,
		},
		"a min above the max of another rule": {
			spec: `{hard: {pods: "9"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "3"}}, {clusters: [p2], max: {pods: "2"}}]}}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "3": the rules give cluster p2 more than its max: must be at most 2`,
		},
		"a later rule takes the max back": {spec: `{hard: {pods: "9"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "3"}}, {clusters: [p2], max: {pods: "2"}}, {max: {pods: "3"}}]}}`},
		"destroyed and selected": {
			spec: `{hard: {pods: "9"}, placement: {clusterSelector: {}}, removal: {destroyed: [x, t1]}}`,
			want: `spec.removal.destroyed[1]: Invalid value: "t1": the placement selects this Cluster: a cluster that still runs must not be given up`,
		},
		"where the agents run": {
			spec:   `{hard: {pods: "9"}, placement: {clusterSelector: {}}}`,
			agents: "team",
			want:   `metadata.namespace: Invalid value: "team": the agents run in this namespace of every cluster, and a limit there could keep them from starting: use another namespace`,
		},
		"many and wrong": {
			spec: `{hard: {pods: "-9", gpu: "1"}, placement: {clusterSelector: {}}, distribution: {rules: [{min: {pods: "3"}}]}}`,
			want: `spec.hard[gpu]: Invalid value: "gpu": is no resource name that ResourceQuota counts: valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps
spec.hard[pods]: Invalid value: "-9": is negative: must be 0 or more
spec.distribution.rules[0].min[pods]: Invalid value: "3": must be at most spec.hard[pods], which is -9`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fq := quotaOf(tc.spec)
			fq.Status.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}
			clusters := clustersOf("p1", "p2", "t1")
			selected, _ := Placed(fq, clusters)
			var lines []string
			for _, problem := range problemsOf(fq, selected, tc.agents) {
				lines = append(lines, problem.Error())
			}
			if diff := cmp.Diff(tc.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			in := Of(fq, &Surroundings{Clusters: clusters, Agents: tc.agents})
			if halted := in.Halted.Reason == "InvalidSpec"; halted != (tc.want != "") {
				t.Errorf("halted by %+v", in.Halted)
			}
			if before := (amount.List{"pods": 4}); tc.want != "" && !in.Budget.Equal(before) {
				t.Errorf("the ledger is over %v", in.Budget)
			}
		})
	}
}

func TestTerms(t *testing.T) {
	tests := map[string]struct {
		distribution, cluster string
		want                  round.Terms
	}{
		"none":      {distribution: `{}`, cluster: "p1", want: round.Terms{Weight: 1}},
		"for all":   {distribution: `{rules: [{weight: 4}]}`, cluster: "p1", want: round.Terms{Weight: 4}},
		"last wins": {distribution: `{rules: [{weight: 4}, {clusters: [p1], weight: 0}]}`, cluster: "p1", want: round.Terms{Weight: 0}},
		"others'":   {distribution: `{rules: [{clusters: [t1], weight: 4}]}`, cluster: "p1", want: round.Terms{Weight: 1}},
		"by label":  {distribution: `{rules: [{clusterSelector: {matchLabels: {tier: prod}}, weight: 4}]}`, cluster: "p1", want: round.Terms{Weight: 4}},
		"Equal":     {distribution: `{weights: Equal, rules: [{weight: 4}]}`, cluster: "p1", want: round.Terms{Weight: 1}},
		"each its last": {
			distribution: `{rules: [{weight: 2, min: {pods: "1"}, max: {pods: "9"}}, {clusters: [p1], max: {cpu: "1"}}, {clusters: [p1], weight: 3, lendable: {pods: "1"}}]}`, cluster: "p1",
			want: round.Terms{Weight: 3, Min: amount.List{"pods": 1}, Max: amount.List{"cpu": 1000}, Lendable: amount.List{"pods": 1}},
		},
		"what is empty sets nothing": {
			distribution: `{rules: [{min: {pods: "1"}, lendable: {pods: "1"}, max: {pods: "9"}, headroom: {pods: "2"}}, {clusters: [p1], min: {}, lendable: {}, max: {}, headroom: {}}, {}]}`, cluster: "p1",
			want: round.Terms{Weight: 1, Min: amount.List{"pods": 1}, Max: amount.List{"pods": 9}, Lendable: amount.List{"pods": 1}, Headroom: amount.List{"pods": 2}},
		},
		"rounded to the safe side": {
			distribution: `{rules: [{min: {cpu: 1500u}, max: {cpu: 1500u}, headroom: {cpu: 1500u}}]}`, cluster: "p1",
			want: round.Terms{Weight: 1, Min: amount.List{"cpu": 2}, Max: amount.List{"cpu": 1}, Headroom: amount.List{"cpu": 2}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fq := quotaOf(`distribution: ` + tc.distribution)
			got := terms(&fq.Spec.Distribution, &clustersOf(tc.cluster)[0])
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
