package member

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

func podsOnly(count string) corev1.ResourceList {
	if count == "" {
		return nil
	}
	return corev1.ResourceList{"pods": resource.MustParse(count)}
}

func TestUnblocks(t *testing.T) {
	tests := map[string]struct {
		hard, used    string
		before, after string
		want          bool
	}{
		"nothing":                      {hard: "5", used: "5"},
		"rises above the room":         {hard: "5", used: "4", after: "2", want: true},
		"rises within the room":        {hard: "5", used: "3", after: "2"},
		"rises on":                     {hard: "5", used: "5", before: "2", after: "3", want: true},
		"stays":                        {hard: "5", used: "5", before: "2", after: "2"},
		"falls":                        {hard: "5", used: "5", before: "3", after: "2"},
		"is gone":                      {hard: "5", used: "5", before: "3", want: true},
		"rises while nothing is known": {after: "1", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := quotav1alpha1.QuotaShareStatus{Demand: podsOnly(tc.before)}
			after := quotav1alpha1.QuotaShareStatus{Demand: podsOnly(tc.after), Hard: podsOnly(tc.hard), Used: podsOnly(tc.used)}
			if got := unblocks(&before, &after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
