package describe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestUnscheduled says how much of what is used is without a node.
func TestUnscheduled(t *testing.T) {
	list := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1500m"), corev1.ResourcePods: resource.MustParse("3")}
	if got := unscheduled(list); got != "of what is used, without a node: 3 pods, 1500m requests.cpu" {
		t.Errorf("it says %q", got)
	}
	if got := unscheduled(nil); got != "" {
		t.Errorf("where all have a node it says %q", got)
	}
}
