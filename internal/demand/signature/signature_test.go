package signature

import (
	"crypto/sha256"
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

// TestPlacementIsShort has the shapes that are remembered not grow with what pods say of their placement.
func TestPlacementIsShort(t *testing.T) {
	if length := len(Of(&corev1.PodSpec{NodeSelector: map[string]string{"a": string(make([]byte, 1<<20))}}).placement); length > sha256.Size {
		t.Errorf("%d bytes", length)
	}
}
