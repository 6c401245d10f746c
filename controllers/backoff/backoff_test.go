package backoff

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestRateLimiter has something fail for long: what mends it takes effect soon.
func TestRateLimiter(t *testing.T) {
	retries, request := RateLimiter(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "compute"}}
	last := time.Duration(0)
	for range 100 {
		wait := retries.When(request)
		if wait < last || wait > 15*time.Second {
			t.Fatalf("%s after %s", wait, last)
		}
		last = wait
	}
	if last < time.Second {
		t.Errorf("what fails all the time is tried each %s", last)
	}
}
