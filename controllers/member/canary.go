package member

import (
	"context"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	canaryName = "fedquota-canary"
	// canaryResource is a name that nothing is counted under, so the canary limits nothing.
	canaryResource corev1.ResourceName = "quota.fedquota.io/canary"

	canaryInterval = 15 * time.Second
	canaryTimeout  = 10 * time.Second
)

// Canary tells whether the quota controller of the cluster works: it changes the limit of a ResourceQuota of its own, and
// the quota controller has to follow in time. One that does not no longer recounts usage either.
type Canary struct {
	client.Client
	// Clock measures how long the quota controller takes.
	Clock clock.PassiveClock
	// Namespace is the agent's own.
	Namespace string

	mutex   sync.Mutex
	changes chan event.GenericEvent
	changed time.Time
	stuck   bool
}

// NewCanary returns a canary in the given namespace.
func NewCanary(c client.Client, clk clock.PassiveClock, namespace string) *Canary {
	return &Canary{Client: c, Clock: clk, Namespace: namespace, changes: make(chan event.GenericEvent, 1)}
}

// Stuck says whether the quota controller did not follow the last change in time.
func (c *Canary) Stuck() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.stuck
}

// Changes sends an event when what Stuck says changes.
func (c *Canary) Changes() <-chan event.GenericEvent { return c.changes }

// SetupWithManager registers the canary.
func (c *Canary) SetupWithManager(mgr ctrl.Manager) error {
	key := types.NamespacedName{Namespace: c.Namespace, Name: canaryName}
	first := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		queue.Add(ctrl.Request{NamespacedName: key})
		return nil
	})
	own := predicate.NewPredicateFuncs(func(o client.Object) bool { return client.ObjectKeyFromObject(o) == key })
	return ctrl.NewControllerManagedBy(mgr).
		Named("canary").
		For(&corev1.ResourceQuota{}, builder.WithPredicates(own)).
		WatchesRawSource(first).
		Complete(c)
}

// Reconcile changes the canary's limit every interval, and judges how the quota controller follows.
func (c *Canary) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	quota := &corev1.ResourceQuota{}
	if err := c.Get(ctx, req.NamespacedName, quota); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		c.written()
		return ctrl.Result{RequeueAfter: canaryTimeout}, c.Create(ctx, c.quota(0))
	}
	limit, inForce := quota.Spec.Hard[canaryResource], quota.Status.Hard[canaryResource]
	age := c.age()
	followed := len(quota.Status.Hard) > 0 && limit.Cmp(inForce) == 0
	switch {
	case followed:
		c.judge(ctx, false)
	case age >= canaryTimeout:
		c.judge(ctx, true)
	}
	if wait := canaryInterval - age; wait > 0 {
		if until := canaryTimeout - age; !followed && until > 0 {
			wait = until
		}
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	patch, err := mergePatch(map[string]any{"spec": map[string]any{"hard": map[string]any{string(canaryResource): strconv.FormatInt(limit.Value()+1, 10)}}})
	if err != nil {
		return ctrl.Result{}, err
	}
	if followed {
		c.written()
	}
	return ctrl.Result{RequeueAfter: canaryTimeout}, c.Patch(ctx, quota, patch)
}

func (c *Canary) quota(limit int64) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: canaryName},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{canaryResource: *resource.NewQuantity(limit, resource.DecimalSI)}},
	}
}

func (c *Canary) written() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.changed = c.Clock.Now()
}

// age returns how long ago the canary's limit was changed; a canary found in the cluster counts as changed just now.
func (c *Canary) age() time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.changed.IsZero() {
		c.changed = c.Clock.Now()
	}
	return c.Clock.Since(c.changed)
}

func (c *Canary) judge(ctx context.Context, stuck bool) {
	c.mutex.Lock()
	turned := c.stuck != stuck
	c.stuck = stuck
	c.mutex.Unlock()
	if !turned {
		return
	}
	ctrl.LoggerFrom(ctx).Info("The quota controller of this cluster changed its state", "stuck", stuck)
	select {
	case c.changes <- event.GenericEvent{Object: c.quota(0)}:
	case <-ctx.Done():
	}
}
