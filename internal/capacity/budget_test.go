package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
)

// list returns the quantities of pairs of names and numbers.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func TestBudget(t *testing.T) {
	found := &quotav1alpha1.CapacityStatus{Allocatable: list("requests.cpu", "100", "requests.nvidia.com/gpu", "8")}
	for name, c := range map[string]struct {
		hard, reserve corev1.ResourceList
		rule          *quotav1alpha1.Capacity
		found         *quotav1alpha1.CapacityStatus
		want          amount.List
	}{
		"no rule":               {hard: list("requests.cpu", "500"), found: found, want: amount.List{"requests.cpu": 500_000}},
		"nodes bind":            {hard: list("requests.cpu", "500"), rule: &quotav1alpha1.Capacity{}, found: found, want: amount.List{"requests.cpu": 100_000}},
		"hard binds":            {hard: list("requests.cpu", "50"), rule: &quotav1alpha1.Capacity{}, found: found, want: amount.List{"requests.cpu": 50_000}},
		"a part of it":          {hard: list("requests.cpu", "500"), rule: &quotav1alpha1.Capacity{Percent: new(int32(90))}, found: found, want: amount.List{"requests.cpu": 90_000}},
		"more than there is":    {hard: list("requests.cpu", "500"), rule: &quotav1alpha1.Capacity{Percent: new(int32(150))}, found: found, want: amount.List{"requests.cpu": 150_000}},
		"rounded down":          {hard: list("requests.nvidia.com/gpu", "64"), rule: &quotav1alpha1.Capacity{Percent: new(int32(90))}, found: found, want: amount.List{"requests.nvidia.com/gpu": 7}},
		"a reserve":             {hard: list("requests.cpu", "500"), reserve: list("requests.cpu", "10"), rule: &quotav1alpha1.Capacity{}, found: found, want: amount.List{"requests.cpu": 90_000}},
		"not what nodes have":   {hard: list("services", "5", "requests.cpu", "500"), rule: &quotav1alpha1.Capacity{}, found: found, want: amount.List{"services": 5, "requests.cpu": 100_000}},
		"no hard":               {rule: &quotav1alpha1.Capacity{Resources: []quotav1alpha1.ResourceName{"requests.cpu"}}, found: found, want: amount.List{"requests.cpu": 100_000}},
		"one of two names":      {hard: list("requests.cpu", "500", "pods", "5"), rule: &quotav1alpha1.Capacity{Resources: []quotav1alpha1.ResourceName{"requests.cpu"}}, found: found, want: amount.List{"requests.cpu": 100_000, "pods": 5}},
		"no node has any of it": {hard: list("requests.amd.com/gpu", "4"), rule: &quotav1alpha1.Capacity{}, found: found, want: amount.List{"requests.amd.com/gpu": 0}},
		"nothing is known yet":  {hard: list("requests.cpu", "500"), rule: &quotav1alpha1.Capacity{}, want: amount.List{"requests.cpu": 500_000}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, capacity.Budget(c.hard, c.reserve, c.rule, c.found)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestStatusOf(t *testing.T) {
	report := func(nodes int32, cpu string) *quotav1alpha1.ClusterCapacity {
		return &quotav1alpha1.ClusterCapacity{Nodes: &nodes, Allocatable: list("cpu", cpu, "pods", "110")}
	}
	reports := map[string]*quotav1alpha1.ClusterCapacity{
		"east": report(3, "12"), "west": report(1, "4"), "elsewhere": report(9, "99"), "young": {},
	}
	names := []corev1.ResourceName{"requests.cpu", "requests.nvidia.com/gpu"}
	got := capacity.StatusOf(names, []string{"west", "east", "gone", "young"}, reports)
	want := &quotav1alpha1.CapacityStatus{
		Summary:     "4 nodes in 2 clusters, 2 without a report",
		Allocatable: list("requests.cpu", "16", "requests.nvidia.com/gpu", "0"),
		Unreported:  []quotav1alpha1.ClusterName{"gone", "young"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
