package view

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestClimb asks of a budget in a tree of two pools where it could get from what it needs.
func TestClimb(t *testing.T) {
	const root, pool, quota = "{metadata: {name: acme}, spec: {hard: {pods: '%ROOT'}}, status: {hard: {pods: '%ROOT'}, free: {pods: '%LEFT'}, children: [{key: QuotaPool/research, granted: {pods: '12'}}]}}",
		"{metadata: {name: research}, spec: {parent: acme, hard: {pods: '20'}, distribution: {rules: [{children: [vision/compute], max: {pods: '%MAX'}}]}}, " +
			"status: {hard: {pods: '12'}, used: {pods: '6'}, demand: {pods: '30'}, free: {pods: '%FREE'}, pool: {name: acme}, children: [{key: %KEY, granted: {pods: '11'}}, {key: FederatedQuota/speech/compute, granted: {pods: '1'}}]}}",
		"{metadata: {namespace: vision, name: compute}, spec: {pool: {name: research}, hard: {pods: '%OWN'}}, status: {hard: {pods: '11'}, used: {pods: '11'}, demand: {pods: '%DEMAND'}, pool: {name: research}}}"
	for name, tc := range map[string]struct {
		with []string
		want []string
	}{
		"the root is full": {nil, []string{
			"vision/compute has 11 of its own 20 (5 lent by neighbours); research has none left of 12; neighbours that lend: speech/compute (5).",
			"research has 12 of its own 20; acme has none left of 12.", "→ acme is full"}},
		"the pool has something left":           {[]string{"%FREE", "3"}, []string{"research has 3 left of 12", "→ What research has left it gets"}},
		"the one above has something left":      {[]string{"%ROOT", "14", "%LEFT", "2"}, []string{"acme has 2 left of 14.", "→ What acme has left it gets"}},
		"its own spec binds":                    {[]string{"%OWN", "11"}, []string{"vision/compute has 11 of its own 11.", "→ vision/compute may have no more by itself"}},
		"a rule binds":                          {[]string{"%MAX", "11"}, []string{"→ It is at its max, which rules of research set."}},
		"it is not counted":                     {[]string{"%KEY", "FederatedQuota/other/compute"}, []string{"→ QuotaPool research has not counted it"}},
		"it asks for no more than it has":       {[]string{"%DEMAND", "0"}, nil},
		"its pool is not there, as far as seen": {[]string{"name: research}, spec: {parent", "name: gone}, spec: {parent"}, []string{"→ QuotaPool research has not counted it"}},
	} {
		t.Run(name, func(t *testing.T) {
			words := slices.Concat(tc.with, []string{"%ROOT", "12", "%LEFT", "0", "%FREE", "0", "%MAX", "20", "%OWN", "20", "%DEMAND", "5", "%KEY", "FederatedQuota/vision/compute"})
			fill := func(content string, into any) {
				for i := 0; i < len(words); i += 2 {
					content = strings.ReplaceAll(content, words[i], words[i+1])
				}
				if err := yaml.Unmarshal([]byte(content), into); err != nil {
					t.Fatal(err)
				}
			}
			pools, quotas := make([]quotav1alpha1.QuotaPool, 2), make([]quotav1alpha1.FederatedQuota, 1)
			fill(root, &pools[0])
			fill(pool, &pools[1])
			fill(quota, &quotas[0])
			climbs := ForestOf(pools, quotas, Only{}).Climb(&quotas[0])
			if len(tc.want) == 0 != (len(climbs) == 0) {
				t.Fatalf("got %+v", climbs)
			}
			var said strings.Builder
			for _, c := range climbs {
				for _, s := range c.Steps {
					said.WriteString(s.sentence() + " → " + s.Binds + "\n")
				}
			}
			for _, want := range tc.want {
				if !strings.Contains(said.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, said.String())
				}
			}
		})
	}
}
