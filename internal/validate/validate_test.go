package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/e2e/native/cases"
	"github.com/fedquota/fedquota/internal/validate"
)

// problems returns what is wrong with the spec that the YAML says, a line for each problem.
func problems(content string) string {
	var lines []string
	for _, problem := range validate.Spec(cases.FederatedQuotaSpec(content)) {
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "\n")
}

// manyNames returns amounts of so many resource names.
func manyNames(count int) string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf(`count/k%d.example.com: "1"`, i)
	}
	return strings.Join(names, ", ")
}

func TestSpec(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"whole": {spec: `
hard: {requests.cpu: "100", requests.memory: 400Gi, pods: "500", requests.nvidia.com/gpu: "8"}
reserve: {requests.cpu: "10"}
placement: {clusterSelector: {matchLabels: {tier: prod}}}
distribution:
  rules:
  - {clusters: [east], weight: 3, min: {requests.cpu: "5"}, lendable: {requests.cpu: "5"}, max: {requests.cpu: "50", pods: "100"}}
  - {clusterSelector: {matchExpressions: [{key: tier, operator: In, values: [prod]}]}, max: {requests.memory: 100Gi}}`},
		"whole steps": {spec: `
hard: {requests.memory: 25Gi, pods: "10", requests.cpu: "1"}
distribution: {granularity: {requests.memory: 4Gi, pods: "2", requests.cpu: 100m}, rules: [{min: {requests.memory: 8Gi, pods: "2"}, max: {requests.memory: 12Gi}}]}`},
		"steps that are none": {
			spec: `
hard: {requests.memory: 4Gi, pods: "10", requests.cpu: "1", secrets: "1"}
distribution: {granularity: {requests.memory: 5Gi, pods: 1500m, requests.cpu: 1500u, secrets: "0", services: "1"}}`,
			want: `spec.distribution.granularity[pods]: Invalid value: "1500m": must be a whole number
spec.distribution.granularity[requests.cpu]: Invalid value: "1500u": must be a multiple of 1m
spec.distribution.granularity[secrets]: Invalid value: "0": must be more than 0
spec.distribution.granularity[services]: Unsupported value: "services": supported values: "pods", "requests.cpu", "requests.memory", "secrets"
spec.distribution.granularity[requests.memory]: Invalid value: "5Gi": must be at most spec.hard[requests.memory], which is 4Gi`,
		},
		"bounds beside the steps": {
			spec: `
hard: {requests.memory: 25Gi}
distribution: {granularity: {requests.memory: 4Gi}, rules: [{min: {requests.memory: 5Gi}, max: {requests.memory: 10Gi}}]}`,
			want: `spec.distribution.rules[0].min[requests.memory]: Invalid value: "5Gi": must be a multiple of spec.distribution.granularity[requests.memory], which is 4Gi
spec.distribution.rules[0].max[requests.memory]: Invalid value: "10Gi": must be a multiple of spec.distribution.granularity[requests.memory], which is 4Gi`,
		},
		"a reserve of what follows the nodes": {spec: `
capacity: {resources: [requests.cpu]}
reserve: {requests.cpu: "1"}`},
		"a reserve of what is not limited": {
			spec: `
hard: {pods: "10"}
capacity: {resources: [requests.cpu]}
reserve: {requests.memory: 1Gi}`,
			want: `spec.reserve[requests.memory]: Unsupported value: "requests.memory": supported values: "pods", "requests.cpu"`,
		},
		"more names than there is room for": {
			spec: "hard: {" + manyNames(32) + "}\ncapacity: {resources: [count/k0.example.com, requests.cpu]}",
			want: `spec.capacity.resources[0]: Invalid value: "count/k0.example.com": nodes have nothing of that: valid are names such as requests.cpu, pods or requests.nvidia.com/gpu
spec.capacity.resources: Invalid value: 2: with those of spec.hard there would be 33 resources, and at most 32 have room: name fewer`,
		},
		"nodes for what follows them": {spec: `
hard: {requests.cpu: "1"}
capacity: {scaleOut: {machineDeploymentSelector: {}}}`},
		"nodes for what does not follow them": {
			spec: `
hard: {services: "1", limits.cpu: "4"}
capacity: {scaleOut: {machineDeploymentSelector: {matchExpressions: [{key: a, operator: In}]}}}`,
			want: `spec.capacity.scaleOut.machineDeploymentSelector.matchExpressions[0].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'" + `
spec.capacity.scaleOut: Invalid value: "limits.cpu, services": no name of the budget follows the nodes, so none would ever be added: name some in capacity.resources, such as requests.cpu`,
		},
		"negative": {
			spec: `hard: {pods: "-1"}`,
			want: `spec.hard[pods]: Invalid value: "-1": is negative: must be 0 or more`,
		},
		"too large for a count": {
			spec: `hard: {pods: "9223372036854776"}`,
			want: `spec.hard[pods]: Invalid value: "9223372036854776": is too large: must be at most 9223372036854775, above which ResourceQuota does not compute`,
		},
		"the largest count": {spec: `hard: {pods: "9223372036854775"}`},
		"too large for bytes": {
			spec: `hard: {requests.memory: "9223372036854775808"}`,
			want: `spec.hard[requests.memory]: Invalid value: "9223372036854775808": is too large: must be at most 9223372036854775806`,
		},
		"too large for cpu": {
			spec: `hard: {requests.cpu: 10P}`,
			want: `spec.hard[requests.cpu]: Invalid value: "10P": is too large: must be at most 9223372036854775806m`,
		},
		"many bytes":       {spec: `hard: {requests.storage: 8000Pi}`},
		"a part of a core": {spec: `hard: {cpu: 100m}`},
		"a part of a thousandth": {
			spec: `hard: {requests.cpu: 500u}`,
			want: `spec.hard[requests.cpu]: Invalid value: "500u": must be 0 or at least 1m, since less counts as nothing`,
		},
		"a part of a byte": {
			spec: `hard: {requests.memory: 100m}`,
			want: `spec.hard[requests.memory]: Invalid value: "100m": must be 0 or at least 1, since less counts as nothing`,
		},
		"a part of a byte beside many": {spec: `hard: {requests.memory: 0.1Gi}`},
		"no memory":                    {spec: `hard: {requests.memory: "0"}`},
		"a part of a pod": {
			spec: `hard: {pods: 1500m}`,
			want: `spec.hard[pods]: Invalid value: "1500m": must be a whole number`,
		},
		"a part of an object": {
			spec: `hard: {count/jobs.batch: "0.5"}`,
			want: `spec.hard[count/jobs.batch]: Invalid value: "500m": must be a whole number`,
		},
		"a part of a byte in a storage class": {
			spec: `hard: {gold.storageclass.storage.k8s.io/requests.storage: 1500m}`,
			want: `spec.hard[gold.storageclass.storage.k8s.io/requests.storage]: Invalid value: "1500m": must be a whole number`,
		},
		"a name that is never counted": {
			spec: `hard: {nvidia.com/gpu: "8"}`,
			want: `spec.hard[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": is accepted by ResourceQuota and never counted: use requests.nvidia.com/gpu`,
		},
		"a negative reserve": {
			spec: `{hard: {pods: "10"}, reserve: {pods: "-2"}}`,
			want: `spec.reserve[pods]: Invalid value: "-2": is negative: must be 0 or more`,
		},
		"a reserve above the budget": {
			spec: `{hard: {requests.cpu: "10"}, reserve: {requests.cpu: 10001m}}`,
			want: `spec.reserve[requests.cpu]: Invalid value: "10001m": must be at most spec.hard[requests.cpu], which is 10`,
		},
		"all reserved": {spec: `{hard: {pods: "10"}, reserve: {pods: "10"}}`},
		"min above max": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{weight: 1}, {min: {pods: "5"}, max: {pods: "4"}}]}}`,
			want: `spec.distribution.rules[1].min[pods]: Invalid value: "5": must be at most spec.distribution.rules[1].max[pods], which is 4`,
		},
		"min above the budget": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{min: {pods: "11"}}]}}`,
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "11": must be at most spec.hard[pods], which is 10`,
		},
		"max above the budget bounds nothing": {spec: `{hard: {pods: "10"}, distribution: {rules: [{max: {pods: "11"}}]}}`},
		"headroom above all there is": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{headroom: {pods: "11"}}, {max: {pods: "4"}, headroom: {pods: "5"}}]}}`,
			want: `spec.distribution.rules[0].headroom[pods]: Invalid value: "11": must be at most spec.hard[pods], which is 10
spec.distribution.rules[1].headroom[pods]: Invalid value: "5": must be at most spec.distribution.rules[1].max[pods], which is 4`,
		},
		"headroom beside the steps": {
			spec: `{hard: {pods: "10"}, distribution: {granularity: {pods: "2"}, rules: [{headroom: {pods: "3"}}]}}`,
			want: `spec.distribution.rules[0].headroom[pods]: Invalid value: "3": must be a multiple of spec.distribution.granularity[pods], which is 2`,
		},
		"lendable above min": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{min: {pods: "5"}, lendable: {pods: "6"}}]}}`,
			want: `spec.distribution.rules[0].lendable[pods]: Invalid value: "6": must be at most spec.distribution.rules[0].min[pods], which is 5`,
		},
		"bounds of a resource that hard does not name": {
			spec: `{hard: {pods: "10", secrets: "5"}, distribution: {rules: [{min: {services: "1"}, lendable: {services: "1"}, max: {configmaps: "1"}}]}}`,
			want: `spec.distribution.rules[0].min[services]: Unsupported value: "services": supported values: "pods", "secrets"
