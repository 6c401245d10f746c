package quota

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/shares"
)

// jitter spreads periodic retries.
const jitter = 0.2

// errNotMarked is that the hub's own API server did not take the marker.
var errNotMarked = errors.New("marking its Cluster failed")

// deliver writes the shares that differ from the ledger. It runs after the ledger is stored. A member that does not
// take its share is no error: that would take away when to look again, at all members, and put off the next try more
// each time.
func (r *Reconciler) deliver(ctx context.Context, s *scope) (ctrl.Result, error) {
	err := members.ForEach(s.members, func(m *member) error {
		if m.verdict == nil || m.verdict.Order == shares.OrderNone {
			return nil
		}
		if err := r.deliverTo(ctx, s, m); err != nil {
			return fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		return nil
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: s.nextRound(r.memories.number())}, nil
}

// deliverTo carries out the order for one member, once its Cluster is marked: how long the hub takes for that is not
// the member's fault.
func (r *Reconciler) deliverTo(ctx context.Context, s *scope, m *member) error {
	if err := r.mark(ctx, s, m); err != nil {
		return r.judge(ctx, s, m, err)
	}
	end, err := r.turns.Take(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if m.verdict.Abandoned {
		if free, err := r.free(ctx, s, m); free || err != nil {
			return r.judge(ctx, s, m, err)
		}
	}
	switch m.verdict.Order {
	case shares.OrderKeep:
		r.remember(s, m, shares.Obstacle{})
		return nil
	case shares.OrderTellRemoval, shares.OrderRemove:
		return r.judge(ctx, s, m, r.remove(ctx, s, m))
	case shares.OrderCreate, shares.OrderUpdate:
		return r.judge(ctx, s, m, r.write(ctx, s, m))
	default:
		return nil
	}
}

// nextRound returns when to look again although nothing may happen: as the round says, and sooner where a delivery was
// in vain or has changed what the status is to say. The FederatedQuota is one of that many.
func (s *scope) nextRound(quotas int) time.Duration {
	exact, about := s.decision.Next(quotas)
	next := wait.Jitter(about, jitter)
	for _, soon := range append(s.retries(quotas), exact, s.snapshotDue) {
		if soon > 0 {
			next = min(next, soon)
		}
	}
	return next
}

// retries returns when to try deliveries again.
func (s *scope) retries(quotas int) []time.Duration {
	var retries []time.Duration
	for _, m := range s.members {
		switch {
		case m.verdict == nil || m.Past.StalledFor > 0 || m.Reading.Watched:
		case m.verdict.Read && m.outcome != m.Reading.HeldBack:
			retries = append(retries, time.Millisecond)
		case m.failed:
			retries = append(retries, pace.StallInterval)
		case m.outcome != (shares.Obstacle{}):
			retries = append(retries, wait.Jitter(pace.RoundRetryInterval(len(s.members), quotas), jitter))
		}
	}
	return retries
}

// write creates or updates a share.
func (r *Reconciler) write(ctx context.Context, s *scope, m *member) error {
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	h := r.historyOf(s, m)
	if m.share == nil {
		err = r.create(ctx, c, s, m)
	} else if err = r.update(ctx, c, s, m); err == nil {
		h.most = m.verdict.MostAllocatable
	}
	h.told = s.now
	return err
}

// judge remembers why a share could not be written or removed. It returns what the next round mends at once: somebody
// else has written, and what was read is old.
func (r *Reconciler) judge(ctx context.Context, s *scope, m *member, err error) error {
	switch {
	case err == nil:
		r.remember(s, m, shares.Obstacle{})
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
	if sameButNumbers(outcome, m.outcome) {
		outcome = m.outcome
	}
	if outcome != m.outcome {
		ctrl.LoggerFrom(ctx).Info("Delivering a share failed",
			"Cluster", m.Name, "outcome", outcome.Message, "err", err.Error())
	}
	m.failed = !refused
	r.remember(s, m, outcome)
	return nil
}

// figures are what an API server may say otherwise each time: when, how much, the UID of a request.
var figures = regexp.MustCompile("[0-9a-f-]*[0-9][0-9a-f-]*")

// sameButNumbers says whether two obstacles differ in nothing that somebody would act on.
func sameButNumbers(a, b shares.Obstacle) bool {
	return a.Reason == b.Reason && figures.ReplaceAllString(a.Message, "0") == figures.ReplaceAllString(b.Message, "0")
}

// quoteLimit leaves room, in the message of a member, for what stands before the words of its API server.
const quoteLimit = 200

// quoted returns what an API server answered, to go on a message with.
func quoted(err error) string {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status):
		return ""
	case status.Status().Message == "":
		return ": " + string(status.Status().Reason)
	}
	return ": " + conditions.Truncated(status.Status().Message, quoteLimit)
}

// noNamespace is why a share cannot be written where its namespace does not exist.
var noNamespace = shares.Obstacle{
	Reason:  quotav1alpha1.ReasonNamespaceMissing,
	Message: "the namespace does not exist there: create it, or set spec.placement.createNamespace",
}

// outcomeOf returns why a share could not be delivered, and whether the member has refused it, so that somebody has to
// act there.
func (s *scope) outcomeOf(ctx context.Context, m *member, err error) (outcome shares.Obstacle, refused bool) {
	what := "the share"
	if m.verdict.Order.Leaves() {
		what = "the removal of the share"
	}
	obstacle := func(reason, message string) shares.Obstacle { return shares.Obstacle{Reason: reason, Message: message} }
	var nobody *members.AccountError
	switch {
	case errors.As(err, &nobody):
		return obstacle(quotav1alpha1.ReasonDeliveryFailed, nobody.Why), false
	case members.IsMissingNamespace(err):
		return noNamespace, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return obstacle(quotav1alpha1.ReasonNamespaceTerminating, "the namespace is being deleted there"), true
	case ctx.Err() != nil:
		return obstacle(quotav1alpha1.ReasonNotAnswered, "its API server did not answer in time"), false
	case errors.Is(err, errNotMarked):
		return obstacle(quotav1alpha1.ReasonDeliveryFailed, errNotMarked.Error()+quoted(err)), false
	case errors.Is(err, errNoNamespace) && quoted(err) != "":
		why := "its API server refused to create the namespace" + quoted(err)
		return obstacle(quotav1alpha1.ReasonNamespaceRefused, why), true
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return obstacle(quotav1alpha1.ReasonRefused, "its API server refused "+what+quoted(err)), true
	}
	return obstacle(quotav1alpha1.ReasonDeliveryFailed, "writing "+what+" failed"+quoted(err)), false
}

// stale says whether a member's API server refused a share because a newer one is there, by the words of the rule on
// QuotaShareSpec, or because another one came in its place.
func stale(err error) bool {
	return apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "revision never goes down") ||
		strings.Contains(err.Error(), "metadata.uid: Invalid value"))
}

// remember notes what came of writing or removing a share.
func (r *Reconciler) remember(s *scope, m *member, outcome shares.Obstacle) {
	m.outcome, r.historyOf(s, m).outcome = outcome, outcome
}
