package describe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestFree says what can be granted at once.
func TestFree(t *testing.T) {
	list := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
	}
	for granted, want := range map[string]string{"3": "9", "12": "9", "14": "debt 2", "9223372036854775807m": "unknown", "9223372036854775807": "unknown"} {
		status := &quotav1alpha1.FederatedQuotaStatus{Granted: list(granted), Free: list("9")}
		for range 2 { // what is shown is not changed by that
			if got := free(status, list("12"), corev1.ResourceRequestsCPU).Text; got != want {
				t.Errorf("of 12, with %s granted, it says %q, want %q", granted, got, want)
			}
		}
	}
}

// TestUnscheduled says how much of what is used is without a node, of the names that are shown.
func TestUnscheduled(t *testing.T) {
	list := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1500m"), corev1.ResourcePods: resource.MustParse("3")}
	for name, tc := range map[string]struct {
		resource corev1.ResourceName
		list     corev1.ResourceList
		want     string
	}{
		"all have a node": {},
		"of all names":    {list: list, want: "of what is used, without a node: 3 pods, 1500m requests.cpu"},
		"of one name":     {list: list, resource: corev1.ResourcePods, want: "of what is used, without a node: 3 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			v := &view{resource: tc.resource}
			if got := v.unscheduled(tc.list); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
