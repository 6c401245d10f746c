package hub

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/validate"
)

// admitted refuses a FederatedQuota that comes into a pool which does not allow its namespace; one that stays in its
// pool is not judged again. Pool and namespace are read past the cache: they may be made in one go with it.
func (v *Validator) admitted(ctx context.Context, before, fq *quotav1alpha1.FederatedQuota) field.ErrorList {
	named := fq.Spec.Pool
	if v.Live == nil || named == nil || before != nil && ptr.Equal(before.Spec.Pool, named) {
		return nil
	}
	var pool quotav1alpha1.QuotaPool
	var namespace corev1.Namespace
	if v.Live.Get(ctx, client.ObjectKey{Name: string(named.Name)}, &pool) != nil ||
		v.Live.Get(ctx, client.ObjectKey{Name: fq.Namespace}, &namespace) != nil {
		return nil // not there, or not to be known now: the hub manager looks itself
	}
	if validate.Allows(&pool.Spec, namespace.Labels) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "pool", "name"), named.Name,
		fmt.Sprintf("QuotaPool %s does not allow namespace %s: %s", pool.Name, fq.Namespace, whom(&pool)))}
}

// whom says which namespaces a pool allows.
func whom(pool *quotav1alpha1.QuotaPool) string {
	selector, which := pool.Spec.AllowedNamespaces.Selector, "allowedNamespaces"
	if selector == nil {
		selector, which = pool.Spec.Namespaces.Selector, "namespaces"
	}
	if selector == nil {
		return "its spec.allowedNamespaces allows none, name another pool"
	}
	return fmt.Sprintf("its spec.%s wants a namespace with labels %q on the hub, label it so or name another pool",
		which, metav1.FormatLabelSelector(selector))
}

// inPool warns of a pool that does not exist, and of a budget that is above what the pools over it have.
func (v *Validator) inPool(ctx context.Context, before, fq *quotav1alpha1.FederatedQuota) admission.Warnings {
	if fq.Spec.Pool == nil {
		return nil
	}
	pools, err := readForest(ctx, v.Reader)
	if err != nil {
		return admission.Warnings{"spec.pool: not checked: " + err.Error()}
	}
	v.know(ctx, pools, fq.Spec.Pool.Name)
	judge := func(of *quotav1alpha1.FederatedQuota) admission.Warnings {
		if of == nil || of.Spec.Pool == nil {
			return nil
		}
		name := of.Spec.Pool.Name
		return slices.Concat(pools.missing("spec.pool.name", name), pools.above(of.Spec.Hard, name))
	}
	told := judge(before)
	return slices.DeleteFunc(judge(fq), func(warning string) bool { return slices.Contains(told, warning) })
}

// know reads a pool past the cache that may not have it yet.
func (v *Validator) know(ctx context.Context, pools forest, name quotav1alpha1.PoolName) {
	var pool quotav1alpha1.QuotaPool
	if v.Live == nil || pools[name] != nil {
		return
	}
	if err := v.Live.Get(ctx, client.ObjectKey{Name: string(name)}, &pool); err == nil {
		pools[name] = &pool
	} else if !apierrors.IsNotFound(err) {
		pools[name] = &quotav1alpha1.QuotaPool{} // not known: nothing is said of it
	}
}
