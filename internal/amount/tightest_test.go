package amount_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/amount"
)

func TestTightest(t *testing.T) {
	tests := map[string]struct {
		budget, used amount.List
		want         string
	}{
		"nothing":        {want: ""},
		"unused":         {budget: amount.List{"pods": 3, "cpu": 1000}, want: "cpu: 0/1, pods: 0/3"},
		"the fullest":    {budget: amount.List{"pods": 3, "cpu": 1000}, used: amount.List{"pods": 2, "cpu": 500}, want: "pods: 2/3, cpu: 500m/1"},
		"above":          {budget: amount.List{"pods": 3, "cpu": 1000}, used: amount.List{"pods": 4, "cpu": 1000}, want: "pods: 4/3, cpu: 1/1"},
		"as the user":    {budget: amount.List{"memory": 4 << 30}, used: amount.List{"memory": 1 << 29}, want: "memory: 512Mi/4Gi"},
		"none to be had": {budget: amount.List{"pods": 0, "secrets": 4}, used: amount.List{"secrets": 1}, want: "secrets: 1/4, pods: 0/0"},
		"first of equal": {budget: amount.List{"pods": 2, "cpu": 2000}, used: amount.List{"pods": 1, "cpu": 1000}, want: "cpu: 1/2, pods: 1/2"},
		"two of three":   {budget: amount.List{"pods": 2, "secrets": 2, "services": 2}, used: amount.List{"services": 2, "secrets": 1}, want: "services: 2/2, secrets: 1/2"},
		"no room for two": {
			budget: amount.List{corev1.ResourceName("count/" + strings.Repeat("a", 260)): 2, corev1.ResourceName("count/" + strings.Repeat("b", 260)): 2},
			want:   "count/" + strings.Repeat("a", 260) + ": 0/2",
		},
	}
	formats := corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, amount.Tightest(tc.budget, tc.used, formats)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
