//go:build e2e

package plugin_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/report"
)

// recordInterval is how often the hub manager writes records here.
const recordInterval = "--record-interval=1s"

// sample is what a member used from an instant on, in CPUs.
type sample struct {
	at   time.Time
	cpus float64
}

// samples are what a member's own API server says that is used: nothing of it comes from the hub.
type samples struct {
	mutex sync.Mutex
	list  []sample
}

// sampled watches what a member uses until the test ends.
func (w *world) sampled(name string) *samples {
	w.Helper()
	s := &samples{}
	watcher, err := w.clients[name].Watch(w.Context(), &corev1.ResourceQuotaList{}, client.InNamespace(team))
	w.must(err)
	go func() {
		for e := range watcher.ResultChan() {
			if quota, ok := e.Object.(*corev1.ResourceQuota); ok && e.Type != watch.Deleted && quota.Name == "compute" {
				used := quota.Status.Used[corev1.ResourceRequestsCPU]
				s.mutex.Lock()
				s.list = append(s.list, sample{time.Now(), used.AsApproximateFloat64()})
				s.mutex.Unlock()
			}
		}
	}()
	w.Cleanup(watcher.Stop)
	return s
}

// hours returns CPUs times hours between two instants.
func (s *samples) hours(from, until time.Time) (sum float64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i, next := range s.list {
		begin, end := next.at, until
		if i+1 < len(s.list) {
			end = s.list[i+1].at
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(until) {
			end = until
		}
		if end.After(begin) {
			sum += next.cpus * end.Sub(begin).Hours()
		}
	}
	return sum
}

// reported returns what is reported of the month, and what a cluster has used in it.
func (w *world) reported() (*report.Report, map[string]report.Row) {
	w.Helper()
	answer := &report.Report{}
	w.must(json.Unmarshal([]byte(w.out(hub, "report", "compute", "-o", "json")), answer))
	rows := map[string]report.Row{}
	for _, row := range answer.Rows {
		if row.Resource == corev1.ResourceRequestsCPU {
			rows[row.Cluster] = row
		}
	}
	return answer, rows
}

// recordedFor waits until records go on for a while.
func (w *world) recordedFor(from time.Time, span time.Duration) (*report.Report, map[string]report.Row) {
	w.Helper()
	var answer *report.Report
	var rows map[string]report.Row
	w.eventually("a record of "+span.String(), func(context.Context) (bool, error) {
		answer, rows = w.reported()
		return answer.Until.Sub(from) >= span, nil
	})
	return answer, rows
}

// records has what is reported be what the members' own API servers say, and what happened be known without events.
func (w *world) records() {
	seen := w.sampled(east)
	w.must(w.clients[east].Create(w.Context(), deployment("web", 4)))
	w.uses(east, "4")
	before, was := w.recordedFor(time.Now(), 0)
	w.recordedFor(before.Until, 10*time.Second)
	w.scale(east, "web", 2)
	w.recordedFor(before.Until, 25*time.Second)
	w.scale(east, "web", 4)
	after, is := w.recordedFor(before.Until, 45*time.Second)
	want, got := seen.hours(before.Until, after.Until), is[east].UsedHours-was[east].UsedHours
	w.Logf("in %s, %.6f CPU-hours are recorded, and %.6f were seen", after.Until.Sub(before.Until), got, want)
	if math.Abs(got-want) > want/100 {
		w.Errorf("%.6f CPU-hours are recorded, and %.6f were seen", got, want)
	}
	w.must(w.clients[east].Delete(w.Context(), deployment("web", 0), client.PropagationPolicy("Foreground")))
	w.uses(east, "0")

	w.changesPods("42")
	w.changesPods("40")
	w.eventually("records of both changes", func(context.Context) (bool, error) {
		out := w.out(hub, "history", "compute", "--since", "30d")
		return strings.Contains(out, "hard.pods: 40 → 42") && strings.Contains(out, "hard.pods: 42 → 40"), nil
	})
	w.page("changes", hub, "history compute --since 30d")
	w.page("report", hub, "report compute")
	w.page("priced", hub, "report compute --by budget --prices "+files+"prices.yaml -o csv")
	w.shows(hub, "history compute --since 30d", "SpecChanged", "hard.pods: 40 → 42, by kubectl-patch")
	w.answers(hub, "report --month 2020-01", 1, "nothing is recorded of it")
	w.becomes("the budget to be at rest again", settled)
}

// changesPods changes the budget as people do, and waits until a round has seen it.
func (w *world) changesPods(pods string) {
	w.Helper()
	patch := `{"spec":{"hard":{"pods":"` + pods + `"}}}`
	out, err := w.kubectl(hub, "patch", "fq", "compute", "-n", team, "--type=merge", "-p", patch)
	w.has("patch", out, "patched")
	w.must(err)
	w.becomes(pods+" pods", func(fq *quotav1alpha1.FederatedQuota) bool {
		hard := fq.Status.Hard[corev1.ResourcePods]
		return hard.Cmp(resource.MustParse(pods)) == 0
	})
}
