package quota

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/internal/pace"
)

// TestCreatedSharesAreKnown has a look at a store expect the share that a round has just created there: one that is not
// known would be a reason to list all.
func TestCreatedSharesAreKnown(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.round()
	found := w.hub.Stores.Survey(t.Context(), w.request(quotaName).NamespacedName, nil)
	if diff := cmp.Diff([]string{"east", "west"}, sets.List(found.Holders)); diff != "" {
		t.Errorf("known holders (-want +got):\n%s", diff)
	}
}

// TestStoreWentBack has a member's store go back, as its resourceVersions show: the hub is told, and drops what it has
// cached of that member before it reads it again.
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
		w.hub.Stores.Look(t.Context(), func(member string) bool { return member == "west" })
		if told := len(w.hub.Stores.Wake); told != step.told {
			t.Errorf("at %s: told %d times, want %d", version, told, step.told)
		}
		for len(w.hub.Stores.Wake) > 0 {
			if e := <-w.hub.Stores.Wake; e.Object.GetName() != "west" {
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

// stallTimeout is how long members that stall are waited for here: longer than memberTimeout, which members that are
// well may need on a busy machine.
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

// TestMemberThatStallsOnReads has a cluster be read that leaves, from its API server, which answers nothing for a
// while.
func TestMemberThatStallsOnReads(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastOnly)
	w.members.byName["west"].client = w.stalled("west", "get")
	w.hub.Timeout = stallTimeout
	w.round()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable")

	w.members.byName["west"].client = w.recorded("west")
	w.hub.Timeout = time.Minute
	w.round()
	w.wantLedger("east 18/18 Settled", "west 0/12 Unreachable") // it is not asked, or all rounds would wait for it
	w.edit(weighted)
	w.round()
	if state := w.quota().Status.Clusters[1].State; state == "Unreachable" {
		t.Error("what a cache shows of west is not looked at")
	}
	w.edit(eastOnly)
	w.clock.SetTime(w.clock.Now().Add(pace.FirstSilence))
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestMemberThatStallsOnWrites sees that the others get their shares, and that the member keeps what it was granted.
func TestMemberThatStallsOnWrites(t *testing.T) {
	w := newWorld(t, "east", "west", "north")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["west"].client = w.stalled("west", "patch")
	w.hub.Timeout = stallTimeout
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
	w.hub.Timeout = time.Minute
	w.settle()
	w.wantLedger("east 6/6 Settled", "north 6/6 Settled", "west 6/6 Settled")
}

// everyone is due for a look.
func everyone(string) bool { return true }
