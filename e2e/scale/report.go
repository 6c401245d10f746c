package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	benchrig "github.com/fedquota/fedquota/hack/bench/rig"
)

// report is what a run has shown.
type report struct {
	Name     string    `json:"name"`
	Members  int       `json:"members"`
	Budgets  int       `json:"budgets"`
	Mode     string    `json:"mode"`
	Machine  string    `json:"machine"`
	Began    time.Time `json:"began"`
	Finished time.Time `json:"finished"`
	Rows     []row     `json:"rows"`
}

// row is what a phase has shown. Requests and CPU are those of the phase.
type row struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	Failure string  `json:"failure,omitempty"`
	// Load is what other processes kept busy too: the load of the machine when the phase ended.
	Load string `json:"load"`
	// PeakMiB and RSSMiB are the memory of the hub manager, at most and at the end.
	PeakMiB    float64 `json:"peakMiB"`
	RSSMiB     float64 `json:"rssMiB"`
	Goroutines float64 `json:"goroutines"`
	// ManagerCPU, HubCPU and FleetCPU are seconds of CPU of the hub manager, of etcd and kube-apiserver of the hub, and of
	// the members.
	ManagerCPU     float64          `json:"managerCPU"`
	HubCPU         float64          `json:"hubCPU"`
	FleetCPU       float64          `json:"fleetCPU"`
	Rounds         float64          `json:"rounds"`
	PoolRounds     float64          `json:"poolRounds"`
	HubReads       float64          `json:"hubReads"`
	HubWrites      float64          `json:"hubWrites"`
	MemberRequests map[string]int64 `json:"memberRequests"`
	MemberMB       float64          `json:"memberMB"`
	// HubRequests are all that the hub's API server has answered, those of its own controllers and of this program, too.
	HubRequests map[string]int64 `json:"hubRequests"`
	// StoredMB is what the hub's etcd has written into its files, log and snapshots included.
	StoredMB float64 `json:"storedMB"`
	// Ended says that the hub manager has ended by itself meanwhile.
	Ended bool `json:"ended,omitempty"`
	// Unready is how many budgets were seen at most that are not settled, while none was changed.
	Unready int `json:"unready"`
}

func newReport(r *rig) *report {
	return &report{
		Name: r.name, Members: r.size, Budgets: r.budgets, Mode: string(r.mode), Began: time.Now(),
		Machine: fmt.Sprintf("%d cores, %s", runtime.NumCPU(), runtime.Version()),
	}
}

// measure runs a phase.
func (r *rig) measure(ctx context.Context, p phase) row {
	var before reading
	if r.HubManager != nil {
		r.probe.resetPeak()
		before = r.probe.read(ctx)
	}
	profiled := make(chan struct{})
	phaseCtx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	go func() {
		defer close(profiled)
		if r.profile && r.HubManager != nil {
			r.saveCPUProfile(phaseCtx, p)
		}
	}()
	begin := time.Now()
	err := p.run(phaseCtx)
	took := time.Since(begin)
	cancel()
	<-profiled
	after := r.probe.read(ctx)
	if r.profile {
		r.saveProfile(ctx, p, "heap?gc=1") // what is live, without garbage
		r.saveProfile(ctx, p, "goroutine")
	}
	result := difference(before, after)
	result.Phase, result.Seconds, result.Load = p.name, took.Seconds(), loadAverage()
	result.Unready, r.unready = r.unready, 0
	if err != nil {
		result.Failure = err.Error()
	}
	if pid := r.HubManager.PID(); pid != r.pid {
		result.Ended, r.pid = !strings.HasPrefix(p.name, "restart"), pid
	}
	return result
}

// saveCPUProfile tries until the hub manager answers: it may just be started again.
func (r *rig) saveCPUProfile(ctx context.Context, p phase) {
	_ = until(ctx, poll, func(ctx context.Context) bool {
		return benchrig.SaveProfile(ctx, r.pprof, "profile?seconds=10", r.results, r.name+"-"+p.name) == nil
	})
}

func (r *rig) saveProfile(ctx context.Context, p phase, what string) {
	if err := benchrig.SaveProfile(ctx, r.pprof, what, r.results, r.name+"-"+p.name); err != nil {
		progress("profile: %v", err)
	}
}

