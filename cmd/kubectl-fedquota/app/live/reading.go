package live

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// reading returns what reading a child gives.
func (f *Fleet) reading(fq *quotav1alpha1.FederatedQuota, c *shares.Child) shares.Reading {
	m := f.Members[c.Name]
	switch {
	case m == nil:
		return shares.Reading{Failure: "there is no such Cluster"}
	case apierrors.IsForbidden(m.Err), errors.Is(m.Err, errNotAsked), m.Err != nil && c.Entry != nil:
		return stored(c, view.EntryOf(fq, c.Name))
	case m.Err != nil:
		return shares.Reading{Failure: m.Err.Error()}
	}
	reading := shares.Reading{HeldBack: heldBack(view.EntryOf(fq, c.Name))}
	switch {
	case m.Share != nil:
		reading.Share = input.Share(m.Share, fq)
	case m.Quota != nil:
		forged := func(revision int64) bool { return revision > max(ledger.MostRevision, fq.Status.Revision) }
		reading.Orphan = input.Orphan(m.Quota, fq, forged)
	}
	return reading
}

// outcomes are the reasons for which the hub manager itself has found that a cluster could not take its share.
var outcomes = map[string]bool{
	quotav1alpha1.ReasonNamespaceMissing:     true,
	quotav1alpha1.ReasonNamespaceRefused:     true,
	quotav1alpha1.ReasonNamespaceTerminating: true,
	quotav1alpha1.ReasonRefused:              true,
	quotav1alpha1.ReasonNotAnswered:          true,
	quotav1alpha1.ReasonDeliveryFailed:       true,
}

// heldBack returns why a cluster could not take its share when the hub manager tried last.
func heldBack(c *quotav1alpha1.ClusterStatus) shares.Obstacle {
	if c == nil || !outcomes[c.Reason] {
		return shares.Obstacle{}
	}
	return shares.Obstacle{Reason: c.Reason, Message: c.Message}
}

// ofStates are the conditions that put a cluster into a state.
var ofStates = map[quotav1alpha1.ClusterState]string{
	quotav1alpha1.ClusterStuck:      quotav1alpha1.ConditionStuckQuotaController,
	quotav1alpha1.ClusterBreakGlass: quotav1alpha1.ConditionBreakGlass,
}

// ofReasons are the conditions that keep a cluster from being ready, by the reason that is given.
var ofReasons = map[string]string{
	quotav1alpha1.ReasonPolicyNotInForce: quotav1alpha1.ConditionUnguarded,
	quotav1alpha1.ReasonChargeNotStored:  quotav1alpha1.ConditionChargesRefused,
}

// stored returns what reading a child would have given when the ledger was stored, as far as that tells.
func stored(c *shares.Child, status *quotav1alpha1.ClusterStatus) shares.Reading {
	switch {
	case c.Entry == nil:
		return shares.Reading{}
	case c.Entry.Revision == 0, c.Entry.State == quotav1alpha1.ClusterUnreachable:
		return shares.Reading{Failure: status.Message}
	}
	share := &shares.Share{
		Owner: c.Entry.UID, Revision: c.Entry.Revision, Hard: c.Entry.Target, Removal: c.Entry.Removal,
		Report: ledger.Report{Revision: c.Entry.Revision, Hard: c.Entry.Granted, Used: c.Entry.Used},
		Demand: c.Entry.Demand,
	}
	if condition, ok := ofStates[c.Entry.State]; ok {
		share.Said = map[string]shares.Condition{condition: {True: true, Message: status.Message}}
	}
	switch {
	case status.State != quotav1alpha1.ClusterNotReady, outcomes[status.Reason]:
	case status.Reason == quotav1alpha1.ReasonAgentAbsent:
		share.Behind = true
	case ofReasons[status.Reason] != "":
		share.Said = map[string]shares.Condition{ofReasons[status.Reason]: {True: true, Message: status.Message}}
	default:
		share.Said = map[string]shares.Condition{
			quotav1alpha1.ConditionEnforced: {Reason: status.Reason, Message: status.Message},
		}
	}
	return shares.Reading{Share: share, HeldBack: heldBack(status)}
}
