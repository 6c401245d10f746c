// Package backoff says when controllers try again what failed.
package backoff

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	firstRetry = 5 * time.Millisecond
	// lastRetry is short beside the quarter of an hour of the default, for which nothing else would be looked at either.
	lastRetry = 15 * time.Second
)

// RateLimiter returns how soon what failed is tried again: each time after twice as long as before, and after 15 s at
// most.
func RateLimiter() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry)
}
