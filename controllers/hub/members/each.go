package members

import (
	"golang.org/x/sync/errgroup"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Parallel is how many members are read or written at once.
const Parallel = 32

// ForEach runs do for all members, several at once. One that fails does not stop the others.
func ForEach[T any](list []T, do func(T) error) error {
	errs := make([]error, len(list))
	var group errgroup.Group
	group.SetLimit(Parallel)
	for i, m := range list {
		group.Go(func() error {
			errs[i] = do(m)
			return nil
		})
	}
	_ = group.Wait()
	return kerrors.NewAggregate(errs)
}
