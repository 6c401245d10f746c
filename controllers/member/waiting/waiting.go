// Package waiting tells on workloads, by events, that they wait for quota, why, and that they do no more.
package waiting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/internal/demand"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

const (
	// lookInterval is how often it looks whether there is something to tell. Who waits for less is not told of.
	lookInterval = time.Second
	// unknownFor is how long it waits for a workload to become known of which a request was refused.
	unknownFor = 10 * time.Second
	// writeTimeout is how long a look writes events.
	writeTimeout = 5 * time.Second
	// most is how many workloads it keeps in mind.
	most = 1000
	// mostOfAll and mostOfNamespace are how many events it writes in each minute of the clock.
	mostOfAll       = 100
	mostOfNamespace = 10
	// noteLimit is the most that an API server takes, in bytes.
	noteLimit = 1024
)

// kinds are those of workloads that a book knows.
var kinds = map[string]schema.GroupVersion{
	"ReplicaSet": {Group: "apps", Version: "v1"}, "StatefulSet": {Group: "apps", Version: "v1"},
	"DaemonSet": {Group: "apps", Version: "v1"}, "Job": {Group: "batch", Version: "v1"},
	"ReplicationController": {Version: "v1"},
}

// Teller writes the events, on each replica for the requests that this one has refused. A recorder of events would keep
// the words of the first one.
type Teller struct {
	// Client writes them.
	client.Client
	// Clock says when.
	Clock clock.PassiveClock
	// Book knows how many pods workloads lack.
	Book *demand.Book
	// Replica is the name of this process among the replicas of the agent.
	Replica string

	mutex sync.Mutex
	waits map[types.UID]*waits
	spent spent // of looks, which come one after the other
}

// waits is a workload of which a request was refused.
type waits struct {
	namespace   string
	owner       demand.Owner
	since, told time.Time // refused first, told of last
	why         string    // it was refused last, empty once that is told
}

// spent counts the events of a minute.
type spent struct {
	minute      int64
	all         int
	byNamespace map[string]int
}

// SetupWithManager has the manager run it.
func (t *Teller) SetupWithManager(mgr ctrl.Manager) error { return mgr.Add(t) }

// NeedLeaderElection says that each replica tells: API servers ask any of them.
func (*Teller) NeedLeaderElection() bool { return false }

// Start tells until the context ends.
func (t *Teller) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, t.Look, lookInterval)
	return nil
}

// Refused notes that a request of an owner was refused, and why. It does not block. Owners that are no controllers are
// not told: they have got the answer themselves.
func (t *Teller) Refused(namespace string, owner demand.Owner, why string) {
	if owner.UID == "" {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	w, known := t.waits[owner.UID]
	if !known {
		if len(t.waits) >= most {
			return
		}
		w = &waits{namespace: namespace, since: t.Clock.Now()}
		if t.waits == nil {
			t.waits = map[types.UID]*waits{}
		}
		t.waits[owner.UID] = w
	}
	w.why = why
}

// Look tells what there is to tell, first of those of which nothing was told for longest.
func (t *Teller) Look(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	for _, uid := range t.due() {
		t.look(ctx, uid)
	}
}

// due returns the workloads that are kept in mind, in the order in which they are told.
func (t *Teller) due() []types.UID {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	uids := make([]types.UID, 0, len(t.waits))
	for uid := range t.waits {
		uids = append(uids, uid)
	}
	slices.SortFunc(uids, func(a, b types.UID) int {
		x, y := t.waits[a], t.waits[b]
		return cmp.Or(x.told.Compare(y.told), x.since.Compare(y.since), cmp.Compare(a, b))
	})
	return uids
}

// look tells of one workload: that it lacks no pod any more, or why the last one was refused.
func (t *Teller) look(ctx context.Context, uid types.UID) {
	w, now := t.get(uid), t.Clock.Now()
	owner, missing, known := t.Book.Lacks(w.namespace, uid)
	w.owner = owner
	switch {
	case !known && now.Sub(w.since) < unknownFor:
	case !known, missing == 0 && w.told.IsZero():
		t.forget(uid)
	case missing == 0:
		if t.Eventf(
			ctx, w, corev1.EventTypeNormal, quotav1alpha1.ReasonServed, "Serve",
			"It lacks no pod any more, %s after one was refused first", duration.HumanDuration(now.Sub(w.since)),
		) {
			t.forget(uid)
		}
	case w.why != "" && now.Sub(w.told) >= time.Minute:
		if t.Eventf(ctx, w, corev1.EventTypeWarning, quotav1alpha1.ReasonWaitingForQuota, "Wait", "%s", w.why) {
			t.tell(uid, w.why, now)
		}
	}
}

func (t *Teller) get(uid types.UID) waits {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return *t.waits[uid]
}

func (t *Teller) forget(uid types.UID) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.waits, uid)
}

// tell notes what was told of a workload. What came meanwhile is told the next time.
func (t *Teller) tell(uid types.UID, why string, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	w := t.waits[uid]
	w.told = now
	if w.why == why {
		w.why = ""
	}
}

// Eventf writes an event on a workload, and says whether it is there: no more than one of a reason in each minute of
// the clock, by whichever replica.
func (t *Teller) Eventf(ctx context.Context, w waits, kind, reason, action, note string, args ...any) bool {
	now := t.Clock.Now()
	minute := now.Unix() / 60
	if !t.spend(w.namespace, minute) {
		return false
	}
	group := kinds[w.owner.Kind]
	err := t.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("%s.%x.%s", w.owner.Key(), minute, strings.ToLower(reason)),
		},
		EventTime: metav1.NewMicroTime(now), ReportingController: "fedquota-agent", ReportingInstance: t.Replica,
		Type: kind, Reason: reason, Action: action, Note: conditions.Truncated(fmt.Sprintf(note, args...), noteLimit),
		Regarding: corev1.ObjectReference{
			APIVersion: group.String(), Kind: w.owner.Kind, Namespace: w.namespace, Name: w.owner.Name, UID: w.owner.UID,
		},
	})
	if client.IgnoreAlreadyExists(err) != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		ctrl.LoggerFrom(ctx).Info("Writing an event failed", "kind", w.owner.Kind, "namespace", w.namespace,
			"workload", w.owner.Name, "err", err.Error())
		return false
	}
	return true
}

// spend says whether one more event may be written in a namespace in a minute.
func (t *Teller) spend(namespace string, minute int64) bool {
	if t.spent.minute != minute {
		t.spent = spent{minute: minute, byNamespace: map[string]int{}}
	}
	if t.spent.all >= mostOfAll || t.spent.byNamespace[namespace] >= mostOfNamespace {
		return false
	}
	t.spent.all++
	t.spent.byNamespace[namespace]++
	return true
}
