package v1alpha1_test

import "testing"

func TestQuotaRequirementCreation(t *testing.T) {
	const (
		everywhere = "clusterSelector: {}\n"
		valid      = everywhere + "matchScopes: [{scopeName: PriorityClass, operator: In, values: [cluster-services]}]\n"
		selector   = "operator must be In or NotIn, with values, or Exists or DoesNotExist, without"
		resource   = "must be requests.DOMAIN/NAME (an extended resource), CLASS.storageclass.storage.k8s.io/requests.storage or " +
			"CLASS.storageclass.storage.k8s.io/persistentvolumeclaims"
	)
	refused := func(field, value, message string) string {
		return "spec" + field + ": Invalid value: " + value + message
	}
	testCreations(t, "QuotaRequirement", map[string]creation{
		"the least there is": {spec: valid},
		"everything": {spec: `
clusterSelector: {matchLabels: {tier: prod}, matchExpressions: [{key: a, operator: NotIn, values: [b]}, {key: c, operator: Exists}]}
exemptNamespaces: {names: [monitoring], selector: {matchExpressions: [{key: exempt, operator: Exists}]}}
matchScopes:
- {scopeName: PriorityClass, operator: NotIn, values: [a, b.c]}
- {scopeName: VolumeAttributesClass, operator: DoesNotExist}
- {scopeName: Terminating, operator: Exists}
resources: [gold.storageclass.storage.k8s.io/requests.storage, a.b.storageclass.storage.k8s.io/persistentvolumeclaims, requests.nvidia.com/gpu]
`},
		"nothing required": {spec: everywhere, want: refused("", "", "nothing is required: set matchScopes (such as a priority class), resources (such as storage of a class), or both")},
		"no clusters":      {spec: "resources: [requests.nvidia.com/gpu]", want: "spec.clusterSelector: Required value"},
		"a class without values": {
			spec: everywhere + "matchScopes: [{scopeName: PriorityClass, operator: In}]",
			want: refused(".matchScopes[0]", "", "values are for the operators In and NotIn, which need one or more"),
		},
		"values of any class": {
			spec: everywhere + "matchScopes: [{scopeName: PriorityClass, operator: Exists, values: [a]}]",
			want: refused(".matchScopes[0]", "", "values are for the operators In and NotIn, which need one or more"),
		},
		"a scope without classes": {
			spec: everywhere + "matchScopes: [{scopeName: BestEffort, operator: DoesNotExist}]",
			want: refused(".matchScopes[0]", "", "operator must be Exists for a scope without classes"),
		},
		"a name that native quota never counts": {spec: everywhere + "resources: [nvidia.com/gpu]", want: refused(".resources[0]", `"nvidia.com/gpu": `, resource)},
		"a name of all objects":                 {spec: everywhere + "resources: [pods]", want: refused(".resources[0]", `"pods": `, resource)},
		"as charts render what is left out":     {spec: valid + "resources: []\nexemptNamespaces: {names: []}"},
		"nothing required, in two lists": {
			spec: everywhere + "matchScopes: []\nresources: []",
			want: refused("", "", "nothing is required: set matchScopes (such as a priority class), resources (such as storage of a class), or both"),
		},
		"an empty list of values": {spec: everywhere + "matchScopes: [{scopeName: PriorityClass, operator: Exists, values: []}]"},
		"a class of an empty list": {
			spec: everywhere + "matchScopes: [{scopeName: PriorityClass, operator: In, values: []}]",
			want: refused(".matchScopes[0]", "", "values are for the operators In and NotIn, which need one or more"),
		},
		"every namespace exempt by no label": {
			spec: valid + "exemptNamespaces: {selector: {matchLabels: {}, matchExpressions: []}}",
			want: refused(".exemptNamespaces.selector", "", "an empty selector would exempt every namespace: set matchLabels or matchExpressions"),
		},
		"every namespace exempt": {
			spec: valid + "exemptNamespaces: {selector: {}}",
			want: refused(".exemptNamespaces.selector", "", "an empty selector would exempt every namespace: set matchLabels or matchExpressions"),
		},
		"a selector of clusters without values": {
			spec: "clusterSelector: {matchExpressions: [{key: a, operator: In}]}\nresources: [requests.nvidia.com/gpu]",
			want: refused(".clusterSelector.matchExpressions", "", selector),
		},
		"a selector of namespaces with an operator that is none": {
			spec: valid + "exemptNamespaces: {selector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}",
			want: refused(".exemptNamespaces.selector.matchExpressions", "", selector),
		},
	})
}
