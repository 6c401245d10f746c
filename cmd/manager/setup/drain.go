package setup

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/fedquota/fedquota/internal/pace"
)

const drainInterval = 50 * time.Millisecond

// Drain is the webhook of a process that ends only once nobody relies on it: kube-proxy leads new connections to other
// replicas a moment after this one was asked to end, API servers keep connections, and requests may be held.
type Drain struct {
	http.Handler
	clock clock.Clock
	// least is how long the webhook is served on at least.
	least time.Duration

	ending   atomic.Bool
	underWay atomic.Int64
}

// ServeHTTP answers a request. Once the process was asked to end, it has the API server take another connection for the
// next one.
func (d *Drain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.underWay.Add(1)
	defer d.underWay.Add(-1)
	if d.ending.Load() {
		w.Header().Set("Connection", "close")
	}
	d.Handler.ServeHTTP(w, r)
}

// after returns a context that ends some time after another one, once no request is under way.
func (d *Drain) after(ctx context.Context) context.Context {
	drained, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer end()
		d.ending.Store(true)
		<-d.clock.After(d.least)
		for until := d.clock.Now().Add(pace.DrainMost); d.underWay.Load() > 0 && d.clock.Now().Before(until); {
			<-d.clock.After(drainInterval)
		}
	})
	return drained
}
