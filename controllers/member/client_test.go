package member_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// frozen returns a client that reads some objects as they were, as one does whose cache lags behind.
func frozen(c client.WithWatch, stale ...client.Object) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			for _, object := range stale {
				if client.ObjectKeyFromObject(object) == key && copied(object, into) {
					return nil
				}
			}
			return inner.Get(ctx, key, into, opts...)
		},
	})
}

// copied copies an object into another one of its kind.
func copied(from, into client.Object) bool {
	switch from := from.(type) {
	case *corev1.ResourceQuota:
		if to, ok := into.(*corev1.ResourceQuota); ok {
			from.DeepCopyInto(to)
			return true
		}
	case *quotav1alpha1.QuotaShare:
		if to, ok := into.(*quotav1alpha1.QuotaShare); ok {
			from.DeepCopyInto(to)
			return true
		}
	}
	return false
}

// preceded returns a client that runs do before each patch of a ResourceQuota, for as often as do returns true.
func preceded(c client.WithWatch, do func() bool) client.WithWatch {
	more := true
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, ok := object.(*corev1.ResourceQuota); ok && more {
				more = do()
			}
			return inner.Patch(ctx, object, patch, opts...)
		},
	})
}

// precededInForce returns a client that runs do before each patch of a ResourceQuota's status, for as often as do
// returns true.
func precededInForce(c client.WithWatch, do func() bool) client.WithWatch {
	more := true
	return interceptor.NewClient(c, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, inner client.Client, subresource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if _, ok := object.(*corev1.ResourceQuota); ok && more {
				more = do()
			}
			return inner.SubResource(subresource).Patch(ctx, object, patch, opts...)
		},
	})
}

// precededDelete returns a client that runs do before each delete of a ResourceQuota.
func precededDelete(c client.WithWatch, do func()) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Delete: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			if _, ok := object.(*corev1.ResourceQuota); ok {
				do()
			}
			return inner.Delete(ctx, object, opts...)
		},
	})
}

var errDead = errors.New("the agent has ended")

// dying returns a client whose writes fail once dead says so.
func dying(c client.WithWatch, dead func() bool) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if dead() {
				return errDead
			}
			return inner.Patch(ctx, object, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, subresource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if dead() {
				return errDead
			}
			return inner.SubResource(subresource).Patch(ctx, object, patch, opts...)
		},
	})
}
