// Package coverage holds the controller of the agent that notes on each namespace what its managed ResourceQuotas
// cover.
package coverage

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/requirement"
)

// Reconciler keeps the annotation of namespaces that the policy of QuotaRequirements reads: a policy cannot look for a
// ResourceQuota that is not there.
type Reconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list;watch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	namespaceOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, quota client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: quota.GetNamespace()}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("coverage").
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(noted)).
		Watches(&corev1.ResourceQuota{}, namespaceOf, builder.WithPredicates(covers)).
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

// annotated says whether a namespace is said to be covered.
func annotated(namespace client.Object) bool {
	_, there := namespace.GetAnnotations()[quotav1alpha1.CoveredAnnotation]
	return there
}

// noted lets through a namespace that comes with a note, or whose note somebody has changed.
var noted = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return annotated(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
		return before[quotav1alpha1.CoveredAnnotation] != now[quotav1alpha1.CoveredAnnotation]
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// covers lets through what changes the coverage by a ResourceQuota, which is little of what happens to it.
var covers = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return coverageOf(e.Object) != "" },
	UpdateFunc: func(e event.UpdateEvent) bool { return coverageOf(e.ObjectOld) != coverageOf(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return coverageOf(e.Object) != "" },
}

func coverageOf(quota client.Object) string {
	return requirement.Coverage([]corev1.ResourceQuota{*quota.(*corev1.ResourceQuota)})
}

// Reconcile writes what the ResourceQuotas of a namespace cover into its annotation, where it says otherwise.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Get(ctx, req.NamespacedName, namespace); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var quotas corev1.ResourceQuotaList
	if err := r.List(ctx, &quotas, client.InNamespace(req.Name), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	covered := requirement.Coverage(quotas.Items)
	if namespace.Annotations[quotav1alpha1.CoveredAnnotation] == covered && annotated(namespace) == (covered != "") {
		return ctrl.Result{}, nil
	}
	var value any // none takes the annotation off
	if covered != "" {
		value = covered
	}
	// Another namespace of the name has ResourceQuotas of its own.
	err := r.Patch(ctx, namespace, patches.Merge{"metadata": map[string]any{
		"uid": namespace.UID, "annotations": map[string]any{quotav1alpha1.CoveredAnnotation: value},
	}})
	if apierrors.IsConflict(err) {
		err = nil // the event of its deletion, or of the other one, brings it here again
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
