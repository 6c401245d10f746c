package validate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// counts are the standard names under which objects are counted.
var counts = sets.New(
	corev1.ResourcePods, corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers,
	corev1.ResourceReplicationControllers, corev1.ResourceQuotas, corev1.ResourceSecrets, corev1.ResourceConfigMaps,
	corev1.ResourcePersistentVolumeClaims,
)

// sizes are the standard names under which sizes are added up.
var sizes = sets.New(
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage, corev1.ResourceRequestsStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
)

// coreCounts are the kinds of the core API group that count/NAME counts.
var coreCounts = sets.New(
	"configmaps", "endpoints", "limitranges", "persistentvolumeclaims", "pods", "podtemplates", "replicationcontrollers",
	"resourcequotas", "secrets", "serviceaccounts", "services",
)

const (
	requestsPrefix    = corev1.DefaultResourceRequestsPrefix
	countPrefix       = "count/"
	hugePagesPrefix   = corev1.ResourceHugePagesPrefix
	storageClassInfix = ".storageclass.storage.k8s.io/"
	deviceClassSuffix = ".deviceclass.resource.k8s.io/devices"
)

// Name returns why a ResourceQuota counts nothing under a resource name, or "" if it does.
func Name(name corev1.ResourceName) string {
	s := string(name)
	if counts.Has(name) || sizes.Has(name) || strings.HasPrefix(s, hugePagesPrefix) || strings.HasPrefix(s, requestsPrefix+hugePagesPrefix) {
		return ""
	}
	prefix, rest, qualified := strings.Cut(s, "/")
	switch {
	case !qualified:
		return "is no resource name that ResourceQuota counts: valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps"
	case len(validation.IsQualifiedName(s)) > 0:
		return strings.Join(validation.IsQualifiedName(s), "; ")
	case strings.HasPrefix(s, countPrefix):
		return countName(rest)
	case strings.HasSuffix(s, deviceClassSuffix), strings.HasPrefix(s, requestsPrefix):
		return ""
	case strings.Contains(s, storageClassInfix):
		return storageName(rest)
	case strings.HasPrefix(prefix, "limits."):
		return fmt.Sprintf("is accepted by ResourceQuota and never counted, since extended resources have no limits of their own: use requests.%s", strings.TrimPrefix(s, "limits."))
	default:
		return fmt.Sprintf("is accepted by ResourceQuota and never counted: use requests.%s", s)
	}
}

// countName checks what stands behind count/. A name with a group may be of a kind that only the members know.
func countName(name string) string {
	if strings.Contains(name, ".") || coreCounts.Has(name) {
		return ""
	}
	return fmt.Sprintf("is accepted by ResourceQuota and never counted: the core API group has no countable resource %q; valid are count/RESOURCE.GROUP (such as count/deployments.apps) and count/ with one of %s",
		name, strings.Join(sets.List(coreCounts), ", "))
}

func storageName(name string) string {
	if name == string(corev1.ResourceRequestsStorage) || name == string(corev1.ResourcePersistentVolumeClaims) {
		return ""
	}
	return "is accepted by ResourceQuota and never counted: behind a storage class, valid are requests.storage and persistentvolumeclaims"
}

// integer says whether whole objects are counted under a name.
func integer(name corev1.ResourceName) bool {
	s := string(name)
	return counts.Has(name) || strings.HasPrefix(s, countPrefix) || strings.HasSuffix(s, deviceClassSuffix) ||
		strings.HasSuffix(s, storageClassInfix+string(corev1.ResourcePersistentVolumeClaims))
}
