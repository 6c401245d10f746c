package scaleout

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	stepsTaken = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fedquota_scale_out_steps_total",
		Help: "Times that the replicas of a MachineDeployment were raised for the budget.",
	}, []string{"namespace", "name"})
	nodesAdded = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fedquota_scale_out_nodes_total",
		Help: "Replicas by which MachineDeployments were raised for the budget.",
	}, []string{"namespace", "name"})
)

func init() {
	metrics.Registry.MustRegister(stepsTaken, nodesAdded)
}

// forgetSeries removes the series of a budget.
func forgetSeries(namespace, name string) {
	stepsTaken.DeleteLabelValues(namespace, name)
	nodesAdded.DeleteLabelValues(namespace, name)
}
