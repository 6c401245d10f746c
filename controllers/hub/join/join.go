// Package join makes Clusters of kubeconfig Secrets and of ClusterProfiles, for clusters that Cluster API did not make.
package join

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
)

// infrastructure is the kind that a Cluster refers to that was made of a Secret: Cluster API wants a reference to a
// kind that is there.
const infrastructure = "KubeconfigSecret"

// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=clusters,verbs=create
// +kubebuilder:rbac:groups=cluster.x-k8s.io,namespace=default,resources=clusters/status,verbs=patch

// Source is a kind of objects that may ask for a Cluster each. Nothing else knows where a member came from.
type Source interface {
	// wish returns what an object asks for, nil if it is not there or asks for nothing.
	wish(ctx context.Context, key client.ObjectKey) (*wish, error)
}

// wish is a Cluster that is asked for.
type wish struct {
	// of is who asks, to be told why there is no Cluster.
	of client.Object
	// name and labels are to be the Cluster's, and secret is the name of the Secret that leads to it.
	name   string
	labels map[string]string
	secret string
	// problem says what stands against it.
	problem string
}

// Reconciler makes a Cluster of each object of its source that asks for it. It never deletes one, nor changes its
// labels: an entry of a ledger belongs to a Cluster, and a Secret that is replaced must not end it.
type Reconciler struct {
	client.Client

	// Recorder tells who asks why there is no Cluster.
	Recorder events.EventRecorder

	source Source
}

// SetupWithManager registers the reconciler of kubeconfig Secrets, and what lets Clusters go.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	r.source = secrets{r.Client}
	asking := builder.WithPredicates(predicate.NewPredicateFuncs(asks))
	if err := ctrl.NewControllerManagedBy(mgr).
		Named("leave").
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(ends))).
		WithOptions(options).
		Complete(reconcile.Func(r.release)); err != nil {
		return err
	}
	ofCluster := func(_ context.Context, cluster client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{
			Namespace: cluster.GetNamespace(), Name: secret.Name(cluster.GetName(), secret.Kubeconfig),
		}}}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("join").
		For(&corev1.Secret{}, asking).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), asking).
		WithOptions(options).
		Complete(r)
}

// Reconcile sees that who asks for it has a Cluster, and that the hub connects to that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w, err := r.source.wish(ctx, req.NamespacedName)
	if w == nil || err != nil {
		return ctrl.Result{}, err
	}
	if w.problem != "" {
		r.warn(w, w.problem)
		return ctrl.Result{}, nil
	}
	cluster := &clusterv1.Cluster{}
	err = r.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: w.name}, cluster)
	if apierrors.IsNotFound(err) {
		cluster = w.cluster()
		err = r.Create(ctx, cluster)
	}
	if err != nil {
		r.warn(w, err.Error())
		return ctrl.Result{}, err
	}
	if !joined(cluster) {
		r.warn(w, fmt.Sprintf("Cluster %s was made by somebody else: it goes by the Secret %s, which this changes nothing of",
			cluster.Name, secret.Name(cluster.Name, secret.Kubeconfig)))
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.provision(ctx, cluster)
}

// release lets go a Cluster that somebody deletes. Where Cluster API runs, it waits with its finalizer while the
// Cluster is paused, and then for an object of the kind that it refers to.
func (r *Reconciler) release(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	stored := cluster.DeepCopy()
	if !ends(cluster) || !controllerutil.RemoveFinalizer(cluster, clusterv1.ClusterFinalizer) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(
		r.Patch(ctx, cluster, patches.Since(stored)),
	)
}

// ends says whether a Cluster that was made of a Secret is being deleted.
func ends(object client.Object) bool {
	cluster, ok := object.(*clusterv1.Cluster)
	return ok && joined(cluster) && !cluster.DeletionTimestamp.IsZero()
}

// warn says why there is no Cluster.
func (r *Reconciler) warn(w *wish, problem string) {
	r.Recorder.Eventf(w.of, nil, corev1.EventTypeWarning, quotav1alpha1.ReasonNotJoined, "Join", "%s", problem)
}

// problemOf returns why a Secret cannot lead to a cluster, without a word of its content.
func problemOf(s *corev1.Secret, key string) string {
	config, err := clientcmd.Load(s.Data[key])
	if err != nil || clientcmd.ConfirmUsable(*config, "") != nil {
		return fmt.Sprintf("data[%s] of Secret %s: must be a kubeconfig with a current context", key, s.Name)
	}
	return ""
}

// cluster returns the Cluster that is asked for. Cluster API, where it runs, leaves it alone.
func (w *wish) cluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.of.GetNamespace(), Name: w.name, Labels: w.labels},
		Spec: clusterv1.ClusterSpec{
			Paused: new(true),
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: quotav1alpha1.GroupVersion.Group, Kind: infrastructure, Name: w.secret,
			},
		},
	}
}

// joined says whether a Cluster was made of a Secret.
func joined(cluster *clusterv1.Cluster) bool {
	ref := cluster.Spec.InfrastructureRef
	return ref.APIGroup == quotav1alpha1.GroupVersion.Group && ref.Kind == infrastructure
}

// provision says what Cluster API says of a cluster that it has brought up: its cache connects to no other.
func (r *Reconciler) provision(ctx context.Context, cluster *clusterv1.Cluster) error {
	state := cluster.Status.Initialization
	if ptr.Deref(state.InfrastructureProvisioned, false) && ptr.Deref(state.ControlPlaneInitialized, false) {
		return nil
	}
	return r.Status().Patch(ctx, cluster, patches.Merge{"status": map[string]any{
		"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
	}})
}
