package quota

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/amount"
)

var (
	limitsInForce = prometheus.NewDesc("fedquota_in_force",
		"The limits that clusters enforce together, in cores, bytes or objects, as the last round heard: of a cluster that did not say, what it was granted.",
		[]string{"namespace", "name", "resource"}, nil)
	limitsInCluster = prometheus.NewDesc("fedquota_cluster_in_force",
		"The limit that the cluster enforces, in cores, bytes or objects, as the last round heard. Only with `--metrics-per-cluster`.",
		[]string{"namespace", "name", "cluster", "resource"}, nil)
)

// Limits collects the limits that members enforce, as the last round over each FederatedQuota has heard.
type Limits struct {
	// PerCluster has it collect those of each cluster, too.
	PerCluster bool

	mutex sync.Mutex
	heard map[client.ObjectKey]*enforced
}

// enforced are the limits of one FederatedQuota.
type enforced struct {
	total    amount.List
	clusters map[string]amount.List
}

// hear takes what a round has heard.
func (l *Limits) hear(s *scope) {
	if l == nil {
		return
	}
	budget := s.decision.Ledger.Budget()
	e := &enforced{total: make(amount.List, len(budget)), clusters: map[string]amount.List{}}
	for _, m := range s.members {
		if m.verdict == nil || m.verdict.State == "" {
			continue
		}
		limits := s.limitsOf(m, budget)
		for name := range budget {
			e.total[name] = amount.Add(e.total[name], limits[name])
		}
		if l.PerCluster {
			e.clusters[m.Name] = limits
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.heard == nil {
		l.heard = map[client.ObjectKey]*enforced{}
	}
	l.heard[client.ObjectKeyFromObject(s.fq)] = e
}

// limitsOf returns what a member enforces.
func (s *scope) limitsOf(m *member, budget amount.List) amount.List {
	entry, _ := s.decision.Ledger.Entry(m.Name)
	limits := make(amount.List, len(budget))
	for name := range budget {
		limits[name] = entry.Granted[name]
		if m.verdict.Reported {
			if said, limited := m.Reading.Share.Report.Hard[name]; limited {
				limits[name] = said
			}
		}
	}
	return limits
}

// forget drops what was heard of a FederatedQuota that is gone.
func (l *Limits) forget(key client.ObjectKey) {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.heard, key)
}

// Describe implements prometheus.Collector. What is collected is not known beforehand.
func (*Limits) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l *Limits) Collect(into chan<- prometheus.Metric) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	gauge := func(desc *prometheus.Desc, name corev1.ResourceName, value int64, labels ...string) {
		labels = append(labels, string(name))
		into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, amount.InBaseUnits(name, value), labels...)
	}
	for key, e := range l.heard {
		for name, value := range e.total {
			gauge(limitsInForce, name, value, key.Namespace, key.Name)
		}
		for cluster, limits := range e.clusters {
			for name, value := range limits {
				gauge(limitsInCluster, name, value, key.Namespace, key.Name, cluster)
			}
		}
	}
}
