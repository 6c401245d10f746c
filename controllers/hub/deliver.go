package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
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

// nextRound returns when to look again although nothing may happen.
func (s *scope) nextRound() time.Duration {
	looks := append(slices.Collect(maps.Values(s.awaited)), s.snapshotDue)
	if len(s.unseen) > 0 {
		looks = append(looks, firstLook)
	}
	if len(s.leftOut) > 0 || s.crowded {
		looks = append(looks, wait.Jitter(heldBackInterval, jitter))
	}
	for _, m := range s.members {
		looks = append(looks, s.looksAt(m)...)
	}
	next := wait.Jitter(roundInterval, jitter)
	for _, d := range looks {
		if d > 0 {
			next = min(next, d)
		}
	}
	return next
}

// looksAt returns when to look at a member again, those that are 0 for never.
func (s *scope) looksAt(m *member) []time.Duration {
	switch {
	case m.stalledFor > 0:
		return []time.Duration{m.stalledFor}
	case s.unfinished(m):
		return []time.Duration{time.Millisecond}
	}
	looks := []time.Duration{m.askedFor}
	if m.failed {
		looks = append(looks, stallInterval)
	}
	if m.blocked() {
		looks = append(looks, wait.Jitter(heldBackInterval, jitter))
	}
	if s.misinformed(m) {
		looks = append(looks, m.toldFor)
	}
	if !s.static() {
		looks = append(looks, m.dampedFor)
		for name := range m.gave {
			looks = append(looks, m.respiteFor(name))
		}
		if m.idle() {
			looks = append(looks, donorPatience-m.idleFor)
		}
	}
	return looks
}

// blocked says whether something keeps the member back whose end no watch tells.
func (m *member) blocked() bool {
	return m.outcome != (obstacle{}) || m.unreachable != "" && m.cluster != nil || m.idle()
}

// idle says whether the agent has not acted on the present share.
func (m *member) idle() bool {
	return m.share != nil && m.share.Status.ObservedGeneration != m.share.Generation
}

// unfinished says whether the next round can go on with a member at once: it can be adopted then, or the outcome of its
// delivery is not in the status yet.
func (s *scope) unfinished(m *member) bool {
	e, ok := s.ledger.Entry(m.name)
	return m.read() && (m.outcome != m.heldBack || ok && e.Revision == 0 && !s.early())
}

// deliverTo writes one share where it differs from the ledger.
func (r *QuotaReconciler) deliverTo(ctx context.Context, s *scope, m *member) error {
	e, ok := s.ledger.Entry(m.name)
	switch {
	case !ok || e.Revision == 0:
		return nil
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

// write creates or updates a share, once the Cluster is marked.
func (r *QuotaReconciler) write(ctx context.Context, s *scope, m *member) error {
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(m.cluster))
	if err != nil {
		return err
	}
	if err := r.mark(ctx, s, m); err != nil {
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

// upToDate says whether the share of a member says what it should. A share of a higher revision is none of ours to write.
func (s *scope) upToDate(m *member, e ledger.Entry) bool {
	spec := &m.share.Spec
	if spec.Revision != e.Revision {
		return spec.Revision > e.Revision
	}
	annotations := m.share.Annotations
	return annotations[quotav1alpha1.ClusterAnnotation] == m.uid && annotations[quotav1alpha1.RemovalAnnotation] == "" && m.share.Status.Asked <= spec.Answered &&
		equality.Semantic.DeepEqual(spec.Admission, s.admission()) && !s.outdated(m)
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

// stale says whether a member's API server refused a share because a newer one is there, by the words of the rule on QuotaShareSpec.
func stale(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "revision never goes down")
}

// remember notes what came of writing or removing a share.
func (r *QuotaReconciler) remember(s *scope, m *member, outcome obstacle) {
	m.outcome, r.historyOf(s, m).outcome = outcome, outcome
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// markerOf returns the revision that the marker on a Cluster notes, 0 if it has none and so cannot hold a share. A revision that
// no ledger gave marks the Cluster, and no more.
func markerOf(cluster *clusterv1.Cluster) int64 {
	revision, err := strconv.ParseInt(cluster.Annotations[quotav1alpha1.MemberAnnotation], 10, 64)
	if _, marked := cluster.Annotations[quotav1alpha1.MemberAnnotation]; marked && (err != nil || revision > ledger.MostRevision) {
		return 1
	}
	return revision
}

// mark leaves a marker on the Cluster before a share comes into being, or is that far ahead of it that a ledger which continues
// from the marker would give the same revisions again: from now on the cluster may hold a share, of a revision below those.
func (r *QuotaReconciler) mark(ctx context.Context, s *scope, m *member) error {
	revision := s.ledger.Revision()
	if marker := markerOf(m.cluster); marker >= revision || marker > 0 && m.share != nil && revision-marker < ledger.Gap {
		return nil
	}
	patch, err := write.MergePatch(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{quotav1alpha1.MemberAnnotation: strconv.FormatInt(revision, 10)},
	}})
	if err != nil {
		return err
	}
	if err := r.Patch(ctx, m.cluster.DeepCopy(), patch); err != nil {
		return fmt.Errorf("%w: %w", errNotMarked, err)
	}
	return nil
}

func (r *QuotaReconciler) create(ctx context.Context, c client.Client, s *scope, m *member) error {
	share := &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.fq.Namespace, Name: s.fq.Name, Finalizers: []string{quotav1alpha1.Finalizer},
			Annotations: map[string]string{quotav1alpha1.ClusterAnnotation: m.uid},
		},
		Spec: quotav1alpha1.QuotaShareSpec{
			Scopes: s.fq.Spec.Scopes, ScopeSelector: s.fq.Spec.ScopeSelector, Admission: s.admission(), Fleet: s.fleet,
		},
	}
	share.Spec.Revision, share.Spec.Hard = s.ledger.Share(m.name, like(s.fq))
	err := c.Create(ctx, share)
	if !missingNamespace(err) || !m.selected || !ptr.Deref(s.fq.Spec.Placement.CreateNamespace, false) {
		return err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.fq.Namespace}}); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	return c.Create(ctx, share)
}

