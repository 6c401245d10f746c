package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const (
	// parallelMembers is how many members are read or written at once.
	parallelMembers = 32
	// namespaceMissing is why a member without the namespace cannot take its share.
	namespaceMissing = "the namespace does not exist there: create it, or set spec.placement.createNamespace"
	// jitter spreads periodic retries.
	jitter = 0.2
)

// outcomeKey names a share whose delivery is remembered from one round to the next, for the status alone.
type outcomeKey struct {
	quota   types.UID
	cluster string
}

// deliver writes the shares that differ from the ledger. It runs after the ledger is stored.
func (r *QuotaReconciler) deliver(ctx context.Context, s *scope) (ctrl.Result, error) {
	err := forEach(s.members, func(m *member) error {
		if !m.read() {
			return nil
		}
		if err := r.deliverTo(ctx, s, m); err != nil {
			return fmt.Errorf("cluster %s: %w", m.name, err)
		}
		return nil
	})
	return ctrl.Result{RequeueAfter: s.nextRound()}, err
}

// nextRound returns when to look again although nothing may happen, 0 for never.
func (s *scope) nextRound() time.Duration {
	next := s.snapshotDue
	for _, m := range s.members {
		e, ok := s.ledger.Entry(m.name)
		switch {
		case s.changed(m), ok && e.Revision == 0 && m.read():
			return time.Millisecond
		case (m.outcome != "" || m.failing) && (next == 0 || next > heldBackInterval):
			next = wait.Jitter(heldBackInterval, jitter)
		}
	}
	return next
}

// changed says whether the outcome of a delivery is not in the status yet.
func (s *scope) changed(m *member) bool { return m.read() && m.outcome != m.heldBack }

// deliverTo writes one share where it differs from the ledger.
func (r *QuotaReconciler) deliverTo(ctx context.Context, s *scope, m *member) error {
	e, ok := s.ledger.Entry(m.name)
	switch {
	case !ok || e.Revision == 0:
		return nil
	case s.leaves(m):
		return r.remove(ctx, s, m)
	case m.share != nil && (!m.share.DeletionTimestamp.IsZero() || m.share.Spec.Revision >= e.Revision):
		r.remember(s, m, "")
		return nil
	case m.share == nil && s.removing():
		return nil
	}
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(m.cluster))
	if err != nil {
		return err
	}
	if err := r.mark(ctx, m); err != nil {
		return err
	}
	if m.share == nil {
		err = r.create(ctx, c, s, m)
	} else {
		err = r.update(ctx, c, s, m)
	}
	return r.judge(s, m, err)
}

// judge remembers why a share could not be written. What only somebody else can change is no error to retry at once.
func (r *QuotaReconciler) judge(s *scope, m *member, err error) error {
	switch {
	case err == nil:
		r.remember(s, m, "")
	case missingNamespace(err):
		r.remember(s, m, namespaceMissing)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		r.remember(s, m, "the namespace is being deleted there")
		return nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		r.remember(s, m, "its API server refused the share: "+string(apierrors.ReasonForError(err)))
	}
	return client.IgnoreAlreadyExists(err)
}

func (r *QuotaReconciler) remember(s *scope, m *member, outcome string) {
	m.outcome = outcome
	if outcome == "" {
		r.outcomes.Delete(outcomeKey{s.fq.UID, m.name})
		return
	}
	r.outcomes.Store(outcomeKey{s.fq.UID, m.name}, outcome)
}

func missingNamespace(err error) bool {
	status, ok := err.(apierrors.APIStatus) //nolint:errorlint // what the API server answered, as it is
	return ok && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// mark leaves a marker on the Cluster before anything is written into it: from now on it may hold a share.
func (r *QuotaReconciler) mark(ctx context.Context, m *member) error {
	if m.cluster.Annotations[quotav1alpha1.MemberAnnotation] == "true" {
		return nil
	}
	patch, err := mergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{quotav1alpha1.MemberAnnotation: "true"}}})
	if err != nil {
		return err
	}
	return r.Patch(ctx, m.cluster.DeepCopy(), patch)
}

func (r *QuotaReconciler) create(ctx context.Context, c client.Client, s *scope, m *member) error {
	share := &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.fq.Namespace, Name: s.fq.Name, Finalizers: []string{quotav1alpha1.Finalizer}},
		Spec:       quotav1alpha1.QuotaShareSpec{Scopes: s.fq.Spec.Scopes, ScopeSelector: s.fq.Spec.ScopeSelector},
	}
	share.Spec.Revision, share.Spec.Hard = s.ledger.Share(m.name, like(s.fq))
	err := c.Create(ctx, share)
	if !missingNamespace(err) || s.fq.Spec.Placement.CreateNamespace == nil || !*s.fq.Spec.Placement.CreateNamespace {
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
	limits := make(map[string]any, len(hard))
	for name := range m.share.Spec.Hard {
		limits[string(name)] = nil
	}
	for name, limit := range hard {
		limits[string(name)] = limit
	}
	patch, err := mergePatch(map[string]any{"spec": map[string]any{"revision": revision, "hard": limits}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, m.share.DeepCopy(), patch)
}

// remove deletes the share of a member that leaves, after it was told what shall become of its ResourceQuota.
func (r *QuotaReconciler) remove(ctx context.Context, s *scope, m *member) error {
	if !m.share.DeletionTimestamp.IsZero() && m.share.Annotations[quotav1alpha1.RemovalAnnotation] != "" {
		return nil
	}
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(m.cluster))
	if err != nil {
		return err
	}
	policy := s.fq.Spec.Removal.Policy
	if policy == "" {
		policy = quotav1alpha1.RemovalRetain
	}
	patch, err := mergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{quotav1alpha1.RemovalAnnotation: policy}}})
	if err != nil {
		return err
	}
	share := m.share.DeepCopy()
	if err := c.Patch(ctx, share, patch); err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(c.Delete(ctx, share, client.Preconditions{UID: &share.UID}))
}

func mergePatch(content map[string]any) (client.Patch, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a merge patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
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
	return utilerrors.NewAggregate(errs)
}
