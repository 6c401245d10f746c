package systemtest

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Await waits until a check finds nothing wrong, and returns what was wrong last if that does not come. What a check
// says once time is up is about the time alone.
func Await(ctx context.Context, interval, patience time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return last
	}
	return nil
}
