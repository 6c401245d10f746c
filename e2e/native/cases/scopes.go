// Package cases holds names and specs, valid and not, for the tests of package validate and for the comparison with a
// real control plane.
package cases

import (
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// FederatedQuotaSpec returns the spec that the YAML says.
func FederatedQuotaSpec(content string) *quotav1alpha1.FederatedQuotaSpec {
	spec := &quotav1alpha1.FederatedQuotaSpec{}
	if err := yaml.UnmarshalStrict([]byte(content), spec); err != nil {
		panic(content + ": " + err.Error())
	}
	return spec
}

// Spec is a spec as YAML.
type Spec struct {
	YAML string
	// Want is what is wrong with it, a line for each problem.
	Want string
	// Refused says that a ResourceQuota refuses it too.
	Refused bool
}

// Scopes are specs with scopes.
var Scopes = map[string]Spec{
	"pods by priority": {YAML: `
hard: {pods: "10", requests.cpu: "1", limits.memory: 1Gi, count/pods: "5", requests.nvidia.com/gpu: "1"}
scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}`},
	"any priority": {
		YAML: `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}}`,
	},
	"terminating": {YAML: `{hard: {pods: "1", memory: 1Gi}, scopes: [Terminating]}`},
	"best effort": {YAML: `{hard: {pods: "1"}, scopes: [BestEffort]}`},
	"cross namespace": {
		YAML: `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: CrossNamespacePodAffinity, operator: Exists}]}}`,
	},
	"volumes": {YAML: `
hard: {persistentvolumeclaims: "1", requests.storage: 1Gi, count/persistentvolumeclaims: "1", gold.storageclass.storage.k8s.io/requests.storage: 1Gi}
scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, operator: In, values: [fast]}]}`},
	"best effort of cores": {
		YAML:    `{hard: {requests.cpu: "1", pods: "1"}, scopes: [BestEffort]}`,
		Refused: true,
		Want:    `spec.scopes[0]: Invalid value: "BestEffort": does not apply to spec.hard[requests.cpu]: it applies to pods, count/pods and requests.EXTENDED-RESOURCE`,
	},
	"a pod scope of services": {
		YAML:    `{hard: {services: "1"}, scopes: [NotBestEffort]}`,
		Refused: true,
		Want:    `spec.scopes[0]: Invalid value: "NotBestEffort": does not apply to spec.hard[services]: it applies to cpu, limits.cpu, limits.memory, memory, pods, requests.cpu, requests.memory, count/pods and requests.EXTENDED-RESOURCE`,
	},
	"a pod scope of ephemeral storage": {
		YAML:    `{hard: {requests.ephemeral-storage: 1Gi}, scopes: [Terminating]}`,
		Refused: true,
		Want:    `spec.scopes[0]: Invalid value: "Terminating": does not apply to spec.hard[requests.ephemeral-storage]: it applies to cpu, limits.cpu, limits.memory, memory, pods, requests.cpu, requests.memory, count/pods and requests.EXTENDED-RESOURCE`,
	},
	"a pod scope of huge pages": {
		YAML:    `{hard: {requests.hugepages-2Mi: 1Gi}, scopes: [Terminating]}`,
		Refused: true,
		Want:    `spec.scopes[0]: Invalid value: "Terminating": does not apply to spec.hard[requests.hugepages-2Mi]: it applies to cpu, limits.cpu, limits.memory, memory, pods, requests.cpu, requests.memory, count/pods and requests.EXTENDED-RESOURCE`,
	},
	"a pod scope of deployments, which a ResourceQuota never counts": {
		YAML: `{hard: {count/deployments.apps: "1"}, scopes: [Terminating]}`,
		Want: `spec.scopes[0]: Invalid value: "Terminating": does not apply to spec.hard[count/deployments.apps]: it applies to cpu, limits.cpu, limits.memory, memory, pods, requests.cpu, requests.memory, count/pods and requests.EXTENDED-RESOURCE`,
	},
	"a volume scope of pods": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass, operator: Exists}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].scopeName: Invalid value: "VolumeAttributesClass": does not apply to spec.hard[pods]: it applies to persistentvolumeclaims, requests.storage, count/persistentvolumeclaims and CLASS.storageclass.storage.k8s.io/…`,
	},
	"no such scope": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: Priority, operator: Exists}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].scopeName: Unsupported value: "Priority": supported values: "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass"`,
	},
	"a contradiction": {
		YAML:    `{hard: {pods: "1"}, scopes: [Terminating, NotTerminating]}`,
		Refused: true,
		Want:    `spec.scopes: Invalid value: "[NotTerminating Terminating]": nothing matches both Terminating and NotTerminating: use one of them`,
	},
	"a contradiction in the selector": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: Exists}, {scopeName: NotBestEffort, operator: Exists}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector: Invalid value: "[BestEffort NotBestEffort]": nothing matches both BestEffort and NotBestEffort: use one of them`,
	},
	"a contradiction that a ResourceQuota takes": {
		YAML: `{hard: {pods: "1"}, scopes: [Terminating], scopeSelector: {matchExpressions: [{scopeName: NotTerminating, operator: Exists}]}}`,
		Want: `spec.scopeSelector: Invalid value: "[NotTerminating Terminating]": nothing matches both Terminating and NotTerminating: use one of them`,
	},
	"values where none can be": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists, values: [high, low]}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].values: Invalid value: "high,low": must be empty for operator Exists`,
	},
	"no values": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].values: Required value: operator NotIn needs at least one value`,
	},
	"an operator that the scope does not take": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: In, values: [a]}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].operator: Invalid value: "In": must be Exists for scope BestEffort`,
	},
	"cross namespace by value": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: CrossNamespacePodAffinity, operator: DoesNotExist}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].operator: Invalid value: "DoesNotExist": must be Exists for scope CrossNamespacePodAffinity`,
	},
	"no such operator": {
		YAML:    `{hard: {pods: "1"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Is, values: [a]}]}}`,
		Refused: true,
		Want:    `spec.scopeSelector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist"`,
	},
}
