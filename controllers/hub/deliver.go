package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

const (
	// parallelMembers is how many members are read or written at once.
	parallelMembers = 32
	// memberTimeout is how long a member may take to be read, and to be written. A round waits for all members, and those
	// that are well wait for the round: one that is stalled must not hold up their raises.
	memberTimeout = 3 * time.Second
	// jitter spreads periodic retries.
	jitter = 0.2
)

// errNotMarked is that the hub's own API server did not take the marker.
var errNotMarked = errors.New("marking its Cluster failed")

// deliver writes the shares that differ from the ledger. It runs after the ledger is stored. A member that does not take its
// share is no error: that would take away when to look again, at all members, and put off the next try more each time.
func (r *QuotaReconciler) deliver(ctx context.Context, s *scope) (ctrl.Result, error) {
	err := forEach(s.members, func(m *member) error {
		if !m.read() || m.stalledFor > 0 {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, r.memberTimeout)
		defer cancel()
		if err := r.deliverTo(ctx, s, m); err != nil {
			return fmt.Errorf("cluster %s: %w", m.name, err)
		}
		return nil
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: s.nextRound()}, nil
}

// deliverTo writes one share where it differs from the ledger, once the Cluster is marked.
func (r *QuotaReconciler) deliverTo(ctx context.Context, s *scope, m *member) error {
	e, ok := s.ledger.Entry(m.name)
	if !ok || e.Revision == 0 {
		return nil
	}
	if err := r.mark(ctx, s, m); err != nil {
		return r.judge(ctx, s, m, err)
	}
	switch {
	case s.leaves(m):
		return r.judge(ctx, s, m, r.remove(ctx, s, m))
	case s.left(m), m.misfit != "", m.share == nil && len(s.unseen) > 0:
		return nil
	case m.share != nil && (!m.share.DeletionTimestamp.IsZero() || s.upToDate(m, e)):
		r.remember(s, m, obstacle{})
		return nil
	}
	return r.judge(ctx, s, m, r.write(ctx, s, m))
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
	r.historyOf(s, m).tell(s.now)
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
		return nil, apierrors.NewConflict(schema.GroupResource{Group: clusterv1.GroupVersion.Group, Resource: "clusters"}, m.name, errReplaced)
	}
	return client.WithFieldOwner(c, quotav1alpha1.HubFieldManager), nil
}

// errReplaced is why nothing is written to a cluster that another one has the name of.
var errReplaced = errors.New("it was deleted since the round began")

// upToDate says whether the share of a member says what it should. A share of a higher revision is none of ours to write.
func (s *scope) upToDate(m *member, e ledger.Entry) bool {
	spec := &m.share.Spec
	if spec.Revision != e.Revision {
		return spec.Revision > e.Revision
	}
	annotations := m.share.Annotations
	return annotations[quotav1alpha1.ClusterAnnotation] == m.uid && annotations[quotav1alpha1.RemovalAnnotation] == "" && m.share.Status.Ping <= spec.Pong &&
		equality.Semantic.DeepEqual(spec.Admission, s.admissionOf(m)) && !s.outdated(m)
}

// judge remembers why a share could not be written or removed. It returns what the next round mends at once: somebody else has
// written, and what was read is old.
func (r *QuotaReconciler) judge(ctx context.Context, s *scope, m *member, err error) error {
	switch {
	case err == nil:
		r.remember(s, m, obstacle{})
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
		r.historyOf(s, m).stall(r.Clock.Now())
	}
	outcome, refused := s.outcomeOf(ctx, m, err)
	if outcome != m.outcome {
		ctrl.LoggerFrom(ctx).Info("Delivering a share failed", "Cluster", m.name, "outcome", outcome.message, "err", err.Error())
	}
	m.failed = !refused
	r.remember(s, m, outcome)
	return nil
}

// outcomeOf returns why a share could not be delivered, in words that stay the same while the reason does, and whether the
// member has refused it, so that somebody has to act there.
func (s *scope) outcomeOf(ctx context.Context, m *member, err error) (outcome obstacle, refused bool) {
	what, reason := "the share", string(apierrors.ReasonForError(err))
	if s.leaves(m) {
		what = "the removal of the share"
	}
	if reason != "" {
		reason = ": " + reason
	}
	switch {
	case missingNamespace(err):
		return obstacle{quotav1alpha1.ReasonNamespaceMissing, "the namespace does not exist there: create it, or set spec.placement.createNamespace"}, true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return obstacle{quotav1alpha1.ReasonNamespaceTerminating, "the namespace is being deleted there"}, true
	case ctx.Err() != nil:
		return obstacle{quotav1alpha1.ReasonNotAnswered, "its API server did not answer in time"}, false
	case errors.Is(err, errNotMarked):
		return obstacle{quotav1alpha1.ReasonDeliveryFailed, errNotMarked.Error() + reason}, false
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return obstacle{quotav1alpha1.ReasonRefused, "its API server refused " + what + reason}, true
	}
	return obstacle{quotav1alpha1.ReasonDeliveryFailed, "writing " + what + " failed" + reason}, false
}

// stale says whether a member's API server refused a share because a newer one is there, by the words of the rule on QuotaShareSpec, or
// because another one came in its place.
func stale(err error) bool {
	return apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "revision never goes down") || strings.Contains(err.Error(), "metadata.uid: Invalid value"))
}

// remember notes what came of writing or removing a share.
func (r *QuotaReconciler) remember(s *scope, m *member, outcome obstacle) {
	m.outcome, r.historyOf(s, m).outcome = outcome, outcome
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// forEach runs do for all members, several at once. One that fails does not stop the others.
func forEach(members []*member, do func(*member) error) error {
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
