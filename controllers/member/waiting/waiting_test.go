package waiting

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/internal/demand"
)

// scene is a cluster in which quota refuses pods to workloads.
type scene struct {
	*testing.T
	*Teller

	clock *clocktesting.FakePassiveClock
	book  *demand.Book
	// answer is what comes of writing an event.
	answer error
	notes  []string // of the events that were written since
}

func newScene(t *testing.T) *scene {
	s := &scene{T: t, clock: clocktesting.NewFakePassiveClock(time.Unix(6000, 0)), book: demand.NewBook()}
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			if s.answer == nil {
				e := object.(*eventsv1.Event)
				s.notes = append(s.notes, e.Regarding.Name+" "+e.Reason+" "+e.Note)
			}
			return s.answer
		},
	}).Build()
	s.Teller = &Teller{Client: api, Clock: s.clock, Book: s.book, Replica: "one"}
	return s
}

func owner(name string) demand.Owner {
	return demand.Owner{Kind: "ReplicaSet", Name: name, UID: types.UID(name)}
}

// wants has a workload of the namespace want so many pods, of which it has none.
func (s *scene) wants(namespace, name string, pods int64) {
	s.book.SetWorkload(demand.Workload{
		Owner: owner(name), Namespace: namespace, Desired: pods, Template: &corev1.PodSpec{},
	}, s.clock.Now())
}

// after returns what is told when it is looked again after a while.
func (s *scene) after(d time.Duration) []string {
	s.clock.SetTime(s.clock.Now().Add(d))
	s.notes = nil
	s.Look(s.Context())
	return s.notes
}

func (s *scene) demand(want []string, got []string) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestOnceAMinute tells of a workload that is refused all the time once in each minute, with the last words, and once
// when it has its pods.
func TestOnceAMinute(t *testing.T) {
	s := newScene(t)
	s.wants("team", "batch", 2)
	var told []string
	for second := range 90 {
		s.Refused("team", owner("batch"), fmt.Sprintf("refused at %d", second))
		told = append(told, s.after(time.Second)...)
	}
	s.demand([]string{"batch WaitingForQuota refused at 0", "batch WaitingForQuota refused at 60"}, told)
	s.wants("team", "batch", 0)
	s.demand([]string{"batch Served It lacks no pod any more, 91s after one was refused first"}, s.after(time.Second))
	s.demand(nil, s.after(time.Hour))
}

// TestNobodyElse tells nothing of what is no workload, of one that is not there, and of one that was served before
// anybody looked.
func TestNobodyElse(t *testing.T) {
	s := newScene(t)
	s.wants("team", "served", 0)
	s.Refused("team", demand.Owner{Kind: "Pod", Name: "alone"}, "refused")
	s.Refused("team", owner("made-up"), "refused")
	s.Refused("team", owner("served"), "refused")
	s.demand(nil, s.after(time.Second))
	s.demand(nil, s.after(unknownFor))
	if len(s.waits) != 0 {
		t.Errorf("%d are kept in mind", len(s.waits))
	}
	s.Refused("team", owner("late"), "refused")
	s.demand(nil, s.after(time.Second))
	s.wants("team", "late", 1)
	s.demand([]string{"late WaitingForQuota refused"}, s.after(time.Second))
}

// TestBounds has thousands of workloads wait: a namespace gets its events by turns, and none gets those of another.
func TestBounds(t *testing.T) {
	s := newScene(t)
	refuse := func() {
		for i := range 3 * mostOfNamespace {
			name := fmt.Sprintf("batch-%02d", i)
			s.wants("crowd", name, 1)
			s.Refused("crowd", owner(name), "refused")
		}
	}
	told := map[string]int{}
	for range 3 {
		refuse()
		notes := s.after(time.Minute)
		if len(notes) != mostOfNamespace {
			t.Errorf("%d events in a minute, want %d", len(notes), mostOfNamespace)
		}
		for _, note := range notes {
			told[note]++
		}
	}
	if len(told) != 3*mostOfNamespace {
		t.Errorf("%d of %d were told in turn", len(told), 3*mostOfNamespace)
	}
	for i := range 2 * most {
		s.Refused(fmt.Sprintf("namespace-%d", i), owner(fmt.Sprint(i)), "refused")
		s.wants(fmt.Sprintf("namespace-%d", i), fmt.Sprint(i), 1)
	}
	if got := len(s.after(time.Minute)); got != mostOfAll || len(s.waits) != most {
		t.Errorf("%d events of %d workloads in a minute, want %d of %d", got, len(s.waits), mostOfAll, most)
	}
}

// TestAnswers tells again what the API server did not take, and not what another replica has told.
func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		again  []string
	}{
		"no answer":       {errors.New("no answer"), []string{"batch WaitingForQuota refused"}},
		"another replica": {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, "x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.wants("team", "batch", 1)
			s.Refused("team", owner("batch"), "refused")
			s.answer = tt.answer
			s.demand(nil, s.after(time.Second))
			s.answer = nil
			s.demand(tt.again, s.after(time.Second))
		})
	}
}
