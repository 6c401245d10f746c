package demand

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/habit"
	"github.com/fedquota/fedquota/internal/demand/rollout"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Book is what is known of the demand in a cluster. It is safe for concurrent use.
type Book struct {
	mutex      sync.RWMutex
	namespaces map[string]*namespace
	// allocatable is what the nodes of the cluster have for pods, nil while that is not known.
	allocatable amount.List
}

type namespace struct {
	workloads map[types.UID]*workload
	pods      map[types.UID]Pod
	// present counts the pods of an owner that have not ended, active those of them that are not being deleted.
	present, active map[types.UID]int64
	unschedulable   map[types.UID]Pod
	unplaced        map[types.UID]Pod               // those that no node has room for, or that a gate holds
	refusals        map[string]map[Owner]*refusal   // by share
	habits          map[string]habit.Habits         // by share, and by what one request asks for
	rollouts        map[types.UID]*rollout.Rollout  // by who has pods replaced
	limitRanges     map[string]nativequota.Defaults // what each of them gives
	defaults        nativequota.Defaults            // what they give together
}

// NewBook returns an empty book.
func NewBook() *Book { return &Book{namespaces: map[string]*namespace{}} }

func (b *Book) namespace(name string) *namespace {
	ns, ok := b.namespaces[name]
	if !ok {
		ns = &namespace{
			workloads: map[types.UID]*workload{}, pods: map[types.UID]Pod{},
			present: map[types.UID]int64{}, active: map[types.UID]int64{},
			unschedulable: map[types.UID]Pod{}, unplaced: map[types.UID]Pod{},
			refusals: map[string]map[Owner]*refusal{}, habits: map[string]habit.Habits{},
			rollouts: map[types.UID]*rollout.Rollout{}, limitRanges: map[string]nativequota.Defaults{},
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
	if len(entry.asked)+len(entry.room) > 0 && !equality.Semantic.DeepEqual(entry.Template, w.Template) {
		entry.asked, entry.room = nil, nil // its pods ask for something else now
	}
	entry.Workload, entry.pod = w, ns.defaults.To(w.Template)
	return ns.count(w.UID, now)
}

// Lacks returns who the workload of a UID is, and how many pods it lacks; known is false if there is none.
func (b *Book) Lacks(namespace string, uid types.UID) (owner Owner, missing int64, known bool) {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[namespace]
	if !known {
		return Owner{}, 0, false
	}
	w, known := ns.workloads[uid]
	if !known {
		return Owner{}, 0, false
	}
	return w.Owner, w.missing, true
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

// roll brings the rollout up to date that a workload is a part of, and says whether other pods are lost.
func (ns *namespace) roll(w *workload, now time.Time) bool {
	of := w.Rollout.Of
	if of == "" {
		return false
	}
	if ns.rollouts[of] == nil {
		ns.rollouts[of] = &rollout.Rollout{}
	}
	return ns.rollouts[of].See(w.UID, rollout.Part{
		Revision: w.Rollout.Revision, Desired: w.Desired, Pods: w.Rollout.Pods, Within: w.Rollout.Within,
		Present: ns.present[w.UID], Active: ns.active[w.UID], Pod: w.pod,
	}, now)
}

// leave strikes a workload out of the rollout that it was a part of.
func (ns *namespace) leave(w *workload) {
	if r, known := ns.rollouts[w.Rollout.Of]; known && r.Leave(w.UID) {
		delete(ns.rollouts, w.Rollout.Of)
	}
}
