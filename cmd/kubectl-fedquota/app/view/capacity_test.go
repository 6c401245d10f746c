package view_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

func TestCapacity(t *testing.T) {
	cpus := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
	}
	found := &quotav1alpha1.CapacityStatus{Summary: "4 nodes in 2 clusters", Allocatable: cpus("16")}
	for name, c := range map[string]struct {
		rule  *quotav1alpha1.Capacity
		found *quotav1alpha1.CapacityStatus
		want  string
	}{
		"follows no nodes":  {found: found},
		"not looked at yet": {rule: &quotav1alpha1.Capacity{}, want: "no node was looked at yet"},
		"all of it":         {rule: &quotav1alpha1.Capacity{}, found: found, want: "at most requests.cpu=16: 100% of what 4 nodes in 2 clusters can run"},
		"half of it":        {rule: &quotav1alpha1.Capacity{Percent: new(int32(50))}, found: found, want: "at most requests.cpu=8: 50% of what 4 nodes in 2 clusters can run"},
	} {
		t.Run(name, func(t *testing.T) {
			fq := &quotav1alpha1.FederatedQuota{}
			fq.Spec.Hard, fq.Spec.Capacity, fq.Status.Capacity = cpus("40"), c.rule, c.found
			if got := view.BudgetOf(fq, view.Only{}).Capacity; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
