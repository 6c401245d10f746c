package quota

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/record"
	"github.com/fedquota/fedquota/internal/shares"
)

// noteLimit keeps the note of an event within what the API server takes.
const noteLimit = 1000

// announce writes the events of a round that is stored, but for those of announceNotes.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	t := &r.memories.of(s.fq.UID).told
	r.announceReady(ctx, s, t)
	r.announceMoves(s, t)
}

// announceReady writes an event when the reason of Ready is another one than was told. Waiting shorter than a few
// seconds is no news.
func (r *Reconciler) announceReady(ctx context.Context, s *scope, t *told) {
	ready := apimeta.FindStatusCondition(s.fq.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || ready.Reason == t.ready {
		return
	}
	if ready.Reason == quotav1alpha1.ReasonSettling && s.now.Sub(ready.LastTransitionTime.Time) < pace.EventPatience {
		return
	}
	t.ready = ready.Reason
	kind := corev1.EventTypeWarning
	switch ready.Reason {
	case quotav1alpha1.ReasonEnforced, quotav1alpha1.ReasonSettling, quotav1alpha1.ReasonRemoving:
		kind = corev1.EventTypeNormal
	}
	ctrl.LoggerFrom(ctx).Info("Ready changed", "status", ready.Status, "reason", ready.Reason, "message", ready.Message)
	r.Recorder.Eventf(s.fq, nil, kind, ready.Reason, "Reconcile", "%s", conditions.Truncated(ready.Message, noteLimit))
}

// announceMoves writes one event for a move once it has come to rest, and one now and then while limits do not.
func (r *Reconciler) announceMoves(s *scope, t *told) {
	moves := movesOf(s, t)
	switch {
	case len(moves) == 0:
		t.rest()
		return
	case t.since.IsZero():
		t.since = s.now
	}
	if totals := &s.decision.Totals; totals.Settled < totals.Selected && s.now.Sub(t.since) < pace.MoveEventInterval {
		return
	}
	t.rest()
	r.Records.Moved(s.fq, moves)
	r.Recorder.Eventf(s.fq, nil, corev1.EventTypeNormal, quotav1alpha1.ReasonLimitsMoved, "Move",
		"%s", conditions.Truncated(textOf(moves), noteLimit))
}

// movesOf returns which limits are others than were told.
func movesOf(s *scope, t *told) []record.Move {
	var moves []record.Move
	for _, m := range s.members {
		if m.verdict == nil || m.verdict.State == "" {
			continue
		}
		t.note(m)
		limits, moved := t.before[m.Name]
		if !moved {
			continue
		}
		e, _ := s.decision.Ledger.Entry(m.Name)
		for name, target := range e.Target {
			if limits[name] == target {
				continue
			}
			moves = append(moves, record.Move{
				Time: s.now, Resource: name, Cluster: m.Name,
				From: amount.Text(name, limits[name], s.fq.Spec.Hard), To: amount.Text(name, target, s.fq.Spec.Hard),
				Why: string(t.why[m.Name][name]),
			})
		}
	}
	slices.SortStableFunc(moves, func(a, b record.Move) int { return cmp.Compare(a.Resource, b.Resource) })
	return moves
}

// textOf says which limits have moved: "requests.cpu: east 5 → 9 (Need), west 10 → 6 (Surplus); pods: …". Moves come by
// resource name.
func textOf(moves []record.Move) string {
	var parts []string
	for len(moves) > 0 {
		name, texts := moves[0].Resource, []string{}
		for len(moves) > 0 && moves[0].Resource == name {
			text := fmt.Sprintf("%s %s → %s", moves[0].Cluster, moves[0].From, moves[0].To)
			if moves[0].Why != "" {
				text += fmt.Sprintf(" (%s)", moves[0].Why)
			}
			texts, moves = append(texts, text), moves[1:]
		}
		parts = append(parts, fmt.Sprintf("%s: %s", name, shares.Abbreviated(texts)))
	}
	return strings.Join(parts, "; ")
}

// announceNotes logs and writes an event for each condition beside Ready that has come, or concerns other clusters.
// Reconciling and Stalled say what Ready says.
func (r *Reconciler) announceNotes(
	ctx context.Context, fq *quotav1alpha1.FederatedQuota, before *quotav1alpha1.FederatedQuotaStatus,
) {
	summaries := sets.New(quotav1alpha1.ConditionReady, quotav1alpha1.ConditionReconciling, quotav1alpha1.ConditionStalled)
	for _, c := range fq.Status.Conditions {
		was := apimeta.FindStatusCondition(before.Conditions, c.Type)
		if summaries.Has(c.Type) || was != nil && affected(before, *was).Equal(affected(&fq.Status, c)) {
			continue
		}
		kind := corev1.EventTypeWarning
		if shares.Harmless(c.Type) {
			kind = corev1.EventTypeNormal
		}
		ctrl.LoggerFrom(ctx).Info("Condition changed", "type", c.Type, "reason", c.Reason, "message", c.Message)
		r.Recorder.Eventf(fq, nil, kind, c.Reason, "Reconcile", "%s", conditions.Truncated(c.Type+": "+c.Message, noteLimit))
	}
}

// affected returns whom a condition concerns: names of clusters, or the message where that only lists them.
func affected(status *quotav1alpha1.FederatedQuotaStatus, c metav1.Condition) sets.Set[string] {
	names := sets.New[string]()
	switch c.Type {
	case quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ConditionKindNotServed,
		quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ConditionLedgerFull:
		return names.Insert(c.Message)
	case quotav1alpha1.ConditionDebt:
		return indebted(status)
	}
	for i := range status.Clusters {
		if shares.ConditionOf(status.Clusters[i].State) == c.Type {
			names.Insert(string(status.Clusters[i].Name))
		}
	}
	return names
}

// indebted returns the clusters that hold more than their target of a resource of which more is granted than the budget
// allows.
func indebted(status *quotav1alpha1.FederatedQuotaStatus) sets.Set[string] {
	names := sets.New[string]()
	for name, granted := range status.Granted {
		if granted.Cmp(status.Hard[name]) <= 0 {
			continue
		}
		for i := range status.Clusters {
			c := &status.Clusters[i]
			held, target := c.Granted[name], c.Target[name]
			if c.Target != nil && held.Cmp(target) > 0 {
				names.Insert(string(c.Name))
			}
		}
	}
	return names
}
