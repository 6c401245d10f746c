// Package tenant holds the controller that keeps a FederatedQuota in each namespace which a QuotaPool has by
// spec.namespaces. internal/tenant says which pool that is; the pool itself splits its budget over them as over all of
// its children.
package tenant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/tenant"
	"github.com/fedquota/fedquota/internal/validate"
)

// Reconciler keeps the FederatedQuotas of pools, a namespace at a time.
type Reconciler struct {
	client.Client
	// Live reads from the API server: whether somebody has made a FederatedQuota, before one is made.
	Live client.Reader
	// AgentNamespace is where the agents run in members. No pool has it.
	AgentNamespace string
	// Wake tells of pools of which there is something else to report; nobody is told if it is nil.
	Wake chan event.GenericEvent

	findings findings
}

// jitter spreads what is tried again.
const jitter = 0.2

// Reconcile keeps the FederatedQuota of a namespace, or has it go.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	n := namespaces.Metadata()
	err := r.Get(ctx, client.ObjectKey{Name: req.Name}, n)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || !n.DeletionTimestamp.IsZero() { // its FederatedQuotas go with it
		return ctrl.Result{}, r.note(ctx, req.Name, nil)
	}
	var pools quotav1alpha1.QuotaPoolList
	if err := r.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing QuotaPools: %w", err)
	}
	var quotas quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &quotas, client.InNamespace(n.Name), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing FederatedQuotas in namespace %s: %w", n.Name, err)
	}
	kept, own := apart(quotas.Items)
	pool := tenant.Of(pools.Items, r.AgentNamespace, n.Name, n.Labels)
	if pool == nil {
		return ctrl.Result{}, cmp.Or(r.release(ctx, pools.Items, kept), r.note(ctx, n.Name, &finding{}))
	}
	found, err := r.keep(ctx, pool, n.Name, kept, own)
	if err != nil {
		return ctrl.Result{}, err
	}
	var again ctrl.Result
	if found.refused {
		again.RequeueAfter = wait.Jitter(pace.RetryInterval, jitter)
	}
	return again, r.note(ctx, n.Name, found)
}

