// Package capacity keeps on the hub what the nodes of each member can run, as its agent has reported it last. Budgets
// that follow the nodes are made of that, also while a member cannot be read.
package capacity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/pace"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=clustercapacities,verbs=list;watch
// +kubebuilder:rbac:groups=quota.fedquota.io,namespace=default,resources=clustercapacities,verbs=create;patch

// Kind is that of reports.
var Kind = quotav1alpha1.GroupVersion.WithKind("ClusterCapacity").GroupKind()

// Reconciler copies the report of a member to the hub.
type Reconciler struct {
	client.Client
	// Recorder says on a Cluster that what it states is not understood.
	Recorder events.EventRecorder
	// Members connects to members.
	Members clustercache.ClusterCache
	// AgentNamespace is where the agents run in members.
	AgentNamespace string
	// Timeout is how long a member may take to be read.
	Timeout time.Duration
	// Clock says when.
	Clock clock.PassiveClock

	controller controller.Controller
	// past is what is remembered of Clusters, by their keys: of each a *past.
	past sync.Map
	// grows says that MachineDeployments and MachinePools are watched.
	grows atomic.Bool
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) (err error) {
	arrivals := predicate.Funcs{
		UpdateFunc: growsOtherwise,
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named("capacity").
		For(&clusterv1.Cluster{}, builder.WithPredicates(arrivals)).
		Watches(&quotav1alpha1.ClusterCapacity{}, &handler.EnqueueRequestForObject{}). // has the Cluster's name
		WatchesRawSource(r.Members.GetClusterSource("capacity", requests.Itself)).
		WithOptions(options).
		Build(r)
	return err
}

// Reconcile copies the report of one member, if there is one. What was copied stays while the member cannot be read,
// and goes with the Cluster. What nodes may come to it is noted all the same.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, cluster); err != nil {
		r.past.Delete(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var result ctrl.Result
	report, err := r.read(ctx, req.NamespacedName)
	switch {
	case errors.Is(err, clustercache.ErrClusterNotConnected): // its connection brings it here again
	case members.IsAbsentKind(err): // its agent is of an earlier version, or there is none yet
		result.RequeueAfter = pace.RetryInterval
	case err != nil:
		return ctrl.Result{}, err
	}
	wait, err := r.keep(ctx, cluster, report)
	if wait > 0 {
		result.RequeueAfter = wait
	}
	return result, err
}

// read returns the report of a member, nil if there is none.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey) (*quotav1alpha1.ClusterCapacity, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.Members.Watch(ctx, key, r.watcher(key)); err != nil {
		return nil, err
	}
	reader, err := r.Members.GetReader(ctx, key)
	if err != nil {
		return nil, err
	}
	report := &quotav1alpha1.ClusterCapacity{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: r.AgentNamespace, Name: quotav1alpha1.CapacityName}, report)
	if apierrors.IsNotFound(err) && !members.IsAbsentKind(err) {
		return nil, nil
	}
	return report, err
}

// watcher has the report of a member bring its Cluster here.
func (r *Reconciler) watcher(cluster client.ObjectKey) clustercache.Watcher {
	return clustercache.NewWatcher(clustercache.WatcherOptions{
		Name: "capacity", Watcher: r.controller, Kind: &quotav1alpha1.ClusterCapacity{},
		EventHandler: requests.Always(cluster),
	})
}

// past is what is remembered of a Cluster: when it was written last what nodes may still come, and what the reports of
// nodes and of machines have said together.
type past struct {
	grown time.Time
	reach capacity.Reach
}

// pastOf returns what is remembered of a Cluster, each of which one worker looks at.
func (r *Reconciler) pastOf(key client.ObjectKey) *past {
	p, _ := r.past.LoadOrStore(key, &past{reach: capacity.Reach{Settle: pace.NodeReport}})
	return p.(*past)
}

// keep has the hub's copy say what the report says, if there is one, and what nodes may come. The copy belongs to the
// Cluster. Machines come and go in storms, as nodes do: it returns how long it puts off to say that others may come.
func (r *Reconciler) keep(
	ctx context.Context, cluster *clusterv1.Cluster, report *quotav1alpha1.ClusterCapacity,
) (wait time.Duration, err error) {
	growth, err := r.growthOf(ctx, cluster)
	if err != nil {
		return 0, err
	}
	now, key := r.Clock.Now(), client.ObjectKeyFromObject(cluster)
	kept := &quotav1alpha1.ClusterCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name}}
	if report == nil {
		if err := r.Get(ctx, key, kept); err != nil {
			return 0, client.IgnoreNotFound(err)
		}
		report = kept.DeepCopy()
	}
	p := r.pastOf(key)
	again := p.reach.Bound(growth, report, now)
	_, err = controllerutil.CreateOrPatch(ctx, r, kept, func() error {
		wait = p.copies(kept, report, growth, now)
		return controllerutil.SetOwnerReference(cluster, kept, r.Scheme(), controllerutil.WithBlockOwnerDeletion(false))
	})
	if client.IgnoreAlreadyExists(err) != nil { // once the cache shows it, it comes here again
		return 0, fmt.Errorf("keeping what the nodes of Cluster %s can run: %w", cluster.Name, err)
	}
	if wait <= 0 || again > 0 && again < wait {
		wait = again
	}
	return wait, nil
}

// copies has the hub's copy say what the report says and what nodes may come. That goes with a report that is written
// anyway; it returns how long it is put off otherwise.
func (p *past) copies(
	kept, report *quotav1alpha1.ClusterCapacity, growth *quotav1alpha1.CapacityGrowth, now time.Time,
) (wait time.Duration) {
	reports := !same(kept, report)
	if reports {
		kept.Nodes, kept.Allocatable = report.Nodes, report.Allocatable
		kept.Unused, kept.ReportTime = report.Unused, report.ReportTime
	}
	if equality.Semantic.DeepEqual(kept.Growth, growth) {
		return 0
	}
	if wait = pace.CapacityInterval - now.Sub(p.grown); wait > 0 && !reports {
		return wait
	}
	kept.Growth, p.grown = growth, now
	return 0
}

// same says whether two reports say the same.
func same(a, b *quotav1alpha1.ClusterCapacity) bool {
	return equality.Semantic.DeepEqual(a.Nodes, b.Nodes) && equality.Semantic.DeepEqual(a.Allocatable, b.Allocatable) &&
		equality.Semantic.DeepEqual(a.Unused, b.Unused)
}

// Reports returns what the nodes of members can run, by what the Clusters are called.
func Reports(
	ctx context.Context, reader client.Reader, clusters members.Namespaces,
) (map[string]*quotav1alpha1.ClusterCapacity, error) {
	reports := map[string]*quotav1alpha1.ClusterCapacity{}
	for _, namespace := range clusters.All() {
		var list quotav1alpha1.ClusterCapacityList
		if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing ClusterCapacities in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			reports[clusters.Name(client.ObjectKeyFromObject(&list.Items[i]))] = &list.Items[i]
		}
	}
	return reports, nil
}
