package web

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// clusterRow is a cluster in the list of all.
type clusterRow struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// Known says whether there is a Cluster object that the caller can see.
	Known bool `json:"known"`
	// States is in how many budgets the cluster is in each state, and Waits in how many it asks for more than it has.
	States map[quotav1alpha1.ClusterState]int `json:"states"`
	Waits  int                                `json:"waits"`
	// Nodes are left out if nobody has told of them.
	Nodes *nodes `json:"nodes,omitempty"`
}

// nodes is what the nodes of a cluster can run, and when the hub was told.
type nodes struct {
	Count       *int32              `json:"count,omitempty"`
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	Unused      corev1.ResourceList `json:"unused,omitempty"`
	Reported    *metav1.Time        `json:"reported,omitempty"`
}

// held is what a cluster holds of one budget.
type held struct {
	view.Cluster

	Budget    string `json:"budget"`
	Namespace string `json:"namespace"`
}

// clustersPage shows all clusters.
func (s *source) clustersPage(_ context.Context, _ topic, p parts) {
	for name, row := range s.rows() {
		p["cluster/"+name] = row
	}
}

// clusterPage shows one cluster, and what it holds of each budget.
func (s *source) clusterPage(_ context.Context, t topic, p parts) {
	row := s.rows()[t.name]
	if row == nil {
		return
	}
	p["head"] = row
	for _, fq := range objectsOf[*quotav1alpha1.FederatedQuota](s.budgets) {
		for _, c := range view.BudgetOf(fq, view.Only{Cluster: t.name}).Clusters {
			p["budget/"+fq.Namespace+"/"+fq.Name] = held{c, fq.Name, fq.Namespace}
		}
	}
}

// rows returns all clusters, by name: those that there are, and those that budgets know.
func (s *source) rows() map[string]*clusterRow {
	rows := map[string]*clusterRow{}
	row := func(name string) *clusterRow {
		if rows[name] == nil {
			rows[name] = &clusterRow{Name: name, States: map[quotav1alpha1.ClusterState]int{}}
		}
		return rows[name]
	}
	for _, c := range objectsOf[*clusterv1.Cluster](s.clusters) {
		r := row(s.live.Clusters.Name(client.ObjectKeyFromObject(c)))
		r.Known, r.Labels = true, c.Labels
	}
	for _, c := range objectsOf[*quotav1alpha1.ClusterCapacity](s.capacities) {
		row(s.live.Clusters.Name(client.ObjectKeyFromObject(c))).Nodes = &nodes{c.Nodes, c.Allocatable, c.Unused, c.ReportTime}
	}
	for _, fq := range objectsOf[*quotav1alpha1.FederatedQuota](s.budgets) {
		for i := range fq.Status.Clusters {
			c := &fq.Status.Clusters[i]
			r := row(string(c.Name))
			r.States[c.State]++
			if asks(c.Demand) {
				r.Waits++
			}
		}
	}
	return rows
}

// asks says whether anything is asked for.
func asks(demand corev1.ResourceList) bool {
	for _, quantity := range demand {
		if quantity.Sign() > 0 {
			return true
		}
	}
	return false
}
