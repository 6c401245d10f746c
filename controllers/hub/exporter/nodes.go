package exporter

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

var (
	nodes = prometheus.NewDesc("fedquota_cluster_nodes",
		"How many nodes of the cluster are ready and schedulable.",
		[]string{"cluster"}, nil)
	allocatable = prometheus.NewDesc("fedquota_cluster_allocatable",
		"What these nodes have for pods, in cores, bytes or objects.",
		[]string{"cluster", "resource"}, nil)
	unused = prometheus.NewDesc("fedquota_cluster_unused",
		"What of it no pod requests, in cores, bytes or objects.",
		[]string{"cluster", "resource"}, nil)
)

// Nodes collects what the nodes of clusters can run.
type Nodes struct {
	client.Reader
	// NameOf returns the name of a cluster by the key of its Cluster.
	NameOf func(client.ObjectKey) string
}

// Describe implements prometheus.Collector. What is collected is not known beforehand.
func (Nodes) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (n Nodes) Collect(into chan<- prometheus.Metric) {
	var reports quotav1alpha1.ClusterCapacityList
	if !list(n, &reports, nodes, into) {
		return
	}
	for i := range reports.Items {
		report := &reports.Items[i]
		cluster := n.NameOf(client.ObjectKeyFromObject(report))
		gauge(into, nodes, float64(ptr.Deref(report.Nodes, 0)), cluster)
		for desc, quantities := range map[*prometheus.Desc]corev1.ResourceList{
			allocatable: report.Allocatable, unused: report.Unused,
		} {
			for name := range report.Allocatable {
				q := quantities[name]
				gauge(into, desc, q.AsApproximateFloat64(), cluster, string(name))
			}
		}
	}
}
