package demand_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
)

// gpus is a share of which many gpus are free.
func gpus() *quotav1alpha1.QuotaShare {
	s := share()
	s.Spec.Hard["requests.nvidia.com/gpu"] = resource.MustParse("8")
	s.Spec.Fleet.Budget = corev1.ResourceList{
		"requests.cpu": resource.MustParse("100"), "pods": resource.MustParse("100"), "requests.nvidia.com/gpu": resource.MustParse("16"),
	}
	return s
}

// TestKinds has owners ask for the same, and for something else: those whose requests are the same are one kind, and
// small ones come before large ones.
func TestKinds(t *testing.T) {
	b := demand.NewBook()
	b.SetWorkload(workload(3), start)
	b.Hold(key, web, onePod, amount.List{"pods": 1, "requests.cpu": 2000}, start)
	b.Hold(key, bare, onePod, amount.List{"pods": 1, "requests.cpu": 500, "services": 7}, start)
	b.Hold(key, demand.Owner{Kind: "Pod", Name: "second"}, onePod, amount.List{"pods": 1, "requests.cpu": 500}, start)
	trainer := demand.Owner{Kind: "Pod", Name: "trainer"}
	b.Hold(key, trainer, onePod, amount.List{"pods": 1, "requests.cpu": 4000, "requests.nvidia.com/gpu": 8}, start)
	elsewhere := map[string]shape.Shape{
		trainer.Key(): {Amounts: amount.List{"pods": 2, "requests.cpu": 12000}, Unit: amount.List{"pods": 1, "requests.cpu": 6000}},
	}
	got, _ := b.Demand(gpus(), start, elsewhere)
	want := []shape.Shape{
		{Amounts: amount.List{"pods": 2, "requests.cpu": 1000}, Unit: amount.List{"pods": 1, "requests.cpu": 500}},
		{Amounts: amount.List{"pods": 3, "requests.cpu": 6000}, Unit: amount.List{"pods": 1, "requests.cpu": 2000}},
		{
			Amounts: amount.List{"pods": 2, "requests.cpu": 12000, "requests.nvidia.com/gpu": 8},
			Unit:    amount.List{"pods": 1, "requests.cpu": 6000},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnitsAreRequests has two owners ask, each for much of what the other asks little of: no unit is told that nobody
// asks for.
func TestUnitsAreRequests(t *testing.T) {
	b := demand.NewBook()
	b.Hold(key, web, onePod, amount.List{"requests.cpu": 4000, "requests.nvidia.com/gpu": 1}, start)
	b.Hold(key, bare, onePod, amount.List{"requests.cpu": 1000, "requests.nvidia.com/gpu": 4}, start)
	got, _ := b.Demand(gpus(), start)
	var want []shape.Shape
	for _, request := range []amount.List{{"requests.cpu": 4000, "requests.nvidia.com/gpu": 1}, {"requests.cpu": 1000, "requests.nvidia.com/gpu": 4}} {
		want = append(want, shape.Shape{Amounts: request, Unit: request})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestManySizes has more sizes than are told apart: the largest are one kind, of those that ask for the same names,
// with one that is asked for.
func TestManySizes(t *testing.T) {
	b := demand.NewBook()
	for i := range int64(12) {
		request := amount.List{"requests.cpu": 1000 * (i + 1)}
		if i == 11 {
			request["requests.nvidia.com/gpu"] = 1
		}
		b.Hold(key, demand.Owner{Kind: "Pod", Name: fmt.Sprint(i)}, onePod, request, start)
	}
	got, _ := b.Demand(gpus(), start)
	if len(got) != 8 {
		t.Fatalf("%d kinds: %v", len(got), got)
	}
	want := []shape.Shape{
		{Amounts: amount.List{"requests.cpu": 7000 + 8000 + 9000 + 10000 + 11000}, Unit: amount.List{"requests.cpu": 7000}},
		{Amounts: amount.List{"requests.cpu": 12000, "requests.nvidia.com/gpu": 1}, Unit: amount.List{"requests.cpu": 12000, "requests.nvidia.com/gpu": 1}},
	}
	if diff := cmp.Diff(want, got[6:]); diff != "" {
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
	if len(got) != 8 || len(shape.Total(got)) != 20 {
		t.Errorf("%d kinds of %d names", len(got), len(shape.Total(got)))
	}
}
