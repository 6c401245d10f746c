package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	benchrig "github.com/fedquota/fedquota/hack/bench/rig"
)

// probe measures the hub manager from outside.
type probe struct {
	rig    *rig
	client *http.Client
	hub    string
}

// reading is what a probe has read at an instant. Counters go on from the start of the process.
type reading struct {
	at                           time.Time
	managerCPU, hubCPU, fleetCPU float64
	// stored is how many bytes the hub's etcd has written into its files.
	stored                          float64
	rss, peak                       float64
	goroutines                      float64
	hubReads, hubWrites, memberSent float64
	memberRequests, hubRequests     map[string]int64
	rounds, poolRounds              float64
	// decided is of how many budgets there was a round since the hub manager started.
	decided int
}

// newProbe returns a probe that may read the metrics of the hub manager, as a Prometheus may.
func newProbe(ctx context.Context, r *rig) (*probe, error) {
	cl, err := system.Scraper(ctx, r.Hub)
	if err != nil {
		return nil, err
	}
	hub, err := url.Parse(r.Hub.Config.Host)
	return &probe{rig: r, client: cl, hub: hub.Host}, err
}

// read reads everything. What a manager does not tell, as one that is not there, is left out.
func (p *probe) read(ctx context.Context) reading {
	now := reading{at: time.Now(), memberRequests: map[string]int64{}, hubRequests: map[string]int64{}}
	now.fleetCPU = benchrig.CPUSeconds(os.Getpid())
	for _, name := range []string{fleet.Etcd, fleet.APIServer} {
		now.hubCPU += benchrig.CPUSeconds(p.rig.Hub.Process(name).PID())
	}
	if etcd, err := procfs.NewProc(p.rig.Hub.Process(fleet.Etcd).PID()); err == nil {
		if written, err := etcd.IO(); err == nil {
			now.stored = float64(written.WriteBytes)
		}
	}
	for _, m := range p.rig.members {
		counts, sent := m.Requests()
		now.memberSent += float64(sent)
		for what, count := range counts {
			now.memberRequests[what] += count
		}
	}
	pid := p.rig.HubManager.PID()
	now.managerCPU = benchrig.CPUSeconds(pid)
	now.peak, now.rss = benchrig.Memory(pid)
	p.scrape(ctx, &now)
	p.scrapeHub(ctx, &now)
	return now
}

// scrape reads the metrics of the hub manager.
func (p *probe) scrape(ctx context.Context, now *reading) {
	families, err := p.metrics(ctx)
	if err != nil {
		progress("metrics of the hub manager: %v", err)
		return
	}
	for _, m := range families["go_goroutines"].GetMetric() {
		now.goroutines = m.GetGauge().GetValue()
	}
	for _, m := range families["controller_runtime_reconcile_total"].GetMetric() {
		switch label(m, "controller") {
		case "quota":
			now.rounds += m.GetCounter().GetValue()
		case "pool":
			now.poolRounds += m.GetCounter().GetValue()
		}
	}
	decided := sets.New[string]()
	for _, m := range families["fedquota_in_force"].GetMetric() { // rounds alone tell of that
		decided.Insert(label(m, "namespace"))
	}
	now.decided = len(decided)
	for _, m := range families["rest_client_requests_total"].GetMetric() {
		switch {
		case label(m, "host") != p.hub:
		case label(m, "method") == http.MethodGet:
			now.hubReads += m.GetCounter().GetValue()
		default:
			now.hubWrites += m.GetCounter().GetValue()
		}
	}
}

// scrapeHub reads how often the hub's API server was asked, by verb and resource, whoever asked.
func (p *probe) scrapeHub(ctx context.Context, now *reading) {
	clientset, err := kubernetes.NewForConfig(p.rig.Hub.Config)
	if err == nil {
		var body []byte
		if body, err = clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx); err == nil {
			err = now.countHub(bytes.NewReader(body))
		}
	}
	if err != nil {
		progress("metrics of the hub: %v", err)
	}
}

func (now *reading) countHub(metrics io.Reader) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(metrics)
	for _, m := range families["apiserver_request_total"].GetMetric() {
		what := strings.ToLower(label(m, "verb")) + " " + label(m, "resource")
		if sub := label(m, "subresource"); sub != "" {
			what += "/" + sub
		}
		now.hubRequests[what] += int64(m.GetCounter().GetValue())
	}
	return err
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func (p *probe) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	managers := p.rig.Managers(p.rig.Hub)
	if len(managers) == 0 {
		return nil, errors.New("none runs")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, managers[0].MetricsURL, nil)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// resetPeak begins a new maximum of the memory of the hub manager.
func (p *probe) resetPeak() {
	path := fmt.Sprintf("/proc/%d/clear_refs", p.rig.HubManager.PID())
	if err := os.WriteFile(path, []byte("5"), 0); err != nil {
		progress("the maximum of memory goes on from the phase before: %v", err)
	}
}
