package pool

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pool"
)

// queue takes the pools that are to have a round.
type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Needs are what children need, as their rounds have just found it: the round over their pool need not wait until that
// is stored and seen. It is no part of the protocol, which goes by what children have stored. Its zero value is ready
// to use.
type Needs struct {
	mutex sync.Mutex
	queue queue // nil until the controller of pools runs
	found map[string]Need
	// short are the pools in which somebody lacks something.
	short map[string]bool
}

// Need is what one child needs.
type Need struct {
	// Version is the resourceVersion of the child that the round was about. Once there is another one, that says what it
	// needs.
	Version                  string
	Used, Demand, AlsoNeeded corev1.ResourceList
	Shapes                   []quotav1alpha1.DemandShape
}

// NeedOf returns what an object needs, as its status says.
func NeedOf(object client.Object, status *quotav1alpha1.BudgetStatus) Need {
	return Need{object.GetResourceVersion(), status.Used, status.Demand, status.AlsoNeeded, status.DemandByShape}
}

// Tell notes what a child needs. The pool has a round at once if the child is in haste, or has come to use less while
// others lack something.
func (n *Needs) Tell(pool, key string, before corev1.ResourceList, now Need, haste bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if known, ok := n.found[key]; ok {
		before = known.Used
	}
	if n.found == nil {
		n.found = map[string]Need{}
	}
	n.found[key] = now
	less := !amount.Saturate(now.Used, amount.Up).Covers(amount.Saturate(before, amount.Up))
	if n.queue != nil && (haste || less && n.short[pool]) {
		n.queue.Add(ctrl.Request{NamespacedName: client.ObjectKey{Name: pool}})
	}
}

// Forget drops what is known of a child that is gone.
func (n *Needs) Forget(key string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	delete(n.found, key)
}

// gone drops what is known of a pool that is gone.
func (n *Needs) gone(name string) {
	n.Forget(pool.KeyOf(name))
	n.fallShort(name, false)
}

// of returns what a child needs, of which stored is what its present version says.
func (n *Needs) of(key string, stored Need) Need {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if found, ok := n.found[key]; ok && found.Version == stored.Version {
		return found
	}
	return stored
}

// fallShort notes whether somebody in a pool lacks something.
func (n *Needs) fallShort(pool string, short bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !short {
		delete(n.short, pool)
		return
	}
	if n.short == nil {
		n.short = map[string]bool{}
	}
	n.short[pool] = true
}

// start has needs wake pools from now on.
func (n *Needs) start(_ context.Context, queue queue) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.queue = queue
	return nil
}
