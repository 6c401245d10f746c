package exporter

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

var ofQuotas = level{
	budget: prometheus.NewDesc("fedquota_budget",
		"The budget of the FederatedQuota, in cores, bytes or objects: hard, and no more than its nodes and its pool give.",
		[]string{"namespace", "name", "resource"}, nil),
	granted: prometheus.NewDesc("fedquota_granted",
		"What clusters were granted, in cores, bytes or objects. +Inf while a cluster may hold anything.",
		[]string{"namespace", "name", "resource"}, nil),
	used: prometheus.NewDesc("fedquota_used",
		"What is used in all clusters, in cores, bytes or objects.",
		[]string{"namespace", "name", "resource"}, nil),
	demand: prometheus.NewDesc("fedquota_demand",
		"What clusters could use beyond what they use, in cores, bytes or objects.",
		[]string{"namespace", "name", "resource"}, nil),
	free: prometheus.NewDesc("fedquota_free",
		"The part of the budget that no cluster holds, in cores, bytes or objects.",
		[]string{"namespace", "name", "resource"}, nil),
	debt: prometheus.NewDesc("fedquota_debt",
		"What is granted above the budget, in cores, bytes or objects. Nobody is raised while it is above 0.",
		[]string{"namespace", "name", "resource"}, nil),
	ready: prometheus.NewDesc("fedquota_ready",
		"1 if the condition Ready of the FederatedQuota is True, else 0.",
		[]string{"namespace", "name"}, nil),
}

var (
	clusters = prometheus.NewDesc("fedquota_clusters",
		"How many clusters of the FederatedQuota are in the state.",
		[]string{"namespace", "name", "state"}, nil)
	budgetsOfCluster = prometheus.NewDesc("fedquota_cluster_budgets",
		"Of how many FederatedQuotas the cluster is in the state.",
		[]string{"cluster", "state"}, nil)
	grantedInCluster = prometheus.NewDesc("fedquota_cluster_granted",
		"What the cluster was granted, in cores, bytes or objects. Only with `--metrics-per-cluster`.",
		[]string{"namespace", "name", "cluster", "resource"}, nil)
	usedInCluster = prometheus.NewDesc("fedquota_cluster_used",
		"What is used in the cluster, in cores, bytes or objects. Only with `--metrics-per-cluster`.",
		[]string{"namespace", "name", "cluster", "resource"}, nil)
	demandInCluster = prometheus.NewDesc("fedquota_cluster_demand",
		"What the cluster could use beyond what it uses, in cores, bytes or objects. Only with `--metrics-per-cluster`.",
		[]string{"namespace", "name", "cluster", "resource"}, nil)
)

// Quotas collects FederatedQuotas: a few series for each resource name of each, however many clusters it has,
// and a few for each cluster.
type Quotas struct {
	client.Reader
	// PerCluster has it collect each cluster of each FederatedQuota, too.
	PerCluster bool
}

// Describe implements prometheus.Collector. What is collected is not known beforehand.
func (Quotas) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (q Quotas) Collect(into chan<- prometheus.Metric) {
	var quotas quotav1alpha1.FederatedQuotaList
	if !list(q, &quotas, ofQuotas.ready, into) {
		return
	}
	type standing struct{ cluster, state string }
	standings := map[standing]int{}
	for i := range quotas.Items {
		fq := &quotas.Items[i]
		s := &fq.Status
		ofQuotas.export(into, &s.BudgetStatus, fq.Namespace, fq.Name)
		exportNodes(into, &s.BudgetStatus, fq.Namespace, fq.Name)
		states := map[quotav1alpha1.ClusterState]int{}
		for j := range s.Clusters {
			states[s.Clusters[j].State]++
			standings[standing{string(s.Clusters[j].Name), string(s.Clusters[j].State)}]++
			if q.PerCluster {
				inCluster(into, fq, &s.Clusters[j])
			}
		}
		for state, count := range states {
			gauge(into, clusters, float64(count), fq.Namespace, fq.Name, string(state))
		}
	}
	for of, count := range standings {
		gauge(into, budgetsOfCluster, float64(count), of.cluster, of.state)
	}
}

// inCluster exports what a cluster has of the names of a budget.
func inCluster(into chan<- prometheus.Metric, fq *quotav1alpha1.FederatedQuota, c *quotav1alpha1.ClusterStatus) {
	for desc, quantities := range map[*prometheus.Desc]corev1.ResourceList{
		grantedInCluster: c.Granted, usedInCluster: c.Used, demandInCluster: c.Demand,
	} {
		amounts := amount.Saturate(quantities, amount.Up)
		for name := range fq.Status.Hard {
			gauge(into, desc, amount.InBaseUnits(name, amounts[name]), fq.Namespace, fq.Name, string(c.Name), string(name))
		}
	}
}
