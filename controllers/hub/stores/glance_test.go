package stores

import (
	"context"
	"errors"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestGlance has a member that is known to hold two shares be asked for one.
func TestGlance(t *testing.T) {
	first, second := types.NamespacedName{Namespace: "team-a", Name: "compute"}, types.NamespacedName{Namespace: "team-b", Name: "compute"}
	answer := func(store, version string, remaining *int64) func(*metav1.PartialObjectMetadataList) error {
		return func(list *metav1.PartialObjectMetadataList) error {
			list.ResourceVersion, list.RemainingItemCount, list.Continue = store, remaining, "more"
			list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name, ResourceVersion: version}}}
			return nil
		}
	}
	fails := func(err error) func(*metav1.PartialObjectMetadataList) error {
		return func(*metav1.PartialObjectMetadataList) error { return err }
	}
	for name, c := range map[string]struct {
		answers []func(*metav1.PartialObjectMetadataList) error
		// meanwhile is what a round reads of the first share before the answer comes.
		meanwhile string
		want      []bool
	}{
		"as it was":                   {answers: []func(*metav1.PartialObjectMetadataList) error{answer("40", "20", new(int64(1)))}, want: []bool{false}},
		"one more":                    {answers: []func(*metav1.PartialObjectMetadataList) error{answer("40", "20", new(int64(2)))}, want: []bool{true}},
		"one less":                    {answers: []func(*metav1.PartialObjectMetadataList) error{answer("40", "20", nil)}, want: []bool{true}},
		"older than rounds have seen": {answers: []func(*metav1.PartialObjectMetadataList) error{answer("25", "20", new(int64(1)))}, want: []bool{true}},
		"one share is older":          {answers: []func(*metav1.PartialObjectMetadataList) error{answer("40", "15", new(int64(1)))}, want: []bool{true}},
		"doubted until all are looked at": {answers: []func(*metav1.PartialObjectMetadataList) error{
			answer("40", "15", new(int64(1))), answer("41", "35", new(int64(1))),
		}, want: []bool{true, true}},
		"older than a round reads meanwhile": {
			answers: []func(*metav1.PartialObjectMetadataList) error{answer("40", "20", new(int64(1)))}, meanwhile: "50", want: []bool{false},
		},
		"older than a round has read meanwhile, the next time": {
			answers:   []func(*metav1.PartialObjectMetadataList) error{answer("40", "20", new(int64(1))), answer("41", "20", new(int64(1)))},
			meanwhile: "50", want: []bool{false, true},
		},
		"it does not answer":         {answers: []func(*metav1.PartialObjectMetadataList) error{fails(errors.New("no"))}, want: []bool{false}},
		"it has not the kind at all": {answers: []func(*metav1.PartialObjectMetadataList) error{fails(&apimeta.NoKindMatchError{})}, want: []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := Watcher{Timeout: time.Minute, Clock: clock.RealClock{}}
			w.known.found("west", sets.New(first, second))
			w.known.saw("west", first, "20")
			w.known.saw("west", second, "30")
			for i, fill := range c.answers {
				member := interceptor.NewClient(nil, interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
						if limit := new(client.ListOptions).ApplyOptions(options).Limit; limit != 1 {
							t.Errorf("%d shares are asked for", limit)
						}
						if c.meanwhile != "" {
							w.known.saw("west", first, c.meanwhile)
						}
						return fill(list.(*metav1.PartialObjectMetadataList))
					},
				})
				if got := w.glance(t.Context(), member, "west"); got != c.want[i] {
					t.Errorf("glance %d: got %t, want %t", i, got, c.want[i])
				}
			}
		})
	}
}
