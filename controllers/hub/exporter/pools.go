package exporter

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

var ofPools = level{
	budget: prometheus.NewDesc("fedquota_pool_budget",
		"The budget of the QuotaPool, in cores, bytes or objects: hard less reserve, and no more than its nodes and its parent give.",
		[]string{"pool", "resource"}, nil),
	granted: prometheus.NewDesc("fedquota_pool_granted",
		"What the children of the QuotaPool were granted, in cores, bytes or objects. +Inf while a child may hold anything.",
		[]string{"pool", "resource"}, nil),
	used: prometheus.NewDesc("fedquota_pool_used",
		"What the children of the QuotaPool use, in cores, bytes or objects.",
		[]string{"pool", "resource"}, nil),
	demand: prometheus.NewDesc("fedquota_pool_demand",
		"What the children of the QuotaPool could use beyond what they use, in cores, bytes or objects.",
		[]string{"pool", "resource"}, nil),
	free: prometheus.NewDesc("fedquota_pool_free",
		"The part of the budget that no child of the QuotaPool holds, in cores, bytes or objects.",
		[]string{"pool", "resource"}, nil),
	debt: prometheus.NewDesc("fedquota_pool_debt",
		"What the QuotaPool has granted above its budget, in cores, bytes or objects. No child is raised while it is above 0.",
		[]string{"pool", "resource"}, nil),
	ready: prometheus.NewDesc("fedquota_pool_ready",
		"1 if the condition Ready of the QuotaPool is True, else 0.",
		[]string{"pool"}, nil),
}

// Pools collects QuotaPools: a few series for each resource name of each, however many children it has.
type Pools struct{ client.Reader }

// Describe implements prometheus.Collector. What is collected is not known beforehand.
func (Pools) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (p Pools) Collect(into chan<- prometheus.Metric) {
	var pools quotav1alpha1.QuotaPoolList
	if !list(p, &pools, ofPools.ready, into) {
		return
	}
	for i := range pools.Items {
		s := &pools.Items[i].Status.BudgetStatus
		ofPools.export(into, s, pools.Items[i].Name)
		exportNodes(into, s, "", pools.Items[i].Name)
	}
}
