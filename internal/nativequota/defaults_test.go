package nativequota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// TestMaxOfDefaults has several LimitRanges give defaults: the greater of each counts, whichever comes first.
func TestMaxOfDefaults(t *testing.T) {
	cpu := func(quantity string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(quantity)}
	}
	none := nativequota.Defaults{}
	for name, tc := range map[string]struct{ a, b, want nativequota.Defaults }{
		"none":             {a: none, b: none, want: none},
		"one":              {a: nativequota.Defaults{Requests: cpu("1"), Limits: cpu("2")}, b: none, want: nativequota.Defaults{Requests: cpu("1"), Limits: cpu("2")}},
		"one greater":      {a: nativequota.Defaults{Requests: cpu("1")}, b: nativequota.Defaults{Requests: cpu("900m")}, want: nativequota.Defaults{Requests: cpu("1")}},
		"each one greater": {a: nativequota.Defaults{Requests: cpu("1"), Limits: cpu("2")}, b: nativequota.Defaults{Requests: cpu("500m"), Limits: cpu("3")}, want: nativequota.Defaults{Requests: cpu("1"), Limits: cpu("3")}},
		"of different names": {
			a: nativequota.Defaults{Requests: cpu("1")}, b: nativequota.Defaults{Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}},
			want: nativequota.Defaults{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []nativequota.Defaults{tc.a.Max(tc.b), tc.b.Max(tc.a)} {
				if diff := cmp.Diff(values(tc.want.Requests), values(got.Requests)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(values(tc.want.Limits), values(got.Limits)); diff != "" {
					t.Errorf("limits (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestDefaultsLeaveTheTemplate has what a workload in the cache shares not be written to.
func TestDefaultsLeaveTheTemplate(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}, Limits: corev1.ResourceList{},
	}}}, InitContainers: []corev1.Container{{}}}
	whole := spec.DeepCopy()
	given := nativequota.Defaults{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	if filled := given.To(spec); len(filled.Containers[0].Resources.Requests) != 2 {
		t.Errorf("requests: %v", filled.Containers[0].Resources.Requests)
	}
	if diff := cmp.Diff(whole, spec); diff != "" {
		t.Errorf("the template was changed:\n%s", diff)
	}
}
