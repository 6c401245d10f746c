// Package served has a manager go without kinds that its API server does not serve yet.
package served

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fedquota/fedquota/internal/pace"
)

// Once calls begin once the kinds are served: now, or when they come. A manager without them is none the worse.
func Once(mgr ctrl.Manager, begin func() error, kinds ...schema.GroupKind) error {
	if serves(mgr, kinds) {
		return begin()
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, pace.ProfilesInterval, false, func(context.Context) (bool, error) {
			if !serves(mgr, kinds) {
				return false, nil
			}
			return true, begin()
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
		return err
	}))
}

// serves says whether the kinds are served. If that cannot be known just now, it is asked again.
func serves(mgr ctrl.Manager, kinds []schema.GroupKind) bool {
	for _, kind := range kinds {
		if _, err := mgr.GetRESTMapper().RESTMapping(kind); err != nil {
			if !apimeta.IsNoMatchError(err) {
				mgr.GetLogger().Error(err, "Asking whether a kind is served", "kind", kind.String())
			}
			return false
		}
	}
	return true
}
