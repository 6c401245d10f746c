package demand

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Watch keeps the book by the pods, LimitRanges and workloads of the cluster, and notes what its nodes have.
type Watch struct {
	*Demand
	// API is the cluster's.
	API kubernetes.Interface
	// Recorder tells of Jobs that state their demand in a way that is not understood. Elected is closed when this replica
	// is the one that does so.
	Recorder events.EventRecorder
	Elected  <-chan struct{}
}

// SetupWithManager has the manager run it.
func (w *Watch) SetupWithManager(mgr ctrl.Manager) error { return mgr.Add(w) }

// NeedLeaderElection says that each replica watches: API servers ask any of them.
func (*Watch) NeedLeaderElection() bool { return false }

// Start watches until the context ends. Workloads come last: one would seem to lack pods that are not known yet, and to
// need less for each than a LimitRange gives it.
func (w *Watch) Start(ctx context.Context) error {
	objects := informers.NewSharedInformerFactoryWithOptions(w.API, 0, informers.WithTransform(noteOf))
	defer objects.Shutdown()
	if err := w.take(
		ctx, objects, objects.Core().V1().Pods().Informer(), objects.Core().V1().LimitRanges().Informer(),
		objects.Core().V1().Nodes().Informer(),
	); err != nil {
		return err
	}
	w.Nodes.Complete()
	apps := objects.Apps().V1()
	if err := w.take(
		ctx, objects, apps.ReplicaSets().Informer(), apps.StatefulSets().Informer(), apps.DaemonSets().Informer(),
		objects.Core().V1().ReplicationControllers().Informer(), objects.Batch().V1().Jobs().Informer(),
	); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// take has the book follow what informers tell, and waits until it has all that is there.
func (w *Watch) take(
	ctx context.Context, objects informers.SharedInformerFactory, kinds ...toolscache.SharedIndexInformer,
) error {
	var taken []toolscache.DoneChecker
	for _, informer := range kinds {
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { w.follow(ctx, nil, object) },
			UpdateFunc: func(before, object any) { w.follow(ctx, before, object) },
			DeleteFunc: func(object any) { w.unset(ctx, object) },
		})
		if err != nil {
			return err
		}
		taken = append(taken, registration.HasSyncedChecker())
	}
	objects.StartWithContext(ctx)
	toolscache.WaitFor(ctx, "", taken...)
	return nil
}

// follow has the book follow an object, of which before is what it was, nil if it has come.
func (w *Watch) follow(ctx context.Context, before, object any) {
	if another(before, object) {
		w.unset(ctx, before)
		before = nil
	}
	w.set(ctx, object)
	n, ok := object.(*note)
	if !ok {
		return
	}
	if node, ok := n.of.(capacity.Node); ok {
		w.Nodes.Set(node, w.Clock.Now())
	}
	w.Nodes.Move(loadOf(before), n.load)
	if n.problem != nil {
		w.complain(n)
	}
}

// another says whether an object has taken the place of one of its name: an informer that was cut off while one was
// deleted and the other one created tells of an update, and of no deletion.
func another(before, object any) bool {
	was, known := before.(*note)
	is, ok := object.(*note)
	return known && ok && was.UID != is.UID
}

// unset has the book forget an object that is gone.
func (w *Watch) unset(ctx context.Context, object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	w.Demand.unset(ctx, object)
	n, ok := object.(*note)
	if !ok {
		return
	}
	if _, ok := n.of.(capacity.Node); ok {
		w.Nodes.Delete(n.Name)
	}
	w.Nodes.Move(n.load, capacity.Load{})
}

// loadOf returns what a pod took of its node; nothing of anything else.
func loadOf(object any) capacity.Load {
	if n, ok := object.(*note); ok {
		return n.load
	}
	return capacity.Load{}
}

// complain says on a Job what is wrong with what it states.
func (w *Watch) complain(n *note) {
	select {
	case <-w.Elected:
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name, UID: n.UID}}
		w.Recorder.Eventf(
			job, nil, corev1.EventTypeWarning, quotav1alpha1.ReasonInvalidDemand, "StateDemand", "%s", n.problem,
		)
	default:
	}
}

// note is what is kept of an object: who it is, and what the book holds of it. A cluster may have a hundred thousand.
type note struct {
	metav1.ObjectMeta
	// of is a demand.Pod, a demand.Workload, what a LimitRange gives, or a capacity.Node.
	of any
	// load is what a pod takes of its node.
	load capacity.Load
	// problem is what is wrong with the demand that a Job states.
	problem *field.Error
}

// noteOf makes a note of an object. One that is a note already stays what it is.
func noteOf(object any) (any, error) {
	n := &note{}
	switch o := object.(type) {
	case *corev1.Pod:
		n.of, n.load = podOf(o), capacity.LoadOf(o)
	case *corev1.Node:
		n.of = capacity.NodeOf(o)
	case *corev1.LimitRange:
		n.of = nativequota.DefaultsOf(o)
	default:
		workload, ok := workloadOf(object)
		if !ok {
			return object, nil
		}
		n.of = workload
		if job, ok := object.(*batchv1.Job); ok {
			_, n.problem = demand.Statement(job)
		}
	}
	meta := object.(client.Object)
	n.Namespace, n.Name = meta.GetNamespace(), meta.GetName()
	n.UID, n.ResourceVersion = meta.GetUID(), meta.GetResourceVersion()
	return n, nil
}

func (d *Demand) set(ctx context.Context, object any) {
	n, ok := object.(*note)
	if !ok {
		return
	}
	now := d.Clock.Now()
	var changed bool
	switch of := n.of.(type) {
	case demand.Pod:
		changed = d.Book.SetPod(of, now)
	case demand.Workload:
		changed = d.Book.SetWorkload(of, now)
	case nativequota.Defaults:
		changed = d.Book.SetLimitRange(n.Namespace, n.Name, of)
	}
	if changed {
		d.reportNamespace(ctx, n.Namespace)
	}
}

func (d *Demand) unset(ctx context.Context, object any) {
	n, ok := object.(*note)
	if !ok {
		return
	}
	changed := true
	switch n.of.(type) {
	case demand.Pod:
		changed = d.Book.DeletePod(n.Namespace, n.UID, d.Clock.Now())
	case demand.Workload:
		d.Book.DeleteWorkload(n.Namespace, n.UID)
	case nativequota.Defaults:
		changed = d.Book.DeleteLimitRange(n.Namespace, n.Name)
	case capacity.Node:
		changed = false
	}
	if changed {
		d.reportNamespace(ctx, n.Namespace)
	}
}
