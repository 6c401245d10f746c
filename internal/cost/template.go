package cost

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// OfTemplate returns a template's spec with the requests of the pods that are made of it: the API server takes a request that
// is missing from the limit, of pods and not of templates.
func OfTemplate(template *corev1.PodSpec) *corev1.PodSpec {
	spec := *template
	spec.InitContainers = withRequests(template.InitContainers)
	spec.Containers = withRequests(template.Containers)
	if template.Resources == nil {
		return &spec
	}
	// For the pod as a whole, what its containers request goes before the limit, but for huge pages.
	missing := maps.Clone(template.Resources.Limits)
	requested := resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: spec}, resourcehelper.PodResourcesOptions{})
	for name := range missing {
		_, byContainers := requested[name]
		huge := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if !resourcehelper.IsSupportedPodLevelResource(name) || byContainers && !huge {
			delete(missing, name)
		}
	}
	resources := *template.Resources
	resources.Requests = withMissing(resources.Requests, missing)
	spec.Resources = &resources
	return &spec
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
