package signature

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestPlacement has shapes of pods be alike that may go to the same nodes.
func TestPlacement(t *testing.T) {
	pod := func(cpu, zone string) *Signature {
		return Of(&corev1.PodSpec{NodeSelector: map[string]string{"zone": zone}, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}})
	}
	for name, tc := range map[string]struct {
		more, less *Signature
		want       bool
	}{
		"the same nodes":           {more: pod("2", "a"), less: pod("1", "a"), want: true},
		"the same nodes, for less": {more: pod("1", "a"), less: pod("2", "a")},
		"other nodes":              {more: pod("2", "a"), less: pod("1", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.more.AsksNoLess(tc.less); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestNotOnlyRoom has a pod that may wait for something else than room on a node not be taken for one that waits for
// that.
func TestNotOnlyRoom(t *testing.T) {
	with := func(change func(*corev1.PodSpec)) *Signature {
		spec := &corev1.PodSpec{Containers: []corev1.Container{{}}, InitContainers: []corev1.Container{{}}, SchedulerName: "default-scheduler"}
		change(spec)
		return Of(spec)
	}
	port := []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	plain := with(func(*corev1.PodSpec) {})
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		alike  bool
	}{
		"a port of its node":               {change: func(s *corev1.PodSpec) { s.Containers[0].Ports = port }},
		"a port of its node, by a sidecar": {change: func(s *corev1.PodSpec) { s.InitContainers[0].Ports = port }},
		"a port of its own":                {change: func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}} }, alike: true},
		"another scheduler":                {change: func(s *corev1.PodSpec) { s.SchedulerName = "batch" }},
		"a device that it claims": {change: func(s *corev1.PodSpec) {
			s.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
		}},
		"a volume that is to be made": {change: func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		}},
		"a volume that every node can give": {change: func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, alike: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plain.AsksNoLess(with(tc.change)); got != tc.alike {
				t.Errorf("a pod without it is held back: %t", got)
			}
		})
	}
}
