// Package rollout tells which pods were given up to be replaced, and are not there again.
package rollout

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/pace"
)

// Part is a workload that makes pods of a rollout.
type Part struct {
	// Revision orders the parts: pods of the highest replace those of the others.
	Revision int64
	// Desired is how many pods it wants to exist now, and Pods how many there are to be of all parts, nil if nothing says
	// so.
	Desired int64
	Pods    *int64
	// Within means that it is replacing its own pods.
	Within bool
	// Present is how many of its pods have not ended, Active how many of those are not being deleted.
	Present, Active int64
	// Pod is what each of its pods is like, nil if it wants none.
	Pod *corev1.PodSpec
}

// Rollout is what is known of who may replace pods. Its zero value has no parts.
type Rollout struct {
	parts map[types.UID]Part
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

// See brings a part up to date, and says whether other pods are lost.
func (r *Rollout) See(uid types.UID, part Part, now time.Time) bool {
	if r.parts == nil {
		r.parts = map[types.UID]Part{}
	}
	if _, known := r.parts[uid]; !known {
		r.had += part.Active
	}
	r.parts[uid] = part
	r.age(now)
	lost, newest := r.lost(), r.Newest()
	active, older := r.tally(newest)
	last := r.parts[newest]
	begun := older || last.Within || last.Pods != nil && last.Desired < r.most
	if r.underway = begun || r.underway && r.lost() > 0; !r.underway {
		r.had = active
		if last.Pod != nil {
			r.pod = last.Pod
		}
	}
	return r.lost() != lost
}

// Leave strikes out a part, and says whether none is left.
func (r *Rollout) Leave(uid types.UID) bool {
	delete(r.parts, uid)
	return len(r.parts) == 0
}

// Lost is how many pods were given up to be replaced, and are not there again, and what each of them is like. What was
// lost for too long is given up.
func (r *Rollout) Lost(now time.Time) (int64, *corev1.PodSpec) {
	if r.lost() == 0 {
		return 0, nil
	}
	if r.age(now); r.pod == nil {
		return 0, nil
	}
	return r.lost(), r.pod
}

// tally counts the pods, and says whether some are to be replaced by the newest ones.
func (r *Rollout) tally(newest types.UID) (active int64, older bool) {
	r.stays, r.most = 0, r.wanted(r.parts[newest])
	for uid, part := range r.parts {
		active += part.Active
		r.stays += min(part.Desired, part.Active)
		older = older || uid != newest && part.Desired+part.Present > 0
	}
	return active, older
}

// Newest is the workload whose pods replace those of the others.
func (r *Rollout) Newest() types.UID {
	var newest types.UID
	for uid, w := range r.parts {
		if known, ok := r.parts[newest]; !ok || w.Revision > known.Revision {
			newest = uid
		}
	}
	return newest
}

// wanted is how many pods there are to be. A workload says so that wants some; one that wants none may say what once
// was.
func (r *Rollout) wanted(newest Part) int64 {
	wanted := newest
	for _, w := range r.parts {
		if w.Desired > 0 && (wanted.Desired == 0 || w.Revision > wanted.Revision) {
			wanted = w
		}
	}
	if wanted.Pods == nil {
		return math.MaxInt64
	}
	return *wanted.Pods
}

// lost is how many pods were given up to be replaced, and are not there again.
func (r *Rollout) lost() int64 {
	if !r.underway {
		return 0
	}
	return max(0, min(r.had, r.most)-r.stays)
}

// age counts the time since the last look. What was lost for too long is given up.
func (r *Rollout) age(now time.Time) {
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
