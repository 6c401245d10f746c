package input

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
)

// Problems returns what makes a FederatedQuota one that cannot be acted on among these Clusters: what its condition
// InvalidSpec would say. Agents is the namespace of the agents in members.
func Problems(fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster, agents string) field.ErrorList {
	selected, _ := Placed(fq, undoubted(clusters))
	return problemsOf(fq, selected, agents)
}

// Overlap returns which other FederatedQuota of the namespace covers the same scope in a cluster that this one selects;
// nothing if none does. The hub manager acts upon the older of the two alone.
func Overlap(
	fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster, siblings []quotav1alpha1.FederatedQuota,
) string {
	selected, _ := Placed(fq, clusters)
	stays := func(other *quotav1alpha1.FederatedQuota) bool { return other.DeletionTimestamp.IsZero() }
	return overlapOf(fq, selected, clusters, siblings, stays)
}

// undoubted returns the Clusters that nobody says are destroyed: whether that is so, the hub manager finds out.
func undoubted(clusters []members.Cluster) []members.Cluster {
	var standing []members.Cluster
	for i := range clusters {
		if strings.TrimSpace(clusters[i].Annotations[quotav1alpha1.DestroyedAnnotation]) == "" {
			standing = append(standing, clusters[i])
		}
	}
	return standing
}

// View is what a FederatedQuota means among some Clusters.
type View struct {
	// Selected are the Clusters that share the budget.
	Selected []string
	// Strangers are the places where the spec names Clusters that do not exist.
	Strangers []string
	// Overruled are the places where the spec sets what another rule sets anew for the same Cluster.
	Overruled []string
	// Budget is what may be distributed, Guaranteed what the min of all selected Clusters keep of it, but for what they
	// lend.
	Budget, Guaranteed amount.List
}

// ViewOf returns what a FederatedQuota means among these Clusters.
func ViewOf(fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster) *View {
	selected, missing := Placed(fq, clusters)
	view := &View{
		Selected: slices.Sorted(maps.Keys(selected)), Strangers: strangers(&fq.Spec, clusters, missing),
		Overruled: overruled(&fq.Spec.Distribution, selected), Budget: Wanted(fq), Guaranteed: amount.List{},
	}
	for _, cluster := range selected {
		t := terms(&fq.Spec.Distribution, cluster)
		kept := t.Min
		if fq.Spec.Rebalance.Mode != quotav1alpha1.RebalanceStatic {
			kept = amount.Sub(t.Min, t.Lendable)
		}
		view.Guaranteed = amount.Sum(view.Guaranteed, kept)
	}
	return view
}
