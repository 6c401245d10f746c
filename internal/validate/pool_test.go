package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/validate"
)

func lines(problems field.ErrorList) string {
	said := make([]string, 0, len(problems))
	for _, problem := range problems {
		said = append(said, problem.Error())
	}
	return strings.Join(said, "\n")
}

func TestPool(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"whole": {spec: `
parent: acme
hard: {requests.cpu: "300", requests.nvidia.com/gpu: "16"}
reserve: {requests.cpu: "2"}
allowedNamespaces: {selector: {matchLabels: {org: research}}}
distribution:
  granularity: {requests.cpu: "2"}
  rules:
  - {weight: 1}
  - {children: [vision, team/web], min: {requests.cpu: "100"}, lendable: {requests.cpu: "60"}, max: {requests.cpu: "200"}, headroom: {requests.cpu: "4"}}`},
		"everything below may use all": {spec: `{hard: {pods: "10"}, allowedNamespaces: {selector: {}}, distribution: {rules: [{max: {pods: "99"}}]}}`},
		"a name that is never counted": {
			spec: `hard: {nvidia.com/gpu: "8"}`,
			want: `spec.hard[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": is accepted by ResourceQuota and never counted: use requests.nvidia.com/gpu`,
		},
		"a reserve above the budget": {
			spec: `{hard: {requests.cpu: "10"}, reserve: {requests.cpu: "11"}}`,
			want: `spec.reserve[requests.cpu]: Invalid value: "11": must be at most spec.hard[requests.cpu], which is 10`,
		},
		"a reserve of what is not limited": {
			spec: `{hard: {pods: "10"}, reserve: {secrets: "1"}}`,
			want: `spec.reserve[secrets]: Unsupported value: "secrets": supported values: "pods"`,
		},
		"min above max": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{children: [a], min: {pods: "5"}, max: {pods: "4"}}]}}`,
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "5": must be at most spec.distribution.rules[0].max[pods], which is 4`,
		},
		"min of one rule above max of another": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{max: {pods: "4"}}, {children: [a, b/c], min: {pods: "5"}}, {children: [a], max: {pods: "6"}}]}}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "5": the rules give child b/c more than its max: must be at most 4`,
		},
		"min of a rule for all above max of another": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{min: {pods: "5"}}, {max: {pods: "4"}}]}}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "5": the rules give children that none of them names more than their max: must be at most 4`,
		},
		"min above the budget": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{min: {pods: "11"}}]}}`,
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "11": must be at most spec.hard[pods], which is 10`,
		},
		"bounds of what is not limited, and beside the steps": {
			spec: `{hard: {pods: "10"}, distribution: {granularity: {pods: "4"}, rules: [{max: {secrets: "1", pods: "6"}}]}}`,
			want: `spec.distribution.rules[0].max[secrets]: Unsupported value: "secrets": supported values: "pods"
spec.distribution.rules[0].max[pods]: Invalid value: "6": must be a multiple of spec.distribution.granularity[pods], which is 4`,
		},
		"a selector with a wrong operator": {
			spec: `{hard: {pods: "10"}, allowedNamespaces: {selector: {matchExpressions: [{key: org, operator: Is, values: [x]}]}}}`,
			want: `spec.allowedNamespaces.selector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "DoesNotExist", "Exists", "In", "NotIn"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var spec quotav1alpha1.QuotaPoolSpec
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lines(validate.Pool(&spec))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// line returns pools one below the other: p0 is the root.
func line(length int) validate.Parents {
	parents := validate.Parents{"p0": ""}
	for i := 1; i < length; i++ {
		parents[quotav1alpha1.PoolName(fmt.Sprintf("p%d", i))] = quotav1alpha1.PoolName(fmt.Sprintf("p%d", i-1))
	}
	return parents
}

func TestParents(t *testing.T) {
	long := line(9)
	middle := line(8)
	middle["p0"], middle["top"] = "top", ""
	for name, tc := range map[string]struct {
		parents validate.Parents
		of      quotav1alpha1.PoolName
		want    string
	}{
		"a root":                         {parents: validate.Parents{"a": ""}, of: "a"},
		"below a pool that is missing":   {parents: validate.Parents{"a": "b"}, of: "a"},
		"as many levels as there may be": {parents: line(8), of: "p7"},
		"one level more":                 {parents: long, of: "p8", want: `spec.parent: Invalid value: "p7": would have 9 pools one above the other: must be at most 8`},
		"a pool above eight others":      {parents: middle, of: "p0", want: `spec.parent: Invalid value: "top": would have 9 pools one above the other: must be at most 8`},
		"above itself":                   {parents: validate.Parents{"a": "a"}, of: "a", want: `spec.parent: Invalid value: "a": leads in a circle (a below a): name a pool that is not below a`},
		"a circle of three":              {parents: validate.Parents{"a": "b", "b": "c", "c": "a"}, of: "a", want: `spec.parent: Invalid value: "b": leads in a circle (a below b below c below a): name a pool that is not below a`},
		"below a circle of others":       {parents: validate.Parents{"a": "b", "b": "c", "c": "b"}, of: "a", want: `spec.parent: Invalid value: "b": leads in a circle (a below b below c below b): name a pool that is not below a`},
		"a circle beside":                {parents: validate.Parents{"a": "b", "b": "", "x": "y", "y": "x"}, of: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(tc.parents.Problems(tc.of))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAllows(t *testing.T) {
	for name, tc := range map[string]struct {
		selector string
		want     bool
	}{
		"none":                    {`{}`, false},
		"all":                     {`{selector: {}}`, true},
		"its label":               {`{selector: {matchLabels: {org: research}}}`, true},
		"another":                 {`{selector: {matchLabels: {org: retail}}}`, false},
		"one that cannot be read": {`{selector: {matchExpressions: [{key: org, operator: Is}]}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var spec quotav1alpha1.QuotaPoolSpec
			if err := yaml.UnmarshalStrict([]byte(tc.selector), &spec.AllowedNamespaces); err != nil {
				t.Fatal(err)
			}
			if got := validate.Allows(&spec, map[string]string{"org": "research"}); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
