package view

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestFree says what can be granted at once, and what is debt.
func TestFree(t *testing.T) {
	list := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
	}
	for given, want := range map[string]struct{ free, debt string }{
		"3": {free: "9"}, "12": {free: "9"}, "14": {debt: "2"}, "9223372036854775807m": {free: Unknown}, "9223372036854775807": {free: Unknown},
	} {
		all := sums{budget: list("12"), granted: list(given), free: list("9")}
		for range 2 { // what is shown is not changed by that
			if got := all.filled(corev1.ResourceRequestsCPU); got.Free != want.free || got.Debt != want.debt {
				t.Errorf("of 12, with %s granted, %q are free, and %q debt; want %+v", given, got.Free, got.Debt, want)
			}
		}
	}
}

// TestOnly leaves of a list what is to be shown.
func TestOnly(t *testing.T) {
	list := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1500m"), corev1.ResourcePods: resource.MustParse("3")}
	if got := (Only{}).list(list); len(got) != 2 {
		t.Errorf("of all names: %v", got)
	}
	if got := (Only{Resource: corev1.ResourcePods}).list(list); len(got) != 1 || got.Pods().Value() != 3 {
		t.Errorf("of one name: %v", got)
	}
	if got := (Only{Resource: corev1.ResourceMemory}).list(list); got != nil {
		t.Errorf("of a name that is not there: %v", got)
	}
}
