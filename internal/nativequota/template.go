package nativequota

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// OfTemplate returns a template's spec with the requests of the pods that are made of it: the API server takes a
// request that is missing from the limit, of pods and not of templates.
func OfTemplate(template *corev1.PodSpec) *corev1.PodSpec {
	spec := *template
	spec.InitContainers = withRequests(template.InitContainers)
	spec.Containers = withRequests(template.Containers)
	if template.Resources != nil && len(template.Resources.Limits) > 0 {
		resources := *template.Resources
		resources.Requests = wholeRequests(&spec)
		spec.Resources = &resources
	}
	return &spec
}

// wholeRequests returns the requests of a pod as a whole that has limits as a whole: what is missing is taken from what
// its containers request, but for huge pages, and else from the limits.
func wholeRequests(spec *corev1.PodSpec) corev1.ResourceList {
	byContainers := resourcehelper.AggregateContainerRequests(
		&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{},
	)
	maps.DeleteFunc(byContainers, func(name corev1.ResourceName, _ resource.Quantity) bool {
		huge := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		return huge || !resourcehelper.IsSupportedPodLevelResource(name)
	})
	limits := maps.Clone(spec.Resources.Limits)
	maps.DeleteFunc(limits, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return !resourcehelper.IsSupportedPodLevelResource(name)
	})
	return withMissing(withMissing(spec.Resources.Requests, byContainers), limits)
}

func withRequests(containers []corev1.Container) []corev1.Container {
	filled := make([]corev1.Container, len(containers))
	for i := range containers {
		filled[i] = containers[i]
		filled[i].Resources.Requests = withMissing(filled[i].Resources.Requests, filled[i].Resources.Limits)
	}
	return filled
}

// withMissing returns a list with what it lacks of others.
func withMissing(list, others corev1.ResourceList) corev1.ResourceList {
	if len(others) == 0 {
		return list
	}
	filled := maps.Clone(others)
	maps.Copy(filled, list)
	return filled
}
