package demand

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// sleepers are workloads that lack a pod each, for an unknown reason, beside a share with room.
type sleepers struct {
	demand *Demand
	clock  *testingclock.FakeClock
	share  *quotav1alpha1.QuotaShare
	quota  *corev1.ResourceQuota
	// answer is what comes of waking one.
	answer func(ctx context.Context, name string) error
	tried  []string
}

// newSleepers returns sleepers of these names, with room for so many pods.
func newSleepers(room string, names ...string) *sleepers {
	s := &sleepers{clock: testingclock.NewFakeClock(time.Unix(1000, 0)), answer: func(context.Context, string) error { return nil }}
	s.share, s.quota = inForce(room, "0")
	s.share.Namespace, s.share.Name = "team", "compute"
	s.share.Status.Hard, s.share.Status.Used = s.quota.Status.Hard, s.quota.Status.Used
	book := demand.NewBook()
	for _, name := range names {
		book.SetWorkload(demand.Workload{
			Owner: demand.Owner{Kind: "ReplicaSet", Name: name, UID: types.UID(name)}, Namespace: "team", Desired: 1, Template: &corev1.PodSpec{},
		}, s.clock.Now())
	}
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			s.tried = append(s.tried, object.GetName())
			return s.answer(ctx, object.GetName())
		},
	}).Build()
	s.demand = &Demand{Client: api, Clock: s.clock, Book: book}
	s.clock.Step(10 * time.Second)
	return s
}

// look returns whom a look after a while tries to wake.
func (s *sleepers) look(ctx context.Context, after time.Duration) []string {
	s.clock.Step(after)
	s.tried = nil
	s.demand.Wake(ctx, s.share, s.quota)
	return s.tried
}

// TestWakingThatHangs has a webhook of somebody else's not answer for a workload: a look does not wait for it long, and
// the next one wakes the others.
func TestWakingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSleepers("5", "a", "b", "c")
		s.answer = func(ctx context.Context, name string) error {
			if name == "a" {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		began := time.Now()
		got := [][]string{s.look(t.Context(), 0), s.look(t.Context(), time.Second), s.look(t.Context(), time.Second), s.look(t.Context(), 3*time.Second)}
		if diff := cmp.Diff([][]string{{"a"}, {"b", "c"}, nil, {"a"}}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if took := time.Since(began); took > 2*pokeTimeout {
			t.Errorf("the looks took %s", took)
		}
	})
}

// TestWakingThatFails has the API server fail to take what wakes a workload: it is tried again after a while, until it
// is woken, and the room is for the others meanwhile.
func TestWakingThatFails(t *testing.T) {
	s := newSleepers("1", "a", "b")
	fails := true
	s.answer = func(_ context.Context, name string) error {
		if name == "a" && fails {
			return errors.New("no answer")
		}
		return nil
	}
	got := [][]string{s.look(t.Context(), 0), s.look(t.Context(), pace.PokeInterval-time.Second)}
	fails = false
	got = append(got, s.look(t.Context(), time.Second), s.look(t.Context(), pace.PokeInterval))
	if diff := cmp.Diff([][]string{{"a", "b"}, nil, {"a"}, nil}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWakingThatIsNotWanted writes to no workload beside a share that asks for that, although there is room and it was
// refused.
func TestWakingThatIsNotWanted(t *testing.T) {
	s := newSleepers("5", "a")
	s.demand.Book.SetWorkload(demand.Workload{
		Owner: demand.Owner{Kind: "ReplicaSet", Name: "a", UID: "a"}, Namespace: "team", Desired: 1, Template: &corev1.PodSpec{}, RefusedBy: "compute",
	}, s.clock.Now())
	s.share.Spec.Admission.Poke = quotav1alpha1.PokeDisabled
	got := [][]string{s.look(t.Context(), 0), s.look(t.Context(), time.Minute)}
	s.share.Spec.Admission.Poke = quotav1alpha1.PokeEnabled
	got = append(got, s.look(t.Context(), 0))
	if diff := cmp.Diff([][]string{nil, nil, {"a"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
