package systemtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// Asked are the metrics that dashboards and rules ask for, each with the labels that it must have, and whether managers
// were seen to export it.
type Asked struct {
	lines []string
	seen  map[string]bool
}

// AskedFor reads what dashboards and rules ask for.
func AskedFor(t *testing.T) *Asked {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Root(t), "hack", "alerts", "testdata", "asked.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return &Asked{lines: strings.Split(strings.TrimSpace(string(content)), "\n"), seen: map[string]bool{}}
}

// See takes what a manager exports.
func (a *Asked) See(families map[string]*dto.MetricFamily) {
	for _, line := range a.lines {
		metric, labels, _ := strings.Cut(line, " ")
		a.seen[line] = a.seen[line] || exports(families, metric, strings.Split(labels, ","))
	}
}

// ofNodes are the names, or how they begin, of the metrics that there are where clusters have nodes.
var ofNodes = []string{"fedquota_scale_out_", "fedquota_cluster_allocatable", "fedquota_cluster_unused"}

// ofElections is exported by managers that take part in an election alone.
const ofElections = "leader_election_master_status"

// Missing returns what nobody was seen to export, of the metrics that tell of nodes, or of all others.
func (a *Asked) Missing(nodes bool) []string {
	return slices.DeleteFunc(slices.Clone(a.lines), func(line string) bool {
		begins := func(name string) bool { return strings.HasPrefix(line, name) }
		return a.seen[line] || begins(ofElections) || slices.ContainsFunc(ofNodes, begins) != nodes
	})
}

// exports says whether there is a series of a metric with these labels. Histograms are exported as buckets of theirs.
func exports(families map[string]*dto.MetricFamily, metric string, labels []string) bool {
	family := families[metric]
	if name, isBucket := strings.CutSuffix(metric, "_bucket"); isBucket && families[name].GetType() == dto.MetricType_HISTOGRAM {
		family = families[name]
	}
	return slices.ContainsFunc(family.GetMetric(), func(series *dto.Metric) bool {
		return !slices.ContainsFunc(labels, func(label string) bool {
			isBound := label == "le" && len(series.GetHistogram().GetBucket()) > 0
			return label != "" && !isBound && !slices.ContainsFunc(series.GetLabel(), func(pair *dto.LabelPair) bool { return pair.GetName() == label })
		})
	})
}
