package capacity

import (
	"context"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nodegroup"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=machinedeployments;machinepools,verbs=list;watch

// Groups are the kinds of objects that bring machines to a cluster. Infrastructure templates are not read: they are of
// many kinds, and rights to each would have to be given.
var Groups = []schema.GroupKind{
	clusterv1.GroupVersion.WithKind("MachineDeployment").GroupKind(),
	clusterv1.GroupVersion.WithKind("MachinePool").GroupKind(),
}

// WatchGroups has what nodes may come to clusters follow their MachineDeployments and MachinePools. Nobody knows it
// before.
func (r *Reconciler) WatchGroups(mgr ctrl.Manager) error {
	of := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, group client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: group.GetNamespace(), Name: clusterOf(group)}}}
	})
	for _, group := range []client.Object{&clusterv1.MachineDeployment{}, &clusterv1.MachinePool{}} {
		err := r.controller.Watch(source.Kind(mgr.GetCache(), group, of, predicate.Funcs{UpdateFunc: growsOtherwise}))
		if err != nil {
			return fmt.Errorf("watching %T: %w", group, err)
		}
	}
	r.grows.Store(true)
	return nil
}

// clusterOf returns the name of the Cluster that an object brings machines to.
func clusterOf(group client.Object) string {
	switch g := group.(type) {
	case *clusterv1.MachineDeployment:
		return g.Spec.ClusterName
	case *clusterv1.MachinePool:
		return g.Spec.ClusterName
	}
	return ""
}

// growsOtherwise says whether what changed of an object decides what nodes may come.
func growsOtherwise(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	if !equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
		return true
	}
	return !equality.Semantic.DeepEqual(decisive(before), decisive(after))
}

// decisive are the fields of an object that decide what nodes may come.
func decisive(object client.Object) []any {
	switch o := object.(type) {
	case *clusterv1.Cluster:
		return []any{o.Spec.Paused, o.Spec.Topology.Workers.MachineDeployments}
	case *clusterv1.MachineDeployment:
		return []any{o.Spec.Replicas, o.Spec.Paused, o.Status.ReadyReplicas}
	case *clusterv1.MachinePool:
		return []any{o.Spec.Replicas, o.Status.ReadyReplicas}
	}
	return nil
}

// growthOf returns what nodes may still come to a cluster, nil if that is not known. What the Cluster states wins over
// what its MachineDeployments and MachinePools say.
func (r *Reconciler) growthOf(ctx context.Context, cluster *clusterv1.Cluster) (*quotav1alpha1.CapacityGrowth, error) {
	switch stated := cluster.Annotations[quotav1alpha1.GrowthAnnotation]; stated {
	case "":
	case nodegroup.GrowthNone:
		return &quotav1alpha1.CapacityGrowth{Machines: new(int32(0))}, nil
	case nodegroup.GrowthAny:
		return nil, nil
	default:
		r.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, quotav1alpha1.ReasonInvalidGrowth, "KeepCapacity",
			"annotation %s: %q is not understood, and any node may come: set it to none or any, or remove it",
			quotav1alpha1.GrowthAnnotation, stated)
		return nil, nil
	}
	if !r.grows.Load() {
		return nil, nil
	}
	groups, err := r.groupsOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return sum(groups), nil
}

// groupsOf returns what brings machines to a cluster.
func (r *Reconciler) groupsOf(ctx context.Context, cluster *clusterv1.Cluster) (groups []*nodegroup.Group, err error) {
	var deployments clusterv1.MachineDeploymentList
	var pools clusterv1.MachinePoolList
	for _, list := range []client.ObjectList{&deployments, &pools} {
		if err := r.List(ctx, list, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing what brings machines to Cluster %s: %w", cluster.Name, err)
		}
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.Spec.ClusterName == cluster.Name {
			group, wrong := nodegroup.OfDeployment(cluster, d, nil)
			r.tell(d, wrong)
			groups = append(groups, group)
		}
	}
	for i := range pools.Items {
		if p := &pools.Items[i]; p.Spec.ClusterName == cluster.Name {
			group, wrong := nodegroup.OfPool(cluster, p, nil)
			r.tell(p, wrong)
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// tell says of an object that its annotations are not understood.
func (r *Reconciler) tell(group client.Object, wrong field.ErrorList) {
	if len(wrong) > 0 {
		r.Recorder.Eventf(group, nil, corev1.EventTypeWarning, quotav1alpha1.ReasonInvalidNodeGroup, "KeepCapacity",
			"%v: it is not known what nodes may still come", wrong.ToAggregate())
	}
}

// sum returns what all groups together may still come to, nil if that is not known of one, or if there is none: then
// the nodes are somebody else's to add.
func sum(groups []*nodegroup.Group) *quotav1alpha1.CapacityGrowth {
	if len(groups) == 0 {
		return nil
	}
	machines, more, formats := int64(0), amount.List{}, corev1.ResourceList{}
	for _, g := range groups {
		count, growth, known := g.Growth()
		if !known {
			return nil
		}
		machines, more = machines+int64(count), amount.Sum(more, growth)
		for name, q := range g.Machine {
			formats[name] = resource.Quantity{Format: q.Format}
		}
	}
	growth := &quotav1alpha1.CapacityGrowth{Machines: new(int32(min(machines, math.MaxInt32)))}
	if len(more) > 0 {
		growth.Resources = more.ToList(formats)
	}
	return growth
}