// difference returns what happened between two readings. Counters of a process that was started again begin anew.
func difference(before, after reading) row {
	since := func(before, after float64) float64 {
		if after < before {
			return after
		}
		return after - before
	}
	result := row{
		PeakMiB: after.peak, RSSMiB: after.rss, Goroutines: after.goroutines,
		ManagerCPU: since(before.managerCPU, after.managerCPU), HubCPU: since(before.hubCPU, after.hubCPU), FleetCPU: since(before.fleetCPU, after.fleetCPU),
		Rounds: since(before.rounds, after.rounds), HubReads: since(before.hubReads, after.hubReads), HubWrites: since(before.hubWrites, after.hubWrites),
		PoolRounds: since(before.poolRounds, after.poolRounds),
		MemberMB:   (after.memberSent - before.memberSent) / 1e6, MemberRequests: more(before.memberRequests, after.memberRequests),
		HubRequests: more(before.hubRequests, after.hubRequests), StoredMB: since(before.stored, after.stored) / 1e6,
	}
	return result
}

// more returns what was counted between two readings.
func more(before, after map[string]int64) map[string]int64 {
	counts := map[string]int64{}
	for what, count := range after {
		if added := count - before[what]; added > 0 {
			counts[what] = added
		}
	}
	return counts
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// unsettled returns how many budgets are not settled in all members, by what kubectl prints of them.
func (r *rig) unsettled(ctx context.Context) (int, error) {
	client, err := kubernetes.NewForConfig(r.Hub.Config)
	if err != nil {
		return 0, err
	}
	body, err := client.RESTClient().Get().AbsPath("/apis", quotav1alpha1.GroupVersion.String(), "federatedquotas").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Param("includeObject", "None").Param("resourceVersion", "0").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(body, table); err != nil {
		return 0, err
	}
	column := func(name string) int {
		return slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == name })
	}
	ready, settled := column("Ready"), column("Settled")
	if ready < 0 || settled < 0 {
		return 0, fmt.Errorf("columns Ready and Settled are missing")
	}
	unsettled := r.budgets - len(table.Rows)
	for _, row := range table.Rows {
		if row.Cells[ready] != "True" || row.Cells[settled] != fmt.Sprintf("%d/%d", r.size, r.size) {
			unsettled++
		}
	}
	return unsettled, nil
}

// outcome is what is shown of a phase while the run goes on.
func (r row) outcome() string {
	if r.Failure != "" {
		return fmt.Sprintf("FAILED after %.1f s: %s", r.Seconds, r.Failure)
	}
	return fmt.Sprintf("%.2f s, at most %.0f MiB, %.1f s of CPU, %.0f rounds, load %s", r.Seconds, r.PeakMiB, r.ManagerCPU, r.Rounds, r.Load)
}

// write writes the report as JSON, and as a table.
func (r *report) write(path string) error {
	r.Finished = time.Now()
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".json", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.WriteFile(path+".txt", []byte(r.table()), 0o600)
}

// table is the report for people.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d members x %d budgets, %s; %s\n", r.Name, r.Members, r.Budgets, r.Mode, r.Machine)
	fmt.Fprintf(&b, "%-31s %8s %7s %7s %7s %7s %7s %7s %7s %8s %8s %8s %7s %7s %5s\n", "phase", "seconds", "MiB max", "MiB end", "gorout.",
		"CPU s", "hub CPU", "members", "rounds", "hub read", "hub wr.", "mem.req.", "mem. MB", "etcd MB", "load")
	for _, p := range r.Rows {
		note := ""
		if p.Failure != "" {
			note = "  NOT IN TIME"
		}
		if p.Unready > 0 {
			note += fmt.Sprintf("  %d budgets were not settled meanwhile", p.Unready)
		}
		if p.Ended {
			note += "  THE HUB MANAGER ENDED"
		}
		fmt.Fprintf(&b, "%-31s %8.2f %7.0f %7.0f %7.0f %7.1f %7.1f %7.1f %7.0f %8.0f %8.0f %8d %7.1f %7.1f %5s%s\n", p.Phase, p.Seconds, p.PeakMiB, p.RSSMiB, p.Goroutines,
			p.ManagerCPU, p.HubCPU, p.FleetCPU, p.Rounds, p.HubReads, p.HubWrites, sum(p.MemberRequests), p.MemberMB, p.StoredMB, p.Load, note)
	}
	return b.String()
}

func sum(counts map[string]int64) (total int64) {
	for count := range maps.Values(counts) {
		total += count
	}
	return total
}
