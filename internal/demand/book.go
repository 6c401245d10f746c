package demand

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Owner is who asks: the controller of an object, or the object itself if it has none.
type Owner struct {
	// Kind and Name of the owner.
	Kind, Name string
	// UID of a controller, empty for an object of its own.
	UID types.UID
}

// Workload is what is known of an object that makes pods, such as a ReplicaSet.
type Workload struct {
	Owner
	// Namespace it is in.
	Namespace string
	// Desired is how many pods it wants to exist now.
	Desired int64
	// OneByOne means that a pod is replaced only when it is gone.
	OneByOne bool
	// Placed means that each of its pods is for a node of its own: one that waits for its node says nothing of the others.
	Placed bool
	// StatedUntil is until when it wants room for its pods, of which it makes none itself; zero if it makes them.
	StatedUntil time.Time
	// Blocked means that it waits for its own pods before it makes another one.
	Blocked bool
	// RefusedBy is the quota that its controller says refused it, empty if none did.
	RefusedBy string
	// Rollout says whose pods it makes.
	Rollout Rollout
	// Template is the spec of its pods, trimmed; nil if it wants none.
	Template *corev1.PodSpec
}

// Pod is what is known of a pod.
type Pod struct {
	// UID of the pod and of its controller.
	UID, Owner types.UID
	// Namespace it is in.
	Namespace string
	// Ended means that it is terminal, Terminating that it is being deleted.
	Ended, Terminating bool
	// Unschedulable is since when no node has room for it, zero while one may have; Shape is its shape then.
	Unschedulable time.Time
	Shape         *Shape
	// Unplaced is since when no node has room for it or a gate holds it, and Spec what it is charged for then, trimmed.
	Unplaced time.Time
	Spec     *corev1.PodSpec
}

// Book is what is known of the demand in a cluster. It is safe for concurrent use.
type Book struct {
	mutex      sync.RWMutex
	namespaces map[string]*namespace
}

type namespace struct {
	workloads map[types.UID]*workload
	pods      map[types.UID]Pod
	// present counts the pods of an owner that have not ended, active those of them that are not being deleted.
	present, active map[types.UID]int64
	unschedulable   map[types.UID]Pod
	unplaced        map[types.UID]Pod               // those that no node has room for, or that a gate holds
	refusals        map[string]map[Owner]*refusal   // by share
	habits          map[string]map[string]*habit    // by share, and by what one request asks for
	rollouts        map[types.UID]*rollout          // by who has pods replaced
	limitRanges     map[string]nativequota.Defaults // what each of them gives
	defaults        nativequota.Defaults            // what they give together
}

// workload is a workload with what follows from its pods.
type workload struct {
	Workload
	pod     *corev1.PodSpec // the template with the defaults of the namespace
	missing int64
	since   time.Time              // missing has been what it is
	denied  string                 // the share that denied a request of it last, since it last lacked nothing
	asked   map[string]amount.List // what a request of it asked for that did not fit a share since then, by share
	room    map[string]spell       // of room for one of its pods that it makes nothing of, by share
	lacked  map[string]bool        // the shares that were seen without room for one of its pods since it was denied last
}

// spell is the time through which something was seen again and again.
type spell struct{ since, seen time.Time }

// NewBook returns an empty book.
func NewBook() *Book { return &Book{namespaces: map[string]*namespace{}} }

func (b *Book) namespace(name string) *namespace {
	ns, ok := b.namespaces[name]
	if !ok {
		ns = &namespace{
			workloads: map[types.UID]*workload{}, pods: map[types.UID]Pod{},
			present: map[types.UID]int64{}, active: map[types.UID]int64{},
			unschedulable: map[types.UID]Pod{}, unplaced: map[types.UID]Pod{},
			refusals: map[string]map[Owner]*refusal{}, habits: map[string]map[string]*habit{},
			rollouts: map[types.UID]*rollout{}, limitRanges: map[string]nativequota.Defaults{},
		}
		b.namespaces[name] = ns
	}
	return ns
}

// tidy drops a namespace that nothing is known of any more.
func (b *Book) tidy(name string) {
	if ns, known := b.namespaces[name]; known &&
		len(ns.workloads)+len(ns.pods)+len(ns.refusals)+len(ns.habits)+len(ns.limitRanges) == 0 {
		delete(b.namespaces, name)
	}
}

// SetWorkload notes a workload as it is now, and says whether it lacks pods or lacked some before, or replaces others.
func (b *Book) SetWorkload(w Workload, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns := b.namespace(w.Namespace)
	entry, known := ns.workloads[w.UID]
	if !known {
		entry = &workload{}
		ns.workloads[w.UID] = entry
	}
	if entry.Rollout.Of != w.Rollout.Of {
		ns.leave(entry)
	}
	entry.Workload, entry.pod = w, ns.defaults.To(w.Template)
	ns.join(entry)
	return ns.count(w.UID, now)
}

