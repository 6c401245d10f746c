package cli

import (
	"fmt"
	"strings"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// StateStyle is how the state of a cluster looks.
func StateStyle(state quotav1alpha1.ClusterState) text.Style {
	switch state {
	case quotav1alpha1.ClusterSettled:
		return text.Green
	case quotav1alpha1.ClusterSettling, quotav1alpha1.ClusterDraining, quotav1alpha1.ClusterLeaving:
		return text.Yellow
	}
	return text.Red
}

// ClustersOf names the clusters of a budget.
func ClustersOf(fq *quotav1alpha1.FederatedQuota) string {
	var names []string
	for i, c := range fq.Status.Clusters {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(fq.Status.Clusters)-i))
			break
		}
		names = append(names, string(c.Name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
