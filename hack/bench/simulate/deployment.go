package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// Deployment is a workload of pods of size one. It replaces all of them in each rollout, as a Deployment does by
// default: up to a quarter is missing meanwhile, and up to a quarter is there beside the others.
type Deployment struct {
	At     time.Duration
	Member int
	Pods   int64
	// Rollouts are when it begins to replace its pods, and Scales when it is to have another number of them.
	Rollouts []time.Duration
	Scales   []Scale
	// Deletions are when somebody deletes one of its pods.
	Deletions []time.Duration
	// Grace is how long a pod takes to end, and Ready how long a new one takes to be ready.
	Grace, Ready time.Duration
}

// Scale is how many pods there are to be from some time on.
type Scale struct {
	At   time.Duration
	Pods int64
}

// deployment is one that runs. Its old and new pods are those of a ReplicaSet each.
type deployment struct {
	*member
	Deployment
	sets     []*replicas // the last one is new
	revision int64
	pods     int // ever made
	deferred bool
}

// replicas are the pods of one revision.
type replicas struct {
	demand.Workload
	running []*pod // that are not about to end
}

type pod struct {
	demand.Pod
	ready bool
}

// retryInterval is how soon a workload that was refused is woken.
const retryInterval = pace.PokeInterval

// startDeployment schedules all that happens to a deployment.
func (f *fleet) startDeployment(of Deployment) {
	d := &deployment{member: f.members[of.Member], Deployment: of}
	f.at(of.At, d.roll)
	for _, at := range of.Rollouts {
		f.at(at, d.roll)
	}
	for _, scale := range of.Scales {
		f.at(scale.At, func() {
			d.Pods = scale.Pods
			d.sync()
		})
	}
	for _, at := range of.Deletions {
		f.at(at, func() {
			if set := d.sets[len(d.sets)-1]; len(set.running) > 0 {
				d.end(set)
				d.sync()
			}
		})
	}
}

// roll begins with new pods.
func (d *deployment) roll() {
	d.revision++
	name := fmt.Sprintf("%d-%d", d.At, d.revision)
	of := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity.NewMilliQuantity(1, quantity.DecimalSI)},
	}}}}
	set := &replicas{Workload: demand.Workload{
		Owner: demand.Owner{Kind: "ReplicaSet", Name: name, UID: types.UID(name)}, Template: of, Blocked: true,
		Rollout: demand.Rollout{Of: types.UID(fmt.Sprint(d.At)), Revision: d.revision},
	}}
	d.sets = append(d.sets, set)
	d.sync()
}

// sync does what the controllers of Deployments and of ReplicaSets do.
func (d *deployment) sync() {
	d.scale()
	for _, set := range d.sets {
		for int64(len(set.running)) > set.Desired {
			d.end(set)
		}
		for int64(len(set.running)) < set.Desired && d.make(set) {
			d.pods++
		}
	}
	d.report(false)
}

// scale says how many pods of each revision there are to be.
func (d *deployment) scale() {
	quarter, desired, ready := d.Pods/4, int64(0), int64(0)
	for _, set := range d.sets {
		desired += set.Desired
		for _, p := range set.running {
			if p.ready {
				ready++
			}
		}
	}
	newest := d.sets[len(d.sets)-1]
	more := min(d.Pods-newest.Desired, d.Pods+(d.Pods+3)/4-desired)
	newest.Desired += max(more, min(0, d.Pods-newest.Desired))
	spare := ready - (d.Pods - quarter)
	for _, set := range d.sets[:len(d.sets)-1] {
		unready := int64(0)
		for _, p := range set.running {
			if !p.ready {
				unready++
			}
		}
		less := min(set.Desired, max(0, spare)+unready)
		set.Desired, spare = set.Desired-less, spare-max(0, less-unready)
	}
	for _, set := range d.sets {
		set.Rollout.Pods = new(d.Pods)
		d.book.SetWorkload(set.Workload, d.time())
	}
}

// make makes a pod, if there is room for it.
func (d *deployment) make(set *replicas) bool {
	request := &Request{At: d.now, Size: 1}
	if !d.fits(request) {
		d.book.Hold(key, set.Owner, nil, request.asked(), d.time())
		d.book.End(key, set.Owner, request.asked(), false, d.time())
		d.lookSoon()
		d.report(true)
		d.retry()
		return false
	}
	p := &pod{Pod: demand.Pod{UID: types.UID(fmt.Sprintf("%s-%d", set.Name, d.pods)), Owner: set.UID}}
	set.running = append(set.running, p)
	d.book.Admitted(key, set.Owner, amount.List{resource: 1}, d.time())
	d.book.SetPod(p.Pod, d.time())
	d.use(1)
	d.after(d.Ready, func() {
		p.ready = true
		d.sync()
	})
	return true
}

// end ends the first pod of a revision.
func (d *deployment) end(set *replicas) {
	p := set.running[0]
	set.running = set.running[1:]
	p.Terminating = true
	d.book.SetPod(p.Pod, d.time())
	d.after(d.Grace, func() {
		d.book.DeletePod("", p.UID, d.time())
		d.use(-1)
		d.followDown()
		d.report(true) // each report has the hub look, and it is at once while pods are lacked
	})
}

// retry tries again what was refused, after a while.
func (d *deployment) retry() {
	if d.deferred {
		return
	}
	d.deferred = true
	d.after(retryInterval, func() {
		d.deferred = false
		d.sync()
	})
}