// apart parts the FederatedQuotas of a namespace into those that are kept for pools, the oldest first, and those of
// people.
func apart(quotas []quotav1alpha1.FederatedQuota) (kept, own []*quotav1alpha1.FederatedQuota) {
	for i := range quotas {
		if fq := &quotas[i]; tenant.IsKept(fq) {
			kept = append(kept, fq)
		} else {
			own = append(own, fq)
		}
	}
	slices.SortFunc(kept, func(a, b *quotav1alpha1.FederatedQuota) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return kept, own
}

// release has the FederatedQuotas go that were kept in a namespace which no pool has any more. One gets nothing from
// its pool, and goes once nothing is granted to it: until then what is used counts there. If the pool is to go, there
// is no budget left to protect. If there is no such pool, it may be about to be restored.
func (r *Reconciler) release(
	ctx context.Context, pools []quotav1alpha1.QuotaPool, kept []*quotav1alpha1.FederatedQuota,
) error {
	for _, fq := range kept {
		pool := named(pools, fq)
		if pool == nil || !fq.DeletionTimestamp.IsZero() ||
			pool.DeletionTimestamp.IsZero() && (halted(pool) || !drained(fq)) {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Deleting a FederatedQuota whose namespace no QuotaPool has", "FederatedQuota", fq.Name)
		seen := client.Preconditions{UID: &fq.UID, ResourceVersion: &fq.ResourceVersion}
		if err := r.Delete(ctx, fq.DeepCopy(), seen); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// named returns the pool that a FederatedQuota names, nil if there is none.
func named(pools []quotav1alpha1.QuotaPool, fq *quotav1alpha1.FederatedQuota) *quotav1alpha1.QuotaPool {
	i := slices.IndexFunc(pools, func(p quotav1alpha1.QuotaPool) bool { return p.Name == membership.PoolOf(fq) })
	if i < 0 {
		return nil
	}
	return &pools[i]
}

// halted says whether the spec of a pool cannot be acted on. Then what it has stays as it is.
func halted(pool *quotav1alpha1.QuotaPool) bool { return len(validate.Pool(&pool.Spec)) > 0 }

// drained says whether nothing is granted to a FederatedQuota any more of what its pool limits.
func drained(fq *quotav1alpha1.FederatedQuota) bool {
	if apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionRebuilding) {
		return false
	}
	for name, q := range fq.Status.Granted {
		limited := true
		if m := fq.Status.Pool; m != nil && m.Cap != nil {
			_, limited = m.Cap[name]
		}
		if limited && q.Sign() > 0 {
			return false
		}
	}
	return true
}

// keep has the FederatedQuota of a namespace say what the pool wants that has it, and makes it if there is none, but
// not beside one that a person has made for all that is used there.
func (r *Reconciler) keep(
	ctx context.Context, pool *quotav1alpha1.QuotaPool, namespace string, kept, own []*quotav1alpha1.FederatedQuota,
) (*finding, error) {
	if halted(pool) || len(kept) > 0 && !kept[0].DeletionTimestamp.IsZero() {
		return &finding{pool: pool.Name}, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: tenant.Name(&pool.Spec)}
	if len(kept) > 0 {
		key.Name = kept[0].Name
		return r.apply(ctx, pool, key, kept[0])
	}
	for _, fq := range own {
		switch {
		case membership.PoolOf(fq) == pool.Name:
			return &finding{pool: pool.Name, kept: true}, nil
		case fq.Name == key.Name, len(fq.Spec.Scopes) == 0 && fq.Spec.ScopeSelector == nil:
			return &finding{pool: pool.Name, why: fmt.Sprintf("namespace %s has FederatedQuota %s of its own: delete it, "+
				"have it name the pool in spec.pool, or hand it over by the label %s=%s",
				namespace, fq.Name, quotav1alpha1.KeptLabel, tenant.Kept)}, nil
		}
	}
	err := r.Live.Get(ctx, key, &quotav1alpha1.FederatedQuota{})
	switch {
	case err == nil: // the cache is about to show it
		return &finding{pool: pool.Name}, nil
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	return r.apply(ctx, pool, key, nil)
}

const fieldOwner = client.FieldOwner("fedquota-hub")

// apply has a FederatedQuota say what a pool wants; before is what it was, nil if there is none. It is left alone if it
// has changed since: then there is another event.
func (r *Reconciler) apply(
	ctx context.Context, pool *quotav1alpha1.QuotaPool, key client.ObjectKey, before *quotav1alpha1.FederatedQuota,
) (*finding, error) {
	spec := tenant.Spec(pool.Name, &pool.Spec)
	if before != nil && equality.Semantic.DeepEqual(spec, &before.Spec) {
		return &finding{pool: pool.Name, kept: true}, nil
	}
	wanted, err := configuration(key, spec)
	if err != nil {
		return nil, err
	}
	options := []client.ApplyOption{fieldOwner}
	if before != nil { // what a person makes at this moment is not taken from him
		wanted.SetUID(before.UID)
		wanted.SetResourceVersion(before.ResourceVersion)
		options = append(options, client.ForceOwnership)
	}
	switch err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...); {
	case err == nil:
		return &finding{pool: pool.Name, kept: true}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		return &finding{pool: pool.Name}, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return &finding{pool: pool.Name, refused: true, kept: before != nil,
			why: fmt.Sprintf("FederatedQuota %s was refused: %s", key, strings.TrimSpace(err.Error()))}, nil
	default:
		return nil, err
	}
}

// configuration returns what is applied of a FederatedQuota.
func configuration(key client.ObjectKey, spec *quotav1alpha1.FederatedQuotaSpec) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetLabels(map[string]string{quotav1alpha1.KeptLabel: tenant.Kept})
	return object, nil
}

// note remembers what was found of a namespace, and has the pools report it that it concerns.
func (r *Reconciler) note(ctx context.Context, namespace string, found *finding) error {
	concerned := r.findings.note(namespace, found)
	if r.Wake == nil {
		return nil
	}
	for name := range concerned {
		select {
		case r.Wake <- event.GenericEvent{Object: &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name}}}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
