package nativequota

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourceRequestsCPU,
	corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage, corev1.ResourceRequestsStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
)

// coreCounts are the kinds of the core API group that count/NAME counts.
var coreCounts = sets.New(
	"configmaps", "endpoints", "limitranges", "persistentvolumeclaims", "pods", "podtemplates", "replicationcontrollers",
	"resourcequotas", "secrets", "serviceaccounts", "services",
)

const (
	requestsPrefix      = corev1.DefaultResourceRequestsPrefix
	limitsPrefix        = "limits."
	countPrefix         = "count/"
	countPods           = countPrefix + "pods"
	countClaims         = countPrefix + "persistentvolumeclaims"
	countEvents         = countPrefix + "events.events.k8s.io"
	hugePagesPrefix     = corev1.ResourceHugePagesPrefix
	storageClassInfix   = ".storageclass.storage.k8s.io/"
	deviceClassSuffix   = ".deviceclass.resource.k8s.io/devices"
	deviceClassPrefix   = "deviceclass.resource.kubernetes.io/"
	deviceClassRequests = requestsPrefix + deviceClassPrefix
	nativeInfix         = "kubernetes.io/"

	neverCounted = "is accepted by ResourceQuota and never counted"
	ownCount     = "a scheduler that reads this name, as HAMi's does, keeps a count of its own in each cluster, which no budget can split: leave the name to a ResourceQuota of its own there"
	someNames    = "valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps"
)

// Name returns why a ResourceQuota counts nothing under a resource name, or "" if it does.
func Name(name corev1.ResourceName) string {
	s := string(name)
	switch problems := validation.IsQualifiedName(s); {
	case len(problems) > 0:
		return fmt.Sprintf("is no resource name: %s; %s", strings.Join(problems, "; "), someNames)
	case counts.Has(name) || sizes.Has(name):
		return ""
	case !strings.Contains(s, "/"):
		return bareName(s)
	}
	return qualifiedName(s)
}

// bareName checks a name that stands for no object and for no standard size: it must be of huge pages.
func bareName(s string) string {
	page, ok := strings.CutPrefix(strings.TrimPrefix(s, requestsPrefix), hugePagesPrefix)
	if !ok {
		return "is no resource name that ResourceQuota counts: " + someNames
	}
	if size, err := resource.ParseQuantity(page); err != nil || size.Sign() <= 0 {
		return fmt.Sprintf(
			"%s: %q is no page size; valid are names such as %s2Mi or %s%s1Gi", neverCounted, page, hugePagesPrefix,
			requestsPrefix, hugePagesPrefix,
		)
	}
	return ""
}

// qualifiedName checks a name with a slash.
func qualifiedName(s string) string {
	prefix, rest, _ := strings.Cut(s, "/")
	switch {
	case prefix+"/" == countPrefix:
		return countProblem(rest)
	case strings.HasSuffix(s, deviceClassSuffix), strings.HasPrefix(s, deviceClassRequests):
		return ""
	case strings.Contains("."+s, storageClassInfix):
		return storageName(s, rest)
	case strings.Contains(s, nativeInfix):
		return neverCounted + ", since Kubernetes keeps kubernetes.io to itself: " + someNames
	case strings.HasPrefix(s, requestsPrefix):
		return ""
	case strings.HasPrefix(s, limitsPrefix):
		return fmt.Sprintf(
			"%s: use %s%s, which counts what containers state; %s", neverCounted, requestsPrefix,
			strings.TrimPrefix(s, limitsPrefix), ownCount,
		)
	}
	return fmt.Sprintf("%s: use %s%s", neverCounted, requestsPrefix, s)
}

// countProblem checks what stands behind count/. A name with a group may be of a kind that only the members know.
func countProblem(name string) string {
	switch {
	case countPrefix+name == countEvents:
		return neverCounted + ": no quota counts events"
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Sprintf("%s: write the resource in lower case, as in count/deployments.apps", neverCounted)
	case strings.Contains(name, ".") || coreCounts.Has(name):
		return ""
	}
	return fmt.Sprintf(
		"%s: the core API group has no countable resource %q; valid are count/RESOURCE.GROUP (such as count/deployments.apps) and count/ with one of %s",
		neverCounted, name, strings.Join(sets.List(coreCounts), ", "),
	)
}

// storageName checks a name that speaks of a storage class; rest is what stands behind the slash.
func storageName(s, rest string) string {
	if rest != string(corev1.ResourceRequestsStorage) && rest != string(corev1.ResourcePersistentVolumeClaims) {
		return neverCounted + ": behind a storage class, valid are requests.storage and persistentvolumeclaims"
	}
	if !strings.Contains(s, storageClassInfix) {
		return fmt.Sprintf("%s: name the storage class, as in gold%s%s", neverCounted, storageClassInfix, rest)
	}
	return ""
}

// Integer says whether a ResourceQuota takes only whole numbers under a name.
func Integer(name corev1.ResourceName) bool {
	s := string(name)
	return counts.Has(name) ||
		strings.Contains(s, "/") && !strings.Contains(s, nativeInfix) && !strings.HasPrefix(s, requestsPrefix)
}

// OfNode returns the name under which nodes have what is counted under name: cpu for requests.cpu and cpu, pods for
// pods, nvidia.com/gpu for requests.nvidia.com/gpu; "" if nodes have nothing of it.
func OfNode(name corev1.ResourceName) corev1.ResourceName {
	if name == corev1.ResourcePods || name == countPods {
		return corev1.ResourcePods
	}
	bare := corev1.ResourceName(strings.TrimPrefix(string(name), requestsPrefix))
	huge := strings.HasPrefix(string(bare), hugePagesPrefix)
	if compute[bare] || huge || bare != name && extended(string(bare)) {
		return bare
	}
	return ""
}
