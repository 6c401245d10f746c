package census

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/fedquota/fedquota/internal/observer/quantity"
)

const (
	requestsPrefix     = "requests."
	limitsPrefix       = "limits."
	countPrefix        = "count/"
	storageClassSuffix = ".storageclass.storage.k8s.io/"
	deviceClassPrefix  = "deviceclass.resource.kubernetes.io/"
)

// cost returns what one object is charged for a resource name, in the unit of that name.
type cost[T any] func(object T, name corev1.ResourceName) resource.Quantity

var one = *resource.NewQuantity(1, resource.DecimalSI)

// whole names what native quota counts as compute under its own name as well as with the prefix for requests.
var whole = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// chargesPods reports whether pods are charged for name.
func chargesPods(name corev1.ResourceName) bool {
	_, requested := requestedBy(name)
	_, limited := limitedBy(name)
	return requested || limited || name == corev1.ResourcePods || name == countPrefix+"pods"
}

// requestedBy returns the resource whose requests a name charges: cpu for both cpu and requests.cpu. Extended
// resources are charged under requests only.
func requestedBy(name corev1.ResourceName) (corev1.ResourceName, bool) {
	bare, prefixed := strings.CutPrefix(string(name), requestsPrefix)
	resourceName := corev1.ResourceName(bare)
	switch {
	case slices.Contains(whole, resourceName), strings.HasPrefix(bare, corev1.ResourceHugePagesPrefix):
		return resourceName, true
	default:
		extended := strings.Contains(bare, "/") && !strings.HasPrefix(bare, deviceClassPrefix)
		return resourceName, prefixed && extended
	}
}

// limitedBy returns the resource whose limits a name charges.
func limitedBy(name corev1.ResourceName) (corev1.ResourceName, bool) {
	bare, prefixed := strings.CutPrefix(string(name), limitsPrefix)
	return corev1.ResourceName(bare), prefixed && slices.Contains(whole, corev1.ResourceName(bare))
}

// podCost returns a cost function for pods as of an instant. Like native quota, it charges a pod that is terminal, or
// that should have been gone by now, for count/pods only.
func podCost(now time.Time) cost[*corev1.Pod] {
	return func(pod *corev1.Pod, name corev1.ResourceName) resource.Quantity {
		if name == countPrefix+"pods" {
			return one
		}
		if endOfLife(pod, now) {
			return resource.Quantity{}
		}
		if name == corev1.ResourcePods {
			return one
		}
		options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
		if limited, ok := limitedBy(name); ok {
			return resourcehelper.PodLimits(pod, options)[limited]
		}
		requested, _ := requestedBy(name)
		return resourcehelper.PodRequests(pod, options)[requested]
	}
}

func endOfLife(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return now.After(pod.DeletionTimestamp.Add(grace))
}

// chargesServices reports whether services are charged for name by more than their number.
func chargesServices(name corev1.ResourceName) bool {
	return name == corev1.ResourceServicesNodePorts || name == corev1.ResourceServicesLoadBalancers
}

func serviceCost(service *corev1.Service, name corev1.ResourceName) resource.Quantity {
	balanced := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	if name == corev1.ResourceServicesLoadBalancers {
		if balanced {
			return one
		}
		return resource.Quantity{}
	}
	ports := 0
	switch allocate := service.Spec.AllocateLoadBalancerNodePorts; {
	case balanced && allocate != nil && !*allocate:
		for _, port := range service.Spec.Ports {
			if port.NodePort != 0 {
				ports++
			}
		}
	case balanced, service.Spec.Type == corev1.ServiceTypeNodePort:
		ports = len(service.Spec.Ports)
	}
	return *resource.NewQuantity(int64(ports), resource.DecimalSI)
}

// chargesClaims reports whether persistent volume claims are charged for name.
func chargesClaims(name corev1.ResourceName) bool {
	return name == corev1.ResourceRequestsStorage || numbersClaims(name) ||
		strings.Contains(string(name), storageClassSuffix)
}

// numbersClaims reports whether a name charges the number of persistent volume claims of all classes.
func numbersClaims(name corev1.ResourceName) bool {
	return name == corev1.ResourcePersistentVolumeClaims || name == countPrefix+corev1.ResourcePersistentVolumeClaims
}

func claimCost(claim *corev1.PersistentVolumeClaim, name corev1.ResourceName) resource.Quantity {
	if numbersClaims(name) {
		return one
	}
	class, what, classed := strings.Cut(string(name), storageClassSuffix)
	if classed && class != classOf(claim) {
		return resource.Quantity{}
	}
	if what == string(corev1.ResourcePersistentVolumeClaims) {
		return one
	}
	storage := quantity.Larger(
		claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.AllocatedResources[corev1.ResourceStorage],
	)
	storage = storage.DeepCopy()
	storage.RoundUp(0)
	return storage
}

// classOf returns the storage class of a claim; the annotation is the old way to set it and goes first.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if class, found := claim.Annotations[corev1.BetaStorageClassAnnotation]; found {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
