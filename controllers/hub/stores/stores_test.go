package stores

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestStoreWentBackBetweenLooks has a store go back to a state that is newer than the last look, but older than what
// rounds have seen since.
func TestStoreWentBackBetweenLooks(t *testing.T) {
	share := types.NamespacedName{Namespace: "team-a", Name: "compute"}
	listed := func(version string, shares ...string) *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
		for _, version := range shares {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Namespace: share.Namespace, Name: share.Name, ResourceVersion: version},
			})
		}
		return list
	}
	for name, tc := range map[string]struct {
		lists []*metav1.PartialObjectMetadataList
		want  []bool
	}{
		"as seen":          {lists: []*metav1.PartialObjectMetadataList{listed("40", "20"), listed("41", "20")}, want: []bool{false, false}},
		"older than seen":  {lists: []*metav1.PartialObjectMetadataList{listed("40", "15")}, want: []bool{true}},
		"forgotten":        {lists: []*metav1.PartialObjectMetadataList{listed("40"), listed("41")}, want: []bool{false, true}},
		"forgotten, noted": {lists: []*metav1.PartialObjectMetadataList{listed("40"), listed("41"), listed("42")}, want: []bool{false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var s stores
			s.Of("west").behind(listed("10", "5"), s.seenOf("west"))
			s.saw("west", share, "20")
			for i, list := range tc.lists {
				got := s.Of("west").behind(list, s.seenOf("west"))
				if got != tc.want[i] {
					t.Errorf("look %d: got %t, want %t", i, got, tc.want[i])
				}
				if got {
					s.nextEpoch("west")
				}
			}
		})
	}
}

// TestStoresOfClustersThatGoAreForgotten keeps what is known of one of two.
func TestStoresOfClustersThatGoAreForgotten(t *testing.T) {
	var s stores
	s.Of("east")
	s.Of("west")
	s.keep(sets.New("east"))
	var kept []string
	s.Each(func(member string, _ *store) { kept = append(kept, member) })
	if diff := cmp.Diff([]string{"east"}, kept); diff != "" {
		t.Errorf("stores (-want +got):\n%s", diff)
	}
}

// TestDeletedShareIsNotForgotten has a share deleted between two looks: rounds see that, too.
func TestDeletedShareIsNotForgotten(t *testing.T) {
	var s stores
	share := types.NamespacedName{Namespace: "team-a", Name: "compute"}
	s.saw("west", share, "20")
	for _, version := range []string{"40", "41", "42"} {
		if s.Of("west").behind(&metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, s.seenOf("west")) {
			t.Errorf("at %s the store counts as one that went back", version)
		}
		s.saw("west", share, "")
	}
}

// journal is a cache and a controller that note what is done with the shares.
type journal struct {
	cache.Cache

	lines []string
}

func (j *journal) RemoveInformer(_ context.Context, object client.Object) error {
	if _, ok := object.(*quotav1alpha1.QuotaShare); ok {
		j.lines = append(j.lines, "dropped")
	}
	return nil
}

func (j *journal) Watch(source.TypedSource[ctrl.Request]) error {
	j.lines = append(j.lines, "watched")
	return nil
}

func TestSharesAreDroppedBeforeTheyAreWatchedAgain(t *testing.T) {
	for epoch, want := range map[int][]string{0: {"watched"}, 1: {"dropped", "watched"}} {
		notes := &journal{}
		var w Watcher
		w.known.Of("west").epoch = epoch
		w.Follow(notes, &handler.EnqueueRequestForObject{})
		if err := w.ShareWatcher("west").Watch(notes); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, notes.lines); diff != "" {
			t.Errorf("epoch %d (-want +got):\n%s", epoch, diff)
		}
	}
}
