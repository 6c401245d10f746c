// Package canary finds out whether the quota controller of a member works, and whether guard and fence are in force
// there.
package canary

import (
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	canaryName = "fedquota-canary"
	// canaryResource is a name that nothing is counted under, so the canary limits nothing.
	canaryResource corev1.ResourceName = "quota.fedquota.io/canary"
)

// Verdict is what the canary found of the cluster.
type Verdict struct {
	// Known says whether the canary has come to a verdict since the agent started.
	Known bool
	// Stuck says whether the quota controller did not follow a change in time.
	Stuck bool
	// Unguarded names the policies that are not in force.
	Unguarded string
	// Uncharged says what keeps charges from being stored, if anything does.
	Uncharged string
}

// Canary tells whether the cluster can be relied upon. Its quota controller works if it follows changes to the limit of
// a ResourceQuota of the canary's own in time; one that does not no longer recounts usage either. Its API server is
// guarded if it refuses what guard and fence must refuse, and charges if it can store what a request is charged.
type Canary struct {
	client.Client
	// Clock measures how long the quota controller takes.
	Clock clock.PassiveClock
	// Namespace is the agent's own.
	Namespace string

	// The state of Reconcile, of which one runs at a time: the last limit that was written and when, and since when a
	// change has not been followed.
	limit   int64
	wrote   time.Time
	waiting time.Time

	mutex   sync.Mutex
	verdict Verdict
	changes chan event.GenericEvent
}

// NewCanary returns a canary in the given namespace.
func NewCanary(c client.Client, clk clock.PassiveClock, namespace string) *Canary {
	return &Canary{Client: c, Clock: clk, Namespace: namespace, changes: make(chan event.GenericEvent, 1)}
}

// Verdict returns what the canary found last.
func (c *Canary) Verdict() Verdict {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.verdict
}

// Changes sends an event when the verdict changes.
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
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(c)
}

// Reconcile probes the policies, judges how the quota controller follows, and changes the canary's limit every
// interval; at first at once, since what was followed before says nothing of now.
func (c *Canary) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	quota := &corev1.ResourceQuota{}
	err := c.Get(ctx, req.NamespacedName, quota)
	if apierrors.IsNotFound(err) {
		return c.write(c.Create(ctx, c.quota(c.limit+1)), c.limit+1)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	unguarded, err := c.unguarded(ctx, quota)
	if err != nil {
		return ctrl.Result{}, err
	}
	c.publish(ctx, c.judge(quota, unguarded))
	if wait := c.due(); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	uncharged, err := c.uncharged(ctx, quota)
	if err != nil {
		return ctrl.Result{}, err
	}
	verdict := c.Verdict()
	verdict.Uncharged = uncharged
	c.publish(ctx, verdict)
	return c.move(ctx, quota)
}

// move changes the canary's limit, which has its usage recounted as well.
func (c *Canary) move(ctx context.Context, quota *corev1.ResourceQuota) (ctrl.Result, error) {
	limit := quota.Spec.Hard[canaryResource]
	next := max(c.limit, limit.Value()) + 1
	patch := patches.Merge{"spec": map[string]any{"hard": c.quota(next).Spec.Hard}}
	return c.write(c.Patch(ctx, quota, patch), next)
}

// Watchdog returns what ends the agent when the store of its cluster went back. It looks at the canary, which changes
// often.
func (c *Canary) Watchdog(live client.Reader) *rollback.Watchdog {
	return &rollback.Watchdog{
		Live:    live,
		Kind:    corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
		Options: []client.ListOption{client.InNamespace(c.Namespace), client.MatchingFields{"metadata.name": canaryName}},
		Cached:  c.Client,
		Objects: &quotav1alpha1.QuotaShareList{},
	}
}

func (c *Canary) quota(limit int64) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: canaryName},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			canaryResource:  *resource.NewQuantity(limit, resource.DecimalSI),
			chargedResource: *resource.NewQuantity(chargedLimit, resource.DecimalSI),
		}},
	}
}

// write takes note of a write of the canary's limit, which is to be followed.
func (c *Canary) write(err error, limit int64) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, err
	}
	c.limit, c.wrote = limit, c.Clock.Now()
	if c.waiting.IsZero() {
		c.waiting = c.wrote
	}
	return ctrl.Result{RequeueAfter: c.due()}, nil
}

// judge returns the verdict on what was read. A version from before the last write says nothing.
func (c *Canary) judge(quota *corev1.ResourceQuota, unguarded string) Verdict {
	verdict := c.Verdict()
	verdict.Unguarded = unguarded
	limit, inForce := quota.Spec.Hard[canaryResource], quota.Status.Hard[canaryResource]
	switch {
	case c.wrote.IsZero():
	case limit.Value() >= c.limit && len(quota.Status.Hard) > 0 && limit.Cmp(inForce) == 0:
		c.waiting = time.Time{}
		verdict.Known, verdict.Stuck = true, false
	case c.waiting.IsZero():
		c.waiting = c.Clock.Now()
	case c.Clock.Since(c.waiting) >= pace.CanaryTimeout:
		verdict.Known, verdict.Stuck = true, true
	}
	return verdict
}

// due returns how long nothing needs to be done; 0 if it is time to change the limit.
func (c *Canary) due() time.Duration {
	if c.wrote.IsZero() {
		return 0
	}
	wait := max(0, pace.CanaryInterval-c.Clock.Since(c.wrote))
	if c.waiting.IsZero() {
		return wait
	}
	if patience := pace.CanaryTimeout - c.Clock.Since(c.waiting); patience > 0 {
		return min(wait, patience)
	}
	return wait
}

// publish makes a verdict the one to go by. Who is told of a change reads the latest.
func (c *Canary) publish(ctx context.Context, verdict Verdict) {
	c.mutex.Lock()
	turned := c.verdict != verdict
	c.verdict = verdict
	c.mutex.Unlock()
	if !turned {
		return
	}
	ctrl.LoggerFrom(ctx).Info("The canary changed its verdict", "known", verdict.Known, "stuck", verdict.Stuck,
		"unguarded", verdict.Unguarded, "uncharged", verdict.Uncharged)
	select {
	case c.changes <- event.GenericEvent{Object: c.quota(0)}:
	default:
	}
}
