package lanes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

var begin = time.Unix(1000, 0)

// newLane returns a lane, and what has it see a limit of CPUs and their usage.
func newLane() (l *Lane, set func(hard, used string, now time.Time)) {
	l = New(types.NamespacedName{Namespace: "team", Name: "compute"}, &Heartbeat{}, pace.CatchUpMost)
	l.SetShare(&quotav1alpha1.QuotaShare{}, begin)
	return l, func(hard, used string, now time.Time) {
		limits := corev1.ResourceList{"requests.cpu": resource.MustParse(hard)}
		l.SetQuota(&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
			Spec:       corev1.ResourceQuotaSpec{Hard: limits},
			Status: corev1.ResourceQuotaStatus{
				Hard: limits, Used: corev1.ResourceList{"requests.cpu": resource.MustParse(used)},
			},
		}, now)
	}
}

func cpus(n int64) amount.List { return amount.List{"requests.cpu": 1000 * n} }

// TestPlacesOfRequestsThatAreHere takes no charge for that of a request which has not gone on to native quota yet.
func TestPlacesOfRequestsThatAreHere(t *testing.T) {
	l, set := newLane()
	set("10", "8", begin)
	set("20", "8", begin)
	here := l.Enter(cpus(3), begin, false)
	set("20", "11", begin) // by another request
	if len(l.places) != 1 {
		t.Error("it has lost its place")
	}
	if !l.Confirm(here, begin) {
		t.Error("it does not go on")
	}
	set("20", "14", begin)
	if len(l.places) != 0 || l.sum != nil {
		t.Error("it is charged, and has a place still")
	}
}

// TestOrder serves those that wait in the order in which they came, as far as there is room.
func TestOrder(t *testing.T) {
	l, set := newLane()
	set("10", "10", begin)
	first, second, third := l.Queue(cpus(2), begin), l.Queue(cpus(3), begin), l.Queue(cpus(1), begin)
	if l.Waiting() != 3 {
		t.Fatalf("%d wait, want 3", l.Waiting())
	}
	set("13", "10", begin)
	for name, c := range map[string]struct {
		waiter *Waiter
		served bool
	}{"the first": {first, true}, "one that there is no room for": {second, false}, "one that fits beside": {third, true}} {
		if served := c.waiter.Place != nil; served != c.served {
			t.Errorf("%s: served: %t", name, served)
		}
	}
	if l.Leave(second, begin) || l.Waiting() != 0 {
		t.Error("it waits on, or has a place")
	}
	l.GiveBack(first.Place)
	if l.Enter(cpus(3), begin, true) != nil || l.Enter(cpus(2), begin, true) == nil {
		t.Error("of what was given back there is more or less than that")
	}
}
