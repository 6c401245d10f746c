package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestAsked tells what a book knows by requests alone.
func TestAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(b *demand.Book)
		after   time.Duration
		want    map[string]shape.Shape
	}{
		"nothing":                              {happens: func(*demand.Book) {}},
		"a workload that was not refused here": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, after: later},
		"a workload one of whose requests is held": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
		}, want: map[string]shape.Shape{web.Key(): {Amounts: cpus(3, 3), Unit: cpus(1, 1)}}},
		"a workload and a bare pod": {happens: func(b *demand.Book) {
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.Hold(key, bare, onePod, cpus(2, 1), start)
		}, want: map[string]shape.Shape{web.Key(): {Amounts: cpus(1, 1), Unit: cpus(1, 1)}, bare.Key(): {Amounts: cpus(2, 1), Unit: cpus(2, 1)}}},
		"a request that is forgotten": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(1, 1), start)
			b.End(key, bare, cpus(1, 1), false, start)
		}, after: pace.Memory},
		"pods that no node has room for": {happens: func(b *demand.Book) {
			b.SetPod(stuck("web", "1"), start)
			b.Hold(key, bare, onePod, cpus(1, 1), start)
		}, after: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := demand.NewBook()
			tc.happens(b)
			if diff := cmp.Diff(tc.want, b.Asked(share(), start.Add(tc.after)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestManyWorkloadsAtTwoReplicas has more workloads be refused at both replicas than are told apart: none of them
// counts twice.
func TestManyWorkloadsAtTwoReplicas(t *testing.T) {
	here, there := demand.NewBook(), demand.NewBook()
	for i := range 50 {
		w := workload(1)
		w.Owner = demand.Owner{Kind: "Job", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}
		for _, b := range []*demand.Book{here, there} {
			b.SetWorkload(w, start)
			b.Hold(key, w.Owner, onePod, cpus(1, 1), start)
		}
	}
	got := total(here, share(), start, there.Asked(share(), start))
	if diff := cmp.Diff(cpus(50, 50), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAskedIsBounded has more owners ask than are told apart: nothing of what they ask for is lost.
func TestAskedIsBounded(t *testing.T) {
	b := demand.NewBook()
	for i := range 100 {
		b.Hold(key, demand.Owner{Kind: "Pod", Name: fmt.Sprint(i)}, onePod, cpus(1, 1), start)
	}
	asked := b.Asked(share(), start)
	if len(asked) != 32 {
		t.Errorf("%d owners are told apart", len(asked))
	}
	got := total(demand.NewBook(), share(), start, asked)
	if diff := cmp.Diff(cpus(100, 100), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
