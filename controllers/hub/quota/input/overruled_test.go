package input

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverruled(t *testing.T) {
	const how = ": the last rule that matches a cluster counts"
	tests := map[string]struct {
		distribution string
		want         []string
	}{
		"no rule":                   {distribution: `{}`},
		"all, some, one":            {distribution: `{rules: [{weight: 1, max: {pods: "5"}}, {clusterSelector: {matchLabels: {tier: prod}}, weight: 2}, {clusters: [p1], weight: 3, max: {pods: "9"}}]}`},
		"the same twice":            {distribution: `{rules: [{clusters: [p1], weight: 3, max: {pods: "1"}}, {clusters: [p1], weight: 3, max: {pods: "1000m"}}]}`},
		"another field":             {distribution: `{rules: [{clusters: [p1], weight: 3}, {clusters: [p1], min: {pods: "1"}}]}`},
		"other clusters":            {distribution: `{rules: [{clusters: [p1], weight: 3}, {clusters: [t1], weight: 1}]}`},
		"weights that do not count": {distribution: `{weights: Equal, rules: [{clusters: [p1], weight: 3}, {clusters: [p1], weight: 1}]}`},
		"an empty map sets nothing": {distribution: `{rules: [{clusters: [p1], max: {pods: "1"}}, {clusters: [p1], max: {}}]}`},
		"two for one": {
			distribution: `{rules: [{clusters: [p1], weight: 3}, {clusters: [p1], weight: 1}]}`,
			want:         []string{"spec.distribution.rules[0].weight: does not count for p1, since rules[1] sets it after that" + how},
		},
		"one, then all": {
			distribution: `{rules: [{clusters: [p1], max: {pods: "1"}}, {clusterSelector: {}, max: {pods: "5"}}]}`,
			want:         []string{"spec.distribution.rules[0].max: does not count for p1, since rules[1] sets it after that" + how},
		},
		"headroom": {
			distribution: `{rules: [{clusters: [p1], headroom: {pods: "1"}}, {clusters: [p1], headroom: {pods: "2"}}]}`,
			want:         []string{"spec.distribution.rules[0].headroom: does not count for p1, since rules[1] sets it after that" + how},
		},
		"two selectors, and all": {
			distribution: `{rules: [{clusterSelector: {matchLabels: {tier: prod}}, min: {pods: "1"}}, {clusterSelector: {matchLabels: {name: p2}}, min: {pods: "2"}}, {lendable: {pods: "1"}}, {lendable: {pods: "2"}}]}`,
			want: []string{
				"spec.distribution.rules[0].min: does not count for p2, since rules[1] sets it after that" + how,
				"spec.distribution.rules[2].lendable: does not count for p1, p2, t1, since rules[3] sets it after that" + how,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fq := quotaOf("placement: {clusterSelector: {}}\ndistribution: " + tc.distribution)
			if diff := cmp.Diff(tc.want, ViewOf(fq, clustersOf("p1", "p2", "t1")).Overruled); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
