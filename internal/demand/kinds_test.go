package demand_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestKinds has owners ask for the same names, and for others: who asks for the same is one kind, with the smallest request of any.
func TestKinds(t *testing.T) {
	s := share()
	s.Spec.Hard["requests.nvidia.com/gpu"] = resource.MustParse("8")
	b := demand.NewBook()
	b.SetWorkload(workload(3), start)
	b.Hold(key, web, onePod, amount.List{"pods": 1, "requests.cpu": 2000}, start)
	b.Hold(key, bare, onePod, amount.List{"pods": 1, "requests.cpu": 500, "services": 7}, start)
	trainer := demand.Owner{Kind: "Pod", Name: "trainer"}
	b.Hold(key, trainer, onePod, amount.List{"pods": 1, "requests.cpu": 4000, "requests.nvidia.com/gpu": 8}, start)
	elsewhere := map[string]demand.Need{
		trainer.Key(): {Amounts: amount.List{"pods": 2, "requests.nvidia.com/gpu": 12}, Unit: amount.List{"pods": 1, "requests.nvidia.com/gpu": 4}},
	}
	got, _ := b.Demand(s, start, elsewhere)
	want := []demand.Need{
		{Amounts: amount.List{"pods": 4, "requests.cpu": 6500}, Unit: amount.List{"pods": 1, "requests.cpu": 500}},
		{
			Amounts: amount.List{"pods": 2, "requests.cpu": 4000, "requests.nvidia.com/gpu": 12},
			Unit:    amount.List{"pods": 1, "requests.cpu": 4000, "requests.nvidia.com/gpu": 4},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKindsAreBounded has more kinds than are told apart: nothing of what they ask for is lost.
func TestKindsAreBounded(t *testing.T) {
	s := share()
	b := demand.NewBook()
	for i := range 20 {
		name := corev1.ResourceName(fmt.Sprintf("count/kind%d", i))
		s.Spec.Hard[name] = resource.MustParse("1")
		b.Hold(key, demand.Owner{Kind: "Thing", Name: fmt.Sprint(i)}, nil, amount.List{name: 3}, start)
	}
	got, _ := b.Demand(s, start)
	if len(got) != 8 || len(demand.Total(got)) != 20 {
		t.Errorf("%d kinds of %d names", len(got), len(demand.Total(got)))
	}
}
