package view

import "math"

// Fit says how many more pods would be admitted, and where.
type Fit struct {
	Namespace string `json:"namespace"`
	// Replicas is how many shall fit, and Fits says whether a cluster takes them all, or no budget counts them.
	Replicas int64 `json:"replicas"`
	Fits     bool  `json:"fits"`
	// Clusters are those of the budgets that count the pods.
	Clusters []ClusterFit `json:"clusters"`
}

// ClusterFit says how many pods would be admitted in one cluster.
type ClusterFit struct {
	Cluster string `json:"cluster"`
	// AtOnce is how many fit now, and AfterRaise how many after limits were raised as far as they go.
	AtOnce     int64 `json:"atOnce"`
	AfterRaise int64 `json:"afterRaise"`
	// Note says what keeps more from fitting.
	Note string `json:"note,omitempty"`
}

// FitOf returns what is to be shown of clusters, with no more pods than a workload can have.
func FitOf(namespace string, replicas int64, clusters []ClusterFit) *Fit {
	f := &Fit{Namespace: namespace, Replicas: replicas, Fits: len(clusters) == 0, Clusters: []ClusterFit{}}
	for _, c := range clusters {
		c.AfterRaise = min(max(c.AtOnce, c.AfterRaise), math.MaxInt32)
		c.AtOnce = min(c.AtOnce, math.MaxInt32)
		f.Fits = f.Fits || c.AfterRaise >= replicas
		f.Clusters = append(f.Clusters, c)
	}
	return f
}
