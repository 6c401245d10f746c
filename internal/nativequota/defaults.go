package nativequota

import (
	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
)

// Defaults is what the LimitRanges of a namespace give to containers that do not set it themselves.
type Defaults struct {
	Requests, Limits corev1.ResourceList
}

// DefaultsOf returns what a LimitRange gives to containers. The API server has filled it in, as a default request from
// a default limit.
func DefaultsOf(limits *corev1.LimitRange) Defaults {
	for i := range limits.Spec.Limits {
		if item := &limits.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer { // there is one of each type
			return Defaults{Requests: item.DefaultRequest, Limits: item.Default}
		}
	}
	return Defaults{}
}

// Max returns the greater of each default. Of several LimitRanges the API server takes the first, in an order that is
// not the same each time: pods that there is room for by the greater fit in any case.
func (d Defaults) Max(other Defaults) Defaults {
	return Defaults{Requests: quotav1.Max(d.Requests, other.Requests), Limits: quotav1.Max(d.Limits, other.Limits)}
}

// To returns a spec, as OfTemplate returns it, with the defaults: a request that is missing beside a limit was taken
// from that before.
func (d Defaults) To(spec *corev1.PodSpec) *corev1.PodSpec {
	if spec == nil || len(d.Requests) == 0 && len(d.Limits) == 0 {
		return spec
	}
	filled := *spec
	filled.InitContainers = d.fill(spec.InitContainers)
	filled.Containers = d.fill(spec.Containers)
	return &filled
}

func (d Defaults) fill(containers []corev1.Container) []corev1.Container {
	filled := make([]corev1.Container, len(containers))
	for i := range containers {
		filled[i] = containers[i]
		filled[i].Resources.Requests = withMissing(filled[i].Resources.Requests, d.Requests)
		filled[i].Resources.Limits = withMissing(filled[i].Resources.Limits, d.Limits)
	}
	return filled
}
