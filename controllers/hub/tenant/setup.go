package tenant

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/tenant"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=federatedquotas,verbs=get;list;watch;create;patch;delete

// SetupWithManager registers the reconciler. QuotaPools have to be served.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("tenant").
		Watches(&corev1.Namespace{}, &handler.EnqueueRequestForObject{}, builder.OnlyMetadata,
			builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, deletion))).
		Watches(&quotav1alpha1.FederatedQuota{}, handler.EnqueueRequestsFromMapFunc(itsNamespace),
			builder.WithPredicates(otherQuota)).
		Watches(&quotav1alpha1.QuotaPool{}, r.otherPool()).
		WithOptions(options).
		Complete(r)
}

// deletion lets through an object that is to go, or is another one than before.
var deletion = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		!e.ObjectOld.GetDeletionTimestamp().Equal(e.ObjectNew.GetDeletionTimestamp())
}}

// otherQuota lets through a FederatedQuota that says something else than before, is somebody else's, or has drained.
var otherQuota = predicate.Or(predicate.LabelChangedPredicate{}, deletion, predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*quotav1alpha1.FederatedQuota), e.ObjectNew.(*quotav1alpha1.FederatedQuota)
		return !equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
			tenant.IsKept(after) && !drained(before) && drained(after)
	},
})

func itsNamespace(_ context.Context, fq client.Object) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: fq.GetNamespace()}}}
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// otherPool wakes the namespaces that a pool matches or has matched, and those that have a FederatedQuota kept for it.
func (r *Reconciler) otherPool() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			r.around(ctx, q, e.Object.(*quotav1alpha1.QuotaPool))
		},
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList { // or each namespace comes anyway
				r.around(ctx, q, e.Object.(*quotav1alpha1.QuotaPool))
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := e.ObjectOld.(*quotav1alpha1.QuotaPool), e.ObjectNew.(*quotav1alpha1.QuotaPool)
			if deletion.Update(e) || !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
				r.around(ctx, q, before, after)
			}
		},
	}
}

// around puts into the queue what a change of a pool concerns.
func (r *Reconciler) around(ctx context.Context, q queue, versions ...*quotav1alpha1.QuotaPool) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	var quotas quotav1alpha1.FederatedQuotaList
	for _, list := range []client.ObjectList{all, &quotas} {
		if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list what a QuotaPool concerns")
			return
		}
	}
	add := func(namespace string) { q.Add(ctrl.Request{NamespacedName: client.ObjectKey{Name: namespace}}) }
	for i := range quotas.Items {
		if fq := &quotas.Items[i]; tenant.IsKept(fq) && membership.PoolOf(fq) == versions[0].Name {
			add(fq.Namespace)
		}
	}
	for _, pool := range versions {
		for i := range all.Items {
			n := &all.Items[i]
			if tenant.Matches(&pool.Spec, r.AgentNamespace, n.Name, n.Labels) {
				add(n.Name)
			}
		}
	}
}
