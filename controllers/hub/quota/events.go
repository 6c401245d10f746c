package quota

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// ofStates are the conditions that are there while clusters are in a state.
var ofStates = []struct {
	state             quotav1alpha1.ClusterState
	condition, reason string
}{
	{quotav1alpha1.ClusterUnread, quotav1alpha1.ConditionRebuilding, quotav1alpha1.ReasonUnread},
	{quotav1alpha1.ClusterUnreachable, quotav1alpha1.ConditionUnreachable, quotav1alpha1.ReasonNotConnected},
	{quotav1alpha1.ClusterNotReady, quotav1alpha1.ConditionMemberNotReady, quotav1alpha1.ReasonReported},
	{quotav1alpha1.ClusterDraining, quotav1alpha1.ConditionDraining, quotav1alpha1.ReasonUsageAboveTarget},
	{quotav1alpha1.ClusterStuck, quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ReasonReported},
	{quotav1alpha1.ClusterBreakGlass, quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ReasonReported},
}

// affected returns whom a condition of a status concerns: names of clusters, or the message where that only lists them. It is empty for
// conditions that are of the whole.
func affected(status *quotav1alpha1.FederatedQuotaStatus, c metav1.Condition) sets.Set[string] {
	who := sets.New[string]()
	switch c.Type {
	case quotav1alpha1.ConditionForeignQuota, quotav1alpha1.ConditionUnknownCluster, quotav1alpha1.ConditionLedgerFull:
		who.Insert(c.Message)
	case quotav1alpha1.ConditionDebt:
		for name, granted := range status.Granted {
			if granted.Cmp(status.Hard[name]) <= 0 {
				continue
			}
			for _, h := range holders(status, name) {
				who.Insert(string(h.cluster.Name))
			}
		}
	}
	for _, kind := range ofStates {
		for i := range status.Clusters {
			if kind.condition == c.Type && kind.state == status.Clusters[i].State {
				who.Insert(string(status.Clusters[i].Name))
			}
		}
	}
	return who
}

// holder is a cluster that was granted more than its target, Unknown if it may hold any amount.
type holder struct {
	cluster *quotav1alpha1.ClusterStatus
	excess  int64
}

// holders returns the clusters that hold more of name than their target, those with most first.
func holders(status *quotav1alpha1.FederatedQuotaStatus, name corev1.ResourceName) []holder {
	var found []holder
	in := func(list corev1.ResourceList) int64 {
		return amount.Saturate(corev1.ResourceList{name: list[name]}, amount.Up)[name]
	}
	for i := range status.Clusters {
		h := holder{cluster: &status.Clusters[i]}
		if h.cluster.Target == nil {
			continue // it holds just that
		}
		if h.excess = in(h.cluster.Granted); h.excess != ledger.Unknown {
			h.excess -= in(h.cluster.Target)
		}
		if h.excess > 0 {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b holder) int { return cmp.Compare(b.excess, a.excess) })
	return found
}
