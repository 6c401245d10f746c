package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

func TestUnblocks(t *testing.T) {
	type report struct{ used, demand string }
	tests := map[string]struct {
		hard          string
		before, after report
		want          bool
	}{
		"nothing":                             {"5", report{"5", ""}, report{"5", ""}, false},
		"rises above the room":                {"5", report{"4", ""}, report{"4", "2"}, true},
		"rises within the room":               {"5", report{"3", ""}, report{"3", "2"}, false},
		"rises on":                            {"5", report{"5", "2"}, report{"5", "3"}, true},
		"stays":                               {"5", report{"5", "2"}, report{"5", "2"}, false},
		"falls":                               {"5", report{"5", "3"}, report{"5", "2"}, false},
		"is gone":                             {"5", report{"5", "3"}, report{"5", ""}, true},
		"rises while nothing is known":        {"", report{"", ""}, report{"", "1"}, true},
		"others ask while those go on":        {"9", report{"5", "4"}, report{"9", "2"}, true},
		"some go on, and others still ask":    {"8", report{"5", "4"}, report{"8", "1"}, false},
		"rises while usage falls":             {"5", report{"5", "2"}, report{"4", "3"}, true},
		"others ask, and there is room again": {"12", report{"5", "4"}, report{"9", "2"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := quotav1alpha1.QuotaShareStatus{Used: podsOnly(tc.before.used), Demand: podsOnly(tc.before.demand)}
			after := quotav1alpha1.QuotaShareStatus{Hard: podsOnly(tc.hard), Used: podsOnly(tc.after.used), Demand: podsOnly(tc.after.demand)}
			if got := Unblocks(&before, &after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func podsOnly(count string) corev1.ResourceList {
	if count == "" {
		return nil
	}
	return corev1.ResourceList{"pods": resource.MustParse(count)}
}
