package nativequota

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// compute are the names that native quota takes for requests, with a prefix or without.
var compute = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourceEphemeralStorage: true,
}

// chargesPods says whether pods are charged under name.
func chargesPods(name corev1.ResourceName) bool {
	if name == corev1.ResourcePods || compute[name] || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return true
	}
	if bare, ok := strings.CutPrefix(string(name), limitsPrefix); ok {
		return compute[corev1.ResourceName(bare)]
	}
	bare, ok := strings.CutPrefix(string(name), requestsPrefix)
	return ok &&
		(compute[corev1.ResourceName(bare)] || strings.HasPrefix(bare, corev1.ResourceHugePagesPrefix) || extended(bare))
}

// extended says whether a name without prefix is one of an extended resource.
func extended(bare string) bool {
	native := strings.Contains(bare, corev1.ResourceDefaultNamespacePrefix) && !strings.HasPrefix(bare, deviceClassPrefix)
	return strings.Contains(bare, "/") && !native
}

// ended says whether a pod is charged for nothing but its number: it is terminal, or was to be gone by now.
func ended(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return now.After(pod.DeletionTimestamp.Add(grace))
}

// podUsage returns what a pod is charged beyond count/pods.
func podUsage(pod *corev1.Pod, now time.Time) corev1.ResourceList {
	if ended(pod, now) {
		return corev1.ResourceList{}
	}
	usage := corev1.ResourceList{corev1.ResourcePods: one()}
	options := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	for name, quantity := range resourcehelper.PodRequests(pod, options) {
		switch {
		case compute[name], strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			usage[name] = quantity
			usage[requestsPrefix+name] = quantity
		case extended(string(name)):
			usage[requestsPrefix+name] = quantity
		}
	}
	for name, quantity := range resourcehelper.PodLimits(pod, options) {
		if compute[name] {
			usage[limitsPrefix+name] = quantity
		}
	}
	return usage
}

// bestEffort says whether a pod asks for neither cpu nor memory.
func bestEffort(pod *corev1.Pod) bool {
	if pod.Spec.Resources != nil { // then what its containers ask for does not count, even if this is empty
		return !asks(*pod.Spec.Resources)
	}
	for i := range pod.Spec.InitContainers {
		if asks(pod.Spec.InitContainers[i].Resources) {
			return false
		}
	}
	for i := range pod.Spec.Containers {
		if asks(pod.Spec.Containers[i].Resources) {
			return false
		}
	}
	return true
}

func asks(resources corev1.ResourceRequirements) bool {
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if quantity, ok := list[name]; ok && quantity.Sign() > 0 {
				return true
			}
		}
	}
	return false
}

// TrimPodSpec returns what of a pod's spec its cost and the scopes depend on.
func TrimPodSpec(spec *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers:        trimContainers(spec.InitContainers),
		Containers:            trimContainers(spec.Containers),
		Resources:             spec.Resources,
		Overhead:              spec.Overhead,
		ActiveDeadlineSeconds: spec.ActiveDeadlineSeconds,
		PriorityClassName:     spec.PriorityClassName,
		Affinity:              trimAffinity(spec.Affinity),
	}
}

func trimContainers(containers []corev1.Container) []corev1.Container {
	trimmed := make([]corev1.Container, len(containers))
	for i := range containers {
		trimmed[i] = corev1.Container{
			Name: containers[i].Name, Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy,
		}
	}
	return trimmed
}

func trimAffinity(affinity *corev1.Affinity) *corev1.Affinity {
	if affinity == nil || !acrossNamespaces(affinity) {
		return nil
	}
	return &corev1.Affinity{PodAffinity: affinity.PodAffinity, PodAntiAffinity: affinity.PodAntiAffinity}
}
