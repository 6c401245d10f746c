// Package recount holds the controller of the agent that finds pods and claims which the quota controller has left out
// of status.used.
package recount

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// page is how many objects are read at once.
const page = 500

// kinds are those that come in storms, and that the agent may list: StatefulSets make claims as fast as pods.
var kinds = map[schema.GroupResource]func() client.ObjectList{
	nativequota.Pods:   func() client.ObjectList { return &corev1.PodList{} },
	nativequota.Claims: func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} },
}

// Reconciler counts the pods and claims of a managed ResourceQuota when status.used has fallen, and raises what is too
// low. The quota controller recounts from a cache whenever a limit moves or an object ends. One that the cache has not
// seen yet was charged, and is left out then: room for one too many, until the next recount. It lowers nothing but what
// it has raised.
type Reconciler struct {
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Clock says which pods were to be gone by now.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=resourcequotas/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods;persistentvolumeclaims,verbs=list

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("recount").
		Watches(&corev1.ResourceQuota{}, handler.Funcs{UpdateFunc: enqueueFalls}).
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

// enqueueFalls has a ResourceQuota counted a while after its usage fell. The queue makes one count of all falls in that
// time.
func enqueueFalls(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	before, after := e.ObjectOld.(*corev1.ResourceQuota), e.ObjectNew.(*corev1.ResourceQuota)
	if nativequota.IsManaged(after) && fell(before, after) {
		queue.AddAfter(requests.For(after), pace.RecountInterval)
	}
}

// fell says whether less is used of a name that pods or claims are charged under.
func fell(before, after *corev1.ResourceQuota) bool {
	for name, used := range after.Status.Used {
		was := before.Status.Used[name]
		gr, _ := nativequota.Resource(name)
		if _, counted := kinds[gr]; counted && used.Cmp(was) < 0 {
			return true
		}
	}
	return false
}

// Reconcile counts what a ResourceQuota is charged, until what was written is what there is: a pod that ends after it
// was listed has the quota controller count again, which finds nothing to change before usage is raised. A charge that
// comes meanwhile changes the ResourceQuota, which conflicts.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	quota := &corev1.ResourceQuota{}
	if err := r.Live.Get(ctx, req.NamespacedName, quota); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !nativequota.IsManaged(quota) {
		return ctrl.Result{}, nil
	}
	told := quota.Status.Used
	for {
		counted, err := r.count(ctx, quota)
		if err != nil {
			return ctrl.Result{}, err
		}
		used := quotav1.Max(told, counted)
		if quotav1.Equals(used, quota.Status.Used) {
			return ctrl.Result{}, nil
		}
		was := quota.Status.Used
		if err := r.write(ctx, quota, used); apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: pace.RecountInterval}, nil
		} else if err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		ctrl.LoggerFrom(ctx).Info("Raised status.used to what there is", "used", used, "was", was, "told", told)
		if !quotav1.Equals(quota.Status.Used, used) {
			return ctrl.Result{}, nil // a policy of the cluster changes what is written, and would do so again
		}
	}
}

// write writes usage, unless the ResourceQuota has changed.
func (r *Reconciler) write(ctx context.Context, quota *corev1.ResourceQuota, used corev1.ResourceList) error {
	return r.Status().Patch(ctx, quota, patches.Merge{
		"metadata": map[string]any{"resourceVersion": quota.ResourceVersion},
		"status":   map[string]any{"used": used},
	})
}

// count returns what the pods and claims of a ResourceQuota are charged. They are read after it: each of them was
// charged in it, unless that was taken back or the ResourceQuota has changed.
func (r *Reconciler) count(ctx context.Context, quota *corev1.ResourceQuota) (corev1.ResourceList, error) {
	sum := corev1.ResourceList{}
	for gr, list := range kinds {
		if !charged(quota, gr) {
			continue
		}
		charge := nativequota.Charge{Resource: gr, Now: r.Clock.Now()}
		if err := r.each(ctx, quota, list(), func(object runtime.Object) error {
			charge.Object = object
			sum = quotav1.Add(sum, charge.To(&quota.Spec, quota.Status.Used))
			return nil
		}); err != nil {
			return nil, fmt.Errorf(
				"listing the %s that ResourceQuota %s counts: %w", gr.Resource, client.ObjectKeyFromObject(quota), err,
			)
		}
	}
	return sum, nil
}

// charged says whether objects of a kind are charged to a ResourceQuota.
func charged(quota *corev1.ResourceQuota, kind schema.GroupResource) bool {
	for name := range quota.Status.Used {
		if gr, _ := nativequota.Resource(name); gr == kind {
			return true
		}
	}
	return false
}

// each reads the objects of a kind page by page.
func (r *Reconciler) each(
	ctx context.Context, quota *corev1.ResourceQuota, list client.ObjectList, do func(runtime.Object) error,
) error {
	for {
		if err := r.Live.List(
			ctx, list, client.InNamespace(quota.Namespace), client.Limit(page), client.Continue(list.GetContinue()),
		); err != nil {
			return err
		}
		if err := apimeta.EachListItem(list, do); err != nil || list.GetContinue() == "" {
			return err
		}
	}
}