// update writes the ledger's revision and limit into a share. It needs no resourceVersion: the member's API server refuses
// a lower revision, and another limit at the same one.
func (r *QuotaReconciler) update(ctx context.Context, c client.Client, s *scope, m *member) error {
	revision, hard := s.ledger.Share(m.name, like(s.fq))
	e, _ := s.ledger.Entry(m.name)
	if m.share.Spec.Revision == revision {
		keepNotation(hard, m.share.Spec.Hard)
	}
	before := maps.Clone(m.share.Spec.Hard)
	for name := range e.Granted { // the share may have names that a cache does not show yet: they are granted until they are dropped
		before[name] = resource.Quantity{}
	}
	patch, err := write.MergePatch(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{quotav1alpha1.ClusterAnnotation: m.uid, quotav1alpha1.RemovalAnnotation: nil}},
		"spec": map[string]any{
			"revision":  revision,
			"hard":      write.Replacing(before, hard),
			"admission": admissionPatch(s.admission()),
			"answered":  max(m.share.Spec.Answered, m.share.Status.Asked),
			"fleet":     fleetPatch(m.share.Spec.Fleet, s.fleet),
		},
	})
	if err != nil {
		return err
	}
	return c.Patch(ctx, m.share.DeepCopy(), patch)
}

// keepNotation writes the quantities of a list that are equal to those of another one as that does: API servers take no other
// limit at the same revision, and compare what is written.
func keepNotation(list, as corev1.ResourceList) {
	for name, quantity := range list {
		if written, ok := as[name]; ok && written.Cmp(quantity) == 0 {
			list[name] = written
		}
	}
}

// admissionPatch returns the merge patch that leaves nothing but admission.
func admissionPatch(admission quotav1alpha1.Admission) any {
	if admission == (quotav1alpha1.Admission{}) {
		return nil
	}
	return map[string]any{"mode": orNil(admission.Mode), "waitMilliseconds": admission.WaitMilliseconds, "poke": orNil(admission.Poke)}
}

// fleetPatch returns the merge patch that turns old into fleet.
func fleetPatch(old, fleet quotav1alpha1.Fleet) any {
	if len(fleet.Budget) == 0 {
		return nil
	}
	return map[string]any{"budget": write.Replacing(old.Budget, fleet.Budget), "used": write.Replacing(old.Used, fleet.Used), "waiting": fleet.Waiting}
}

// orNil returns nil for an empty string, which a merge patch takes as removal.
func orNil[T ~string](value T) any {
	if value == "" {
		return nil
	}
	return value
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
