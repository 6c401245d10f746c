package nativequota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// compulsory are the names under which native quota refuses a pod of which a container does not state what it asks for:
// the resource, and whether it is a limit.
var compulsory = map[corev1.ResourceName]struct {
	resource corev1.ResourceName
	limit    bool
}{
	corev1.ResourceCPU: {corev1.ResourceCPU, false}, corev1.ResourceRequestsCPU: {corev1.ResourceCPU, false},
	corev1.ResourceMemory: {corev1.ResourceMemory, false}, corev1.ResourceRequestsMemory: {corev1.ResourceMemory, false},
	corev1.ResourceLimitsCPU: {corev1.ResourceCPU, true}, corev1.ResourceLimitsMemory: {corev1.ResourceMemory, true},
}

// Unstated returns of the names that a quota limits those for which it refuses a pod whatever room there is, sorted: a
// container does not state what it asks for. One that states anything for all of its containers together need not.
func Unstated(pod *corev1.Pod, quota *corev1.ResourceQuotaSpec, limited corev1.ResourceList) []corev1.ResourceName {
	if resourcehelper.IsPodLevelResourcesSet(pod) || !Matches(quota, Pods, pod) {
		return nil
	}
	var names []corev1.ResourceName
	for name := range limited {
		if silent(pod.Spec.InitContainers, name) || silent(pod.Spec.Containers, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// silent says whether one of the containers does not state what native quota demands under a name.
func silent(containers []corev1.Container, name corev1.ResourceName) bool {
	demanded, known := compulsory[name]
	return known && slices.ContainsFunc(containers, func(c corev1.Container) bool {
		list := c.Resources.Requests
		if demanded.limit {
			list = c.Resources.Limits
		}
		_, states := list[demanded.resource]
		return !states
	})
}
