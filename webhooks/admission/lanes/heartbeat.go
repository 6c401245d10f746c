package lanes

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

// Heartbeat is the Lease that the hub renews in this cluster while it is there, as this process sees it. As in an
// election, no two clocks are compared: what counts is when this process saw the Lease change. Safety does not rest on
// it: it decides whether a request waits for a raise, and nothing else.
type Heartbeat struct {
	mutex sync.Mutex
	lease coordinationv1.LeaseSpec // empty if there is none
	seen  time.Time                // when it changed
	void  bool                     // the hub is there although it ran out
}

// See notes the Lease as it is now.
func (h *Heartbeat) See(lease coordinationv1.LeaseSpec, now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !equality.Semantic.DeepEqual(h.lease, lease) {
		h.lease, h.seen, h.void = lease, now, false
	}
}

// wrote notes that the hub wrote a share. If its Lease had run out, that says nothing until it is renewed: the hub has
// just come back, or it is one that renews none.
func (h *Heartbeat) wrote(now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.void = h.ranOut(now)
}

// stopped says whether nothing is to be expected from the hub because its Lease ran out.
func (h *Heartbeat) stopped(now time.Time) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.ranOut(now) && !h.void
}

// ranOut says whether the Lease was not seen to change for as long as it is good for. One that was never renewed does
// not run out.
func (h *Heartbeat) ranOut(now time.Time) bool {
	seconds := ptr.Deref(h.lease.LeaseDurationSeconds, 0)
	return seconds > 0 && now.Sub(h.seen) >= time.Duration(seconds)*time.Second
}
