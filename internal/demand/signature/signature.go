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
	// placement says to which nodes it may go, and before whom. It is only compared, and may be long: this is the hash of
	// it.
	placement [sha256.Size]byte
}

// Of returns the signature of the pods of a spec.
func Of(spec *corev1.PodSpec) *Signature {
	requests := resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	bound := TrimPodSpec(spec)
	placement, err := json.Marshal(corev1.PodSpec{
		NodeSelector: bound.NodeSelector, Affinity: bound.Affinity, Tolerations: bound.Tolerations, Volumes: bound.Volumes,
		TopologySpreadConstraints: bound.TopologySpreadConstraints, PriorityClassName: bound.PriorityClassName,
	})
	if err != nil {
		return nil // no pod that came out of JSON
	}
	return &Signature{requests: amount.Saturate(requests, amount.Up), placement: sha256.Sum256(placement)}
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
	for i := range spec.Volumes {
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			trimmed.Volumes = append(
				trimmed.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}},
			)
		}
	}
	return trimmed
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
