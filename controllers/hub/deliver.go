package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/round"
)

const (
	// parallelMembers is how many members are read or written at once.
	parallelMembers = 32
	// jitter spreads periodic retries.
	jitter = 0.2
)

// errNotMarked is that the hub's own API server did not take the marker.
var errNotMarked = errors.New("marking its Cluster failed")

// deliver writes the shares that differ from the ledger. It runs after the ledger is stored. A member that does not take its
// share is no error: that would take away when to look again, at all members, and put off the next try more each time.
func (r *QuotaReconciler) deliver(ctx context.Context, s *scope) (ctrl.Result, error) {
	err := forEach(s.members, func(m *member) error {
		if m.verdict == nil || m.verdict.Order == round.OrderNone {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, r.memberTimeout)
		defer cancel()
		if err := r.deliverTo(ctx, s, m); err != nil {
			return fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		return nil
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: s.nextRound()}, nil
}

// deliverTo carries out the order for one member, once its Cluster is marked.
func (r *QuotaReconciler) deliverTo(ctx context.Context, s *scope, m *member) error {
	if err := r.mark(ctx, s, m); err != nil {
		return r.judge(ctx, s, m, err)
	}
	switch m.verdict.Order {
	case round.OrderKeep:
		r.remember(s, m, round.Obstacle{})
		return nil
	case round.OrderTellRemoval, round.OrderRemove:
		return r.judge(ctx, s, m, r.remove(ctx, s, m))
	case round.OrderCreate, round.OrderUpdate:
		return r.judge(ctx, s, m, r.write(ctx, s, m))
	default:
		return nil
	}
}

// nextRound returns when to look again although nothing may happen: as the round says, and sooner where a delivery was in vain or has
// changed what the status is to say.
func (s *scope) nextRound() time.Duration {
	exact, about := s.decision.Next()
	next := wait.Jitter(about, jitter)
	for _, soon := range append(s.retries(), exact, s.snapshotDue) {
		if soon > 0 {
			next = min(next, soon)
		}
	}
	return next
}

// retries returns when to try deliveries again.
func (s *scope) retries() []time.Duration {
	var retries []time.Duration
	for _, m := range s.members {
		switch {
		case m.verdict == nil || m.Past.StalledFor > 0:
		case m.verdict.Read && m.outcome != m.Reading.HeldBack:
			retries = append(retries, time.Millisecond)
		case m.failed:
			retries = append(retries, pace.StallInterval)
		case m.outcome != (round.Obstacle{}):
			retries = append(retries, wait.Jitter(pace.RetryInterval, jitter))
		}
	}
	return retries
}

// write creates or updates a share.
func (r *QuotaReconciler) write(ctx context.Context, s *scope, m *member) error {
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	if m.share == nil {
		err = r.create(ctx, c, s, m)
	} else {
		err = r.update(ctx, c, s, m)
	}
	r.historyOf(s, m).told = s.now
	return err
}

// writer returns a client of a member that says with each write that it is the hub's, as the share policy there demands. It returns a
// conflict if another Cluster may have the connection since the round began, for which nothing was decided.
func (r *QuotaReconciler) writer(ctx context.Context, m *member) (client.Client, error) {
	key := client.ObjectKeyFromObject(m.cluster)
	c, err := r.Members.GetUncachedClient(ctx, key)
	if err != nil {
		return nil, err
	}
	now := &clusterv1.Cluster{}
	if err := r.Get(ctx, key, now); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if now.UID != m.cluster.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: clusterv1.GroupVersion.Group, Resource: "clusters"}, m.Name, errReplaced)
	}
	return client.WithFieldOwner(c, quotav1alpha1.HubFieldManager), nil
}

// errReplaced is why nothing is written to a cluster that another one has the name of.
var errReplaced = errors.New("it was deleted since the round began")

// judge remembers why a share could not be written or removed. It returns what the next round mends at once: somebody else has
// written, and what was read is old.
func (r *QuotaReconciler) judge(ctx context.Context, s *scope, m *member, err error) error {
	switch {
	case err == nil:
		r.remember(s, m, round.Obstacle{})
		return nil
	case stale(err):
		fencedWrites.Inc()
		return err
	case apierrors.IsConflict(err):
		return err
	case apierrors.IsAlreadyExists(err):
		return nil
	}
	if ctx.Err() != nil {
		r.historyOf(s, m).stalled = r.Clock.Now()
	}
	outcome, refused := s.outcomeOf(ctx, m, err)
	if outcome != m.outcome {
		ctrl.LoggerFrom(ctx).Info("Delivering a share failed", "Cluster", m.Name, "outcome", outcome.Message, "err", err.Error())
	}
	m.failed = !refused
	r.remember(s, m, outcome)
	return nil
}

// outcomeOf returns why a share could not be delivered, in words that stay the same while the reason does, and whether the
// member has refused it, so that somebody has to act there.
func (s *scope) outcomeOf(ctx context.Context, m *member, err error) (outcome round.Obstacle, refused bool) {
	what, reason := "the share", string(apierrors.ReasonForError(err))
	if m.verdict.Order.Leaves() {
		what = "the removal of the share"
	}
	if reason != "" {
		reason = ": " + reason
	}
	switch {
	case missingNamespace(err):
		return round.Obstacle{Reason: quotav1alpha1.ReasonNamespaceMissing, Message: "the namespace does not exist there: create it, or set spec.placement.createNamespace"}, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return round.Obstacle{Reason: quotav1alpha1.ReasonNamespaceTerminating, Message: "the namespace is being deleted there"}, true
	case ctx.Err() != nil:
		return round.Obstacle{Reason: quotav1alpha1.ReasonNotAnswered, Message: "its API server did not answer in time"}, false
	case errors.Is(err, errNotMarked):
		return round.Obstacle{Reason: quotav1alpha1.ReasonDeliveryFailed, Message: errNotMarked.Error() + reason}, false
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return round.Obstacle{Reason: quotav1alpha1.ReasonRefused, Message: "its API server refused " + what + reason}, true
	}
	return round.Obstacle{Reason: quotav1alpha1.ReasonDeliveryFailed, Message: "writing " + what + " failed" + reason}, false
}

// stale says whether a member's API server refused a share because a newer one is there, by the words of the rule on QuotaShareSpec, or
// because another one came in its place.
func stale(err error) bool {
	return apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "revision never goes down") || strings.Contains(err.Error(), "metadata.uid: Invalid value"))
}

// remember notes what came of writing or removing a share.
func (r *QuotaReconciler) remember(s *scope, m *member, outcome round.Obstacle) {
	m.outcome, r.historyOf(s, m).outcome = outcome, outcome
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// forEach runs do for all members, several at once. One that fails does not stop the others.
func forEach[T any](members []T, do func(T) error) error {
	errs := make([]error, len(members))
	var group errgroup.Group
	group.SetLimit(parallelMembers)
	for i, m := range members {
		group.Go(func() error {
			errs[i] = do(m)
			return nil
		})
	}
	_ = group.Wait()
	return kerrors.NewAggregate(errs)
}
