package tenant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/tenant"
)

func pool(t *testing.T, name, spec string) quotav1alpha1.QuotaPool {
	t.Helper()
	p := quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

func selecting(t *testing.T, name, selector string) quotav1alpha1.QuotaPool {
	t.Helper()
	return pool(t, name, `{hard: {pods: 10}, namespaces: {selector: `+selector+`}}`)
}

func TestOf(t *testing.T) {
	all := selecting(t, "a-all", `{}`)
	some := selecting(t, "b-some", `{matchExpressions: [{key: a, operator: NotIn, values: [x]}, {key: b, operator: DoesNotExist}]}`)
	team := selecting(t, "z-team", `{matchLabels: {team: vision}}`)
	exists := selecting(t, "y-exists", `{matchExpressions: [{key: team, operator: Exists}]}`)
	prod := selecting(t, "prod", `{matchLabels: {team: vision}, matchExpressions: [{key: tier, operator: In, values: [prod, stage]}]}`)
	going := selecting(t, "going", `{matchLabels: {team: vision, tier: prod, more: "yes"}}`)
	going.DeletionTimestamp = new(metav1.Now())
	none := pool(t, "none", `{hard: {pods: 10}}`)
	wrong := selecting(t, "wrong", `{matchExpressions: [{key: team, operator: Is}]}`)
	vision, staged := map[string]string{"team": "vision"}, map[string]string{"team": "vision", "tier": "prod", "more": "yes"}
	for name, tc := range map[string]struct {
		pools     []quotav1alpha1.QuotaPool
		namespace string
		labels    map[string]string
		want      string
	}{
		"none selects":                       {pools: []quotav1alpha1.QuotaPool{none, team, wrong}},
		"everything":                         {pools: []quotav1alpha1.QuotaPool{none, all}, want: "a-all"},
		"more labels":                        {pools: []quotav1alpha1.QuotaPool{all, team}, labels: vision, want: "z-team"},
		"more labels, in another order":      {pools: []quotav1alpha1.QuotaPool{team, all}, labels: vision, want: "z-team"},
		"what it excludes does not count":    {pools: []quotav1alpha1.QuotaPool{some, all}, labels: vision, want: "a-all"},
		"as many: the first name":            {pools: []quotav1alpha1.QuotaPool{team, exists}, labels: vision, want: "y-exists"},
		"two are more than one":              {pools: []quotav1alpha1.QuotaPool{team, exists, prod}, labels: staged, want: "prod"},
		"one that is deleted":                {pools: []quotav1alpha1.QuotaPool{going, team}, labels: staged, want: "z-team"},
		"a namespace of Kubernetes":          {pools: []quotav1alpha1.QuotaPool{all}, namespace: "kube-system"},
		"the namespace of the agents":        {pools: []quotav1alpha1.QuotaPool{all}, namespace: "agents"},
		"one that only begins as Kubernetes": {pools: []quotav1alpha1.QuotaPool{all}, namespace: "kube-flow", want: "a-all"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := tenant.Of(tc.pools, "agents", tc.namespace, tc.labels); found != nil {
				got = found.Name
			}
			if got != tc.want {
				t.Errorf("%q has it, want %q", got, tc.want)
			}
		})
	}
}

// TestSpec has what a template leaves out come from the pool, and nothing that a template can say be lost.
func TestSpec(t *testing.T) {
	for name, tc := range map[string]struct{ pool, want string }{
		"nothing": {
			pool: `{hard: {pods: 10}, reserve: {pods: 1}}`,
			want: `{hard: {pods: 10}, pool: {name: vision}, placement: {clusterSelector: {}, whereNamespaceExists: true}}`,
		},
		"all": {
			pool: `{hard: {pods: 10}, namespaces: {template: {name: x, hard: {secrets: 3}, placement: {clusters: [east], createNamespace: true},
distribution: {weights: Equal}, rebalance: {mode: Static}, admission: {mode: "Off"}, existingQuotas: {accepted: [a]}, removal: {policy: Delete}}}}`,
			want: `{hard: {secrets: 3}, pool: {name: vision}, placement: {clusters: [east], createNamespace: true},
distribution: {weights: Equal}, rebalance: {mode: Static}, admission: {mode: "Off"}, existingQuotas: {accepted: [a]}, removal: {policy: Delete}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool(t, "vision", tc.pool)
			var want quotav1alpha1.FederatedQuotaSpec
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, tenant.Spec(p.Name, &p.Spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
