package member_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/member/waiting"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestWaitingIsTold has two replicas of an agent, with its rights, refuse pods of one workload: the API server takes one
// event in a minute on it, of whatever length, and one when it is served.
func TestWaitingIsTold(t *testing.T) {
	c, namespace := as(t, agent), newNamespace(t)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	batch := demand.Workload{
		Owner: demand.Owner{Kind: "Job", Name: strings.Repeat("b", 63), UID: types.UID("d4f5986f-7a31-4c3e-9b0a-2f4e9d1c6b55")}, Namespace: namespace,
		Desired: 1, Template: &corev1.PodSpec{},
	}
	replicas := make([]*waiting.Teller, 2)
	for i := range replicas {
		replicas[i] = &waiting.Teller{Client: c, Clock: clock, Book: demand.NewBook(), Replica: string(batch.UID)}
		replicas[i].Book.SetWorkload(batch, clock.Now())
		replicas[i].Refused(namespace, batch.Owner, strings.Repeat("the fleet is full; ", 100))
		replicas[i].Look(t.Context())
	}
	batch.Desired = 0
	for _, replica := range replicas {
		replica.Book.SetWorkload(batch, clock.Now())
		replica.Look(t.Context())
	}
	events := &eventsv1.EventList{}
	if err := as(t, admin).List(t.Context(), events, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, e := range events.Items {
		told[e.Type+" "+e.Reason+" "+e.Regarding.APIVersion+" "+e.Regarding.Kind+" "+e.Regarding.Name]++
	}
	name := " batch/v1 Job " + batch.Name
	if diff := cmp.Diff(map[string]int{"Warning WaitingForQuota" + name: 1, "Normal Served" + name: 1}, told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
