// Package signature tells pods apart by whether a node has room for them.
package signature

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Signature is what decides whether a node has room for a pod, as far as the pod alone tells.
type Signature struct {
	// requests is what the pod asks of its node.
	requests amount.List
	// placement says to which nodes it may go, what it needs there that is not counted, and before whom. It is only
	// compared, and may be long: this is the hash of it.
	placement [sha256.Size]byte
}

// Of returns the signature of the pods of a spec.
func Of(spec *corev1.PodSpec) *Signature {
	requests := resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	bound := TrimPodSpec(spec)
	placement, err := json.Marshal(corev1.PodSpec{
		NodeSelector: bound.NodeSelector, Affinity: bound.Affinity, Tolerations: bound.Tolerations, Volumes: bound.Volumes,
		TopologySpreadConstraints: bound.TopologySpreadConstraints, PriorityClassName: bound.PriorityClassName,
		SchedulerName: bound.SchedulerName, ResourceClaims: bound.ResourceClaims,
		InitContainers: withPorts(bound.InitContainers), Containers: withPorts(bound.Containers),
	})
	if err != nil {
		return nil // no pod that came out of JSON
	}
	return &Signature{requests: amount.Saturate(requests, amount.Up), placement: sha256.Sum256(placement)}
}

// withPorts returns of containers those that take ports of their node, and nothing else of them.
func withPorts(containers []corev1.Container) []corev1.Container {
	var some []corev1.Container
	for i := range containers {
		if ports := containers[i].Ports; len(ports) > 0 {
			some = append(some, corev1.Container{Ports: ports})
		}
	}
	return some
}

// TrimPodSpec returns what of a pod's spec its cost, the scopes and its signature depend on.
func TrimPodSpec(spec *corev1.PodSpec) corev1.PodSpec {
	trimmed := nativequota.TrimPodSpec(spec)
	trimmed.NodeSelector, trimmed.Affinity = spec.NodeSelector, spec.Affinity
	trimmed.TopologySpreadConstraints = spec.TopologySpreadConstraints
	// Every pod gets tolerations for a node that is away a while, which its template does not have.
	trimmed.Tolerations = slices.DeleteFunc(slices.Clone(spec.Tolerations), func(t corev1.Toleration) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	trimmed.SchedulerName, trimmed.ResourceClaims = spec.SchedulerName, spec.ResourceClaims
	trimPorts(trimmed.InitContainers, spec.InitContainers)
	trimPorts(trimmed.Containers, spec.Containers)
	for i := range spec.Volumes {
		source := corev1.VolumeSource{
			PersistentVolumeClaim: spec.Volumes[i].PersistentVolumeClaim, Ephemeral: spec.Volumes[i].Ephemeral,
		}
		if source.PersistentVolumeClaim != nil || source.Ephemeral != nil {
			trimmed.Volumes = append(trimmed.Volumes, corev1.Volume{VolumeSource: source})
		}
	}
	return trimmed
}

// trimPorts gives trimmed containers the ports of their node that they take.
func trimPorts(trimmed, containers []corev1.Container) {
	for i := range containers {
		for _, port := range containers[i].Ports {
			if port.HostPort != 0 {
				trimmed[i].Ports = append(
					trimmed[i].Ports, corev1.ContainerPort{HostPort: port.HostPort, HostIP: port.HostIP, Protocol: port.Protocol},
				)
			}
		}
	}
}

// Requests returns what a pod of this signature takes of its node, nil without one.
func (s *Signature) Requests() amount.List {
	if s == nil {
		return nil
	}
	requests := s.requests.Clone()
	requests[corev1.ResourcePods] = 1
	return requests
}

// AsksNoLess says whether a node that has room for a pod of this signature has room for one of the other.
func (s *Signature) AsksNoLess(than *Signature) bool {
	return s != nil && than != nil && s.placement == than.placement && s.requests.Covers(than.requests)
}