spec.distribution.rules[0].lendable[services]: Unsupported value: "services": supported values: "pods", "secrets"
spec.distribution.rules[0].max[configmaps]: Unsupported value: "configmaps": supported values: "pods", "secrets"`,
		},
		"a negative min and a fractional max": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{min: {pods: "-1"}, max: {pods: 2500m}}]}}`,
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "-1": is negative: must be 0 or more
spec.distribution.rules[0].max[pods]: Invalid value: "2500m": must be a whole number`,
		},
		"a selector with a wrong operator": {
			spec: `{hard: {pods: "10"}, placement: {clusterSelector: {matchExpressions: [{key: tier, operator: Is, values: [prod]}]}}}`,
			want: `spec.placement.clusterSelector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "DoesNotExist", "Exists", "In", "NotIn"`,
		},
		"a namespace with a wrong label": {
			spec: `{hard: {pods: "10"}, placement: {clusters: [a], createNamespace: true, namespaceTemplate: {labels: {"a b": c}}}}`,
			want: `spec.placement.namespaceTemplate.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
		"a namespace with an annotation of ours": {
			spec: `{hard: {pods: "10"}, placement: {clusters: [a], createNamespace: true, namespaceTemplate: {annotations: {quota.fedquota.io/covered: pods}}}}`,
			want: `spec.placement.namespaceTemplate.annotations[quota.fedquota.io/covered]: Forbidden: is for fedquota to set`,
		},
		"a selector without values": {
			spec: `{hard: {pods: "10"}, distribution: {rules: [{clusterSelector: {matchExpressions: [{key: tier, operator: In}]}}]}}`,
			want: `spec.distribution.rules[0].clusterSelector.matchExpressions[0].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'",
		},
		"a selector with a wrong value": {
			spec: `{hard: {pods: "10"}, placement: {clusterSelector: {matchLabels: {tier: "a b"}}}}`,
			want: `spec.placement.clusterSelector.matchLabels: Invalid value: "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, problems(tc.spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	for name, tc := range cases.Scopes {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.Want, problems(tc.YAML)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
