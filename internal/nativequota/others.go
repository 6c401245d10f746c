package nativequota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/amount"
)

func chargesClaims(name corev1.ResourceName) bool {
	_, what, classed := strings.Cut(string(name), storageClassInfix)
	if !classed {
		what = string(name)
	}
	return what == string(corev1.ResourceRequestsStorage) || what == string(corev1.ResourcePersistentVolumeClaims)
}

func claimUsage(claim *corev1.PersistentVolumeClaim) corev1.ResourceList {
	usage := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: one()}
	if storage, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		if allocated := claim.Status.AllocatedResources[corev1.ResourceStorage]; allocated.Cmp(storage) > 0 {
			storage = allocated
		}
		storage = storage.DeepCopy()
		storage.RoundUp(0)
		usage[corev1.ResourceRequestsStorage] = storage
	}
	class, found := claim.Annotations[corev1.BetaStorageClassAnnotation]
	if !found && claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	if class != "" {
		for _, name := range []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage} {
			if quantity, ok := usage[name]; ok {
				usage[corev1.ResourceName(class+storageClassInfix)+name] = quantity
			}
		}
	}
	return usage
}

// attributesClasses returns the volume attributes classes that a claim has, had or shall have.
func attributesClasses(claim *corev1.PersistentVolumeClaim) []string {
	var classes []string
	for _, class := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if class != nil {
			classes = append(classes, *class)
		}
	}
	if modification := claim.Status.ModifyVolumeStatus; modification != nil {
		classes = append(classes, modification.TargetVolumeAttributesClassName)
	}
	return classes
}

func chargesServices(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceServices, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	default:
		return false
	}
}

func serviceUsage(service *corev1.Service) corev1.ResourceList {
	balanced := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	ports := 0
	switch allocate := service.Spec.AllocateLoadBalancerNodePorts; {
	case balanced && allocate != nil && !*allocate:
		for i := range service.Spec.Ports {
			if service.Spec.Ports[i].NodePort != 0 {
				ports++
			}
		}
	case balanced, service.Spec.Type == corev1.ServiceTypeNodePort:
		ports = len(service.Spec.Ports)
	}
	usage := corev1.ResourceList{
		corev1.ResourceServices:              one(),
		corev1.ResourceServicesNodePorts:     *resource.NewQuantity(int64(ports), resource.DecimalSI),
		corev1.ResourceServicesLoadBalancers: {Format: resource.DecimalSI},
	}
	if balanced {
		usage[corev1.ResourceServicesLoadBalancers] = one()
	}
	return usage
}

func chargesResourceClaims(name corev1.ResourceName) bool {
	return strings.HasSuffix(string(name), corev1.ResourceClaimsPerClass)
}

// ChargesExtended says whether ResourceClaims may be charged under a name of pods: that of an extended resource.
func ChargesExtended(name corev1.ResourceName) bool {
	bare, ok := strings.CutPrefix(string(name), requestsPrefix)
	return ok && extended(bare)
}

// chargesClaimsFor says whether native quota charges claims under the names of extended resources. It looks whether any
// name of the quota concerns claims, and then charges under all of them: a device class that stands for no extended
// resource does not concern them by itself, and is charged beside others. Where no class stands for any, an older API
// server may not know of that.
func chargesClaimsFor(limited corev1.ResourceList, mapped map[string]string) bool {
	if len(mapped) == 0 {
		return false
	}
	names := map[corev1.ResourceName]bool{countName(ResourceClaims): true}
	for class, stands := range mapped {
		names[corev1.ResourceName(deviceClassRequests+class)] = true
		names[corev1.ResourceName(requestsPrefix+stands)] = true
	}
	for name := range limited {
		if names[name] || chargesResourceClaims(name) {
			return true
		}
	}
	return false
}

// extendedUsage returns what a ResourceClaim is charged under the names of extended resources. Of a claim that the
// scheduler has made for the extended resources of a pod nothing is returned: it is charged what the pod is not, for
// the most part nothing, and native quota alone knows how much that is.
func extendedUsage(claim *resourcev1.ResourceClaim, mapped map[string]string) corev1.ResourceList {
	if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
		return nil
	}
	usage := corev1.ResourceList{}
	for class, count := range devicesOf(claim) {
		quantity := *resource.NewQuantity(count, resource.DecimalSI)
		usage[corev1.ResourceName(deviceClassRequests+class)] = quantity
		// Of several classes that stand for the same, native quota charges one, and nobody can tell which.
		name := corev1.ResourceName(requestsPrefix + mapped[class])
		if other, charged := usage[name]; mapped[class] != "" && (!charged || quantity.Cmp(other) < 0) {
			usage[name] = quantity
		}
	}
	return usage
}

// resourceClaimUsage returns what a ResourceClaim is charged under its own names.
func resourceClaimUsage(claim *resourcev1.ResourceClaim) corev1.ResourceList {
	usage := corev1.ResourceList{}
	for class, count := range devicesOf(claim) {
		usage[corev1.ResourceName(class+corev1.ResourceClaimsPerClass)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return usage
}

// devicesOf returns how many devices a claim is charged, by their class.
func devicesOf(claim *resourcev1.ResourceClaim) map[string]int64 {
	counts := map[string]int64{}
	add := func(class string, devices int64) {
		counts[class] = amount.Add(counts[class], max(devices, 0))
	}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if exact := request.Exactly; exact != nil && len(request.FirstAvailable) == 0 {
			add(exact.DeviceClassName, devices(exact.AllocationMode, exact.Count))
			continue
		}
		most := map[string]int64{}
		for _, sub := range request.FirstAvailable {
			most[sub.DeviceClassName] = max(most[sub.DeviceClassName], devices(sub.AllocationMode, sub.Count))
		}
		for class, count := range most {
			add(class, count)
		}
	}
	return counts
}

func devices(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return count
	case resourcev1.DeviceAllocationModeAll:
		return resourcev1.AllocationResultsMaxSize
	default:
		return 0
	}
}