// DeleteWorkload strikes out a workload, and what it asked for.
func (b *Book) DeleteWorkload(namespace string, uid types.UID) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(namespace)
	ns := b.namespace(namespace)
	w, known := ns.workloads[uid]
	if !known {
		return
	}
	delete(ns.workloads, uid)
	ns.leave(w)
	for share := range ns.refusals {
		ns.strike(share, w.Owner)
	}
}

// DeleteShare strikes out what was asked of a share.
func (b *Book) DeleteShare(share types.NamespacedName) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return
	}
	defer b.tidy(share.Namespace)
	delete(ns.refusals, share.Name)
	delete(ns.habits, share.Name)
	for _, w := range ns.workloads {
		delete(w.asked, share.Name)
		delete(w.room, share.Name)
		delete(w.lacked, share.Name)
		if w.denied == share.Name {
			w.denied = ""
		}
	}
}

// SetPod notes a pod as it is now, and says whether its workload lacks pods or lacked some before, or replaces others.
func (b *Book) SetPod(pod Pod, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(pod.Namespace)
	ns := b.namespace(pod.Namespace)
	waited := ns.forget(pod.UID, now)
	if pod.Ended {
		return ns.count(pod.Owner, now) || waited
	}
	ns.pods[pod.UID] = pod
	ns.present[pod.Owner]++
	if !pod.Terminating {
		ns.active[pod.Owner]++
		if !pod.Unschedulable.IsZero() {
			ns.unschedulable[pod.UID] = pod
		}
		if pod.Spec != nil {
			ns.unplaced[pod.UID] = pod
			waited = waited && !pod.waits(now)
		}
	}
	return ns.count(pod.Owner, now) || waited
}

// DeletePod strikes out a pod.
func (b *Book) DeletePod(namespace string, uid types.UID, now time.Time) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(namespace)
	ns := b.namespace(namespace)
	owner := ns.pods[uid].Owner
	waited := ns.forget(uid, now)
	return ns.count(owner, now) || waited
}

// forget strikes out a pod, and says whether it counted as one that waits for a node.
func (ns *namespace) forget(uid types.UID, now time.Time) (waited bool) {
	pod, known := ns.pods[uid]
	if !known {
		return false
	}
	unplaced, waits := ns.unplaced[uid]
	delete(ns.pods, uid)
	delete(ns.unschedulable, uid)
	delete(ns.unplaced, uid)
	decrease(ns.present, pod.Owner)
	if !pod.Terminating {
		decrease(ns.active, pod.Owner)
	}
	return waits && unplaced.waits(now)
}

func decrease(counts map[types.UID]int64, uid types.UID) {
	if counts[uid]--; counts[uid] <= 0 {
		delete(counts, uid)
	}
}

// count brings a workload's missing pods up to date, and says whether it lacks some or did, or replaces others.
func (ns *namespace) count(uid types.UID, now time.Time) bool {
	w, known := ns.workloads[uid]
	if !known {
		return false
	}
	there := ns.active[uid]
	if w.OneByOne {
		there = ns.present[uid]
	}
	missing := max(0, w.Desired-there)
	lacked := w.missing > 0
	if missing != w.missing {
		w.missing, w.since, w.room = missing, now, nil
	}
	if missing == 0 {
		w.denied, w.asked, w.lacked = "", nil, nil
	}
	rolled := ns.roll(w, now)
	return lacked || missing > 0 || rolled
}

// Asleep returns the workloads that lack pods which a share charges, and that were denied or stopped trying; the one
// that has waited longest first. Those that make nothing of the room there is are left out: waking them does not help
// either.
func (b *Book) Asleep(share *quotav1alpha1.QuotaShare, now time.Time) []Sleeper {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	var sleepers []Sleeper
	for _, w := range ns.workloads {
		r, refused := ns.refusals[share.Name][w.Owner]
		trying := refused && r.open > 0
		stopped := w.denied == share.Name || w.stopped(now)
		if w.missing == 0 || w.states() || trying || !stopped {
			continue
		}
		unit, _ := w.asks(share, ns.refusals[share.Name])
		if len(unit) > 0 && !w.futile(share, unit, now) {
			sleepers = append(
				sleepers,
				Sleeper{Owner: w.Owner, Unit: unit, Missing: w.missing, Since: w.since, Refused: w.refusedBy() == share.Name},
			)
		}
	}
	sortSleepers(sleepers)
	return sleepers
}
