package hub

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestStoreWentBack has a member's store go back, as its resourceVersions show: the hub is told, and drops what it has cached
// of that member before it reads it again.
func TestStoreWentBack(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	version := "1000000"
	w.members.byName["west"].client = interceptor.NewClient(servers["west"], interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, append(options, client.InNamespace(w.namespace))...)
			list.(*metav1.PartialObjectMetadataList).ResourceVersion = version
			return err
		},
	})
	for _, step := range []struct {
		version string
		told    int
		watches []string
	}{
		{version: "1000000", watches: []string{"quota-watchShares-0"}},
		{version: "1000001", watches: []string{"quota-watchShares-0"}},
		{version: "999999", told: 1, watches: []string{"quota-watchShares-0", "quota-watchShares-1"}},
		{version: "1000000", watches: []string{"quota-watchShares-0", "quota-watchShares-1"}},
		{version: "20", told: 1, watches: []string{"quota-watchShares-0", "quota-watchShares-1", "quota-watchShares-2"}},
	} {
		version = step.version
		w.hub.lookAtStores(t.Context(), func(member string) bool { return member == "west" })
		if told := len(w.hub.stores.wake); told != step.told {
			t.Errorf("at %s: told %d times, want %d", version, told, step.told)
		}
		for len(w.hub.stores.wake) > 0 {
			if e := <-w.hub.stores.wake; e.Object.GetName() != "west" {
				t.Errorf("told of %s", e.Object.GetName())
			}
		}
		w.round()
		if diff := cmp.Diff(step.watches, w.members.byName["west"].watches); diff != "" {
			t.Errorf("at %s: watches (-want +got):\n%s", version, diff)
		}
	}
	if diff := cmp.Diff([]string{"quota-watchShares-0"}, w.members.byName["east"].watches); diff != "" {
		t.Errorf("watches of east (-want +got):\n%s", diff)
	}
}

// TestStoresOfClustersThatGoAreForgotten deletes a Cluster.
func TestStoresOfClustersThatGoAreForgotten(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.must(servers[hubName].Delete(t.Context(), w.cluster("west")))
	w.hub.lookAtStores(t.Context(), everyone)
	if diff := cmp.Diff([]string{"east"}, slices.Sorted(maps.Keys(w.hub.stores.byMember))); diff != "" {
		t.Errorf("stores (-want +got):\n%s", diff)
	}
}

// TestStoreWentBackBetweenLooks has a store go back to a state that is newer than the last look, but older than what rounds
// have seen since.
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
			s.of("west").behind(listed("10", "5"), s.seenOf("west"))
			s.saw("west", share, "20")
			for i, list := range tc.lists {
				got := s.of("west").behind(list, s.seenOf("west"))
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

// TestDeletedShareIsNotForgotten has a share deleted between two looks: rounds see that, too.
func TestDeletedShareIsNotForgotten(t *testing.T) {
	var s stores
	share := types.NamespacedName{Namespace: "team-a", Name: "compute"}
	s.saw("west", share, "20")
	for _, version := range []string{"40", "41", "42"} {
		if s.of("west").behind(&metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, s.seenOf("west")) {
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
		r := &QuotaReconciler{watcher: notes}
		r.stores.of("west").epoch = epoch
		if err := r.shareWatcher("west").Watch(notes); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, notes.lines); diff != "" {
			t.Errorf("epoch %d (-want +got):\n%s", epoch, diff)
		}
	}
}

// stallTimeout is how long members that stall are waited for here: longer than memberTimeout, which members that are well may
// need on a busy machine.
const stallTimeout = 10 * time.Second

// stalled returns a client of a member that does not answer what matches, until the request is given up.
func (w *world) stalled(member string, verbs ...string) client.Client {
	wait := func(ctx context.Context, verb string, do func() error) error {
		if !slices.Contains(verbs, verb) {
			return do()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Second):
			w.t.Errorf("%s of %s was not given up", verb, member)
			return errors.New("at last")
		}
	}
	return interceptor.NewClient(servers[member], interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return wait(ctx, "get", func() error { return c.Get(ctx, key, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return wait(ctx, "patch", func() error { return c.Patch(ctx, object, patch, options...) })
		},
	})
}

// TestMemberThatStallsOnReads has a cluster be read that leaves, from its API server, which answers nothing for a while.
func TestMemberThatStallsOnReads(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastOnly)
	w.members.byName["west"].client = w.stalled("west", "get")
	w.hub.memberTimeout = stallTimeout
	w.round()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable")

	w.members.byName["west"].client = w.recorded("west")
	w.hub.memberTimeout = time.Minute
	w.round()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable") // it is not asked, or all rounds would wait for it
	w.edit(weighted)
	w.round()
	if state := w.quota().Status.Clusters[1].State; state == "Unreachable" {
		t.Error("what a cache shows of west is not looked at")
	}
	w.edit(eastOnly)
	w.clock.SetTime(w.clock.Now().Add(firstSilence))
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestMemberThatStallsOnWrites sees that the others get their shares, and that the member keeps what it was granted.
func TestMemberThatStallsOnWrites(t *testing.T) {
	w := newWorld(t, "east", "west", "north")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["west"].client = w.stalled("west", "patch")
	w.hub.memberTimeout = stallTimeout
	w.edit(`
hard: {pods: "18"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`)
	w.round()
	if hard := w.share("east").Spec.Hard["pods"]; hard.Value() != 6 {
		t.Errorf("east is told %s", hard.String())
	}
	w.wantLedger("east 6/15 Settling", "north 5/5 Settled", "west 6/10 Settling")
	if result := w.round(); result.RequeueAfter == 0 || result.RequeueAfter > pace.StallInterval {
		t.Errorf("a round that does not wait for west is followed by the next one after %s", result.RequeueAfter)
	}
	w.members.byName["west"].client = w.recorded("west")
	w.hub.memberTimeout = time.Minute
	w.settle()
	w.wantLedger("east 6/6 Settled", "north 6/6 Settled", "west 6/6 Settled")
}

// everyone is due for a look.
func everyone(string) bool { return true }
