package demand

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// Rollout says whose pods a workload makes, where these may be replaced.
type Rollout struct {
	// Of is who has them replaced: the Deployment of a ReplicaSet, or a StatefulSet itself. Empty if nobody has.
	Of types.UID
	// Revision orders the workloads of one: pods of the highest replace those of the others.
	Revision int64
	// Pods is how many there are to be of all workloads of one, nil if nothing says so.
	Pods *int64
	// Within means that the workload is replacing its own pods.
	Within bool
}

// rollout is what is known of who may replace pods.
type rollout struct {
	parts map[types.UID]*workload
	// underway says whether they are being replaced.
	underway bool
	// had is how many pods there were when that began, and pod what each of them is like; now, if none are replaced.
	had int64
	pod *corev1.PodSpec
	// stays is how many there are that are not about to go, and most how many there are to be.
	stays, most int64
	// spent is for how long pods were lost, as of at. It goes down again while none are replaced.
	spent time.Duration
	at    time.Time
}

// join takes a workload as a part of the rollout that it is of now.
func (ns *namespace) join(w *workload) {
	of := w.Rollout.Of
	if of == "" {
		return
	}
	r, known := ns.rollouts[of]
	if !known {
		r = &rollout{parts: map[types.UID]*workload{}}
		ns.rollouts[of] = r
	}
	if _, known := r.parts[w.UID]; !known {
		r.parts[w.UID] = w
		r.had += ns.active[w.UID]
	}
}

// leave strikes a workload out of the rollout that it was a part of.
func (ns *namespace) leave(w *workload) {
	r, known := ns.rollouts[w.Rollout.Of]
	if !known {
		return
	}
	delete(r.parts, w.UID)
	if len(r.parts) == 0 {
		delete(ns.rollouts, w.Rollout.Of)
	}
}

// roll brings the rollout up to date that a workload is a part of, and says whether other pods are lost.
func (ns *namespace) roll(w *workload, now time.Time) bool {
	r, known := ns.rollouts[w.Rollout.Of]
	if !known {
		return false
	}
	r.age(now)
	lost, newest := r.lost(), r.newest()
	active, older := ns.tally(r, newest)
	begun := older || newest.Rollout.Within || newest.Rollout.Pods != nil && newest.Desired < r.most
	if r.underway = begun || r.underway && r.lost() > 0; !r.underway {
		r.had = active
		if newest.pod != nil {
			r.pod = newest.pod
		}
	}
	return r.lost() != lost
}

// tally counts the pods of a rollout, and says whether some are to be replaced by the newest ones.
func (ns *namespace) tally(r *rollout, newest *workload) (active int64, older bool) {
	r.stays, r.most = 0, r.wanted(newest)
	for uid, part := range r.parts {
		active += ns.active[uid]
		r.stays += min(part.Desired, ns.active[uid])
		older = older || part != newest && part.Desired+ns.present[uid] > 0
	}
	return active, older
}

// newest is the workload whose pods replace those of the others.
func (r *rollout) newest() *workload {
	var newest *workload
	for _, w := range r.parts {
		if newest == nil || w.Rollout.Revision > newest.Rollout.Revision {
			newest = w
		}
	}
	return newest
}

// wanted is how many pods there are to be. A workload says so that wants some; one that wants none may say what once
// was.
func (r *rollout) wanted(newest *workload) int64 {
	wanted := newest
	for _, w := range r.parts {
		if w.Desired > 0 && (wanted.Desired == 0 || w.Rollout.Revision > wanted.Rollout.Revision) {
			wanted = w
		}
	}
	if wanted.Rollout.Pods == nil {
		return math.MaxInt64
	}
	return *wanted.Rollout.Pods
}

// lost is how many pods were given up to be replaced, and are not there again.
func (r *rollout) lost() int64 {
	if !r.underway {
		return 0
	}
	return max(0, min(r.had, r.most)-r.stays)
}

// age counts the time since the last look. What was lost for too long is given up.
func (r *rollout) age(now time.Time) {
	passed := now.Sub(r.at)
	r.at = now
	switch {
	case !r.underway:
		r.spent = max(0, r.spent-passed)
	case r.lost() > 0:
		if r.spent += passed; r.spent >= pace.RolloutPatience {
			r.spent, r.had = pace.RolloutPatience, r.stays
		}
	}
}

// Replacing returns what a share charged pods that workloads have given up to replace them, and have not made anew; and
// whether time alone changes it. One that makes nothing of the room it has needs none kept. One that has lacked pods
// for too long, in this rollout or the ones before, gives them up: rolling for ever must not keep room from others for
// ever.
func (b *Book) Replacing(share *quotav1alpha1.QuotaShare, now time.Time) (replacing amount.List, pending bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil, false
	}
	for _, r := range ns.rollouts {
		if r.lost() == 0 {
			continue
		}
		if r.age(now); r.pod == nil || r.lost() == 0 {
			continue
		}
		pending = true
		if w := r.newest(); w.missing == 0 || !w.futile(share, w.unit(share), now) {
			replacing = amount.Sum(replacing, charge(r.pod, share).Times(r.lost()))
		}
	}
	return replacing, pending
}
