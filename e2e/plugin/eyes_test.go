//go:build e2e

package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/e2e/history"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/observer"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	crowded = "crowded"
	// old is how old the usage may be that an eye shows: the agent looks at a share, and reports it, once a second, and the
	// hub stores what is used every 5 seconds. A busy machine is given time beside that.
	old = 2*pace.ReportInterval + 5*time.Second + 8*time.Second
	// late is how much later than others the observer may see something, since it shares a busy machine with them.
	late = 5 * time.Second
)

// reading is what an eye has shown of a member, asked between two instants.
type reading struct {
	eye, member   string
	from, until   time.Time
	used, granted resource.Quantity
}

// eyes has all that shows numbers be held against the observer while pods come and go in both members: each number that
// page, metrics and plugin show is one that the observer has seen a moment ago, and a report sums up what it saw.
func (w *world) eyes() {
	cpus := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("12"), corev1.ResourcePods: resource.MustParse("200")}
	options := observer.Options{Namespace: crowded, Name: "compute", Budget: cpus, Members: map[string]*rest.Config{}}
	seen := &history.History{}
	options.OnVersion = seen.Add
	for name, c := range w.clients {
		w.must(c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crowded}}))
		if name != hub {
			options.Members[name] = w.Member(name).Config
		}
	}
	watching, err := observer.Watch(w.Context(), options)
	w.must(err)
	defer func() {
		if wrong := watching.Stop().Violations(); len(wrong) > 0 {
			w.Errorf("the observer found %q", wrong)
		}
	}()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: crowded, Name: "compute"}}
	fq.Spec.Hard = cpus
	fq.Spec.Placement.ClusterSelector = &metav1.LabelSelector{}
	w.must(w.clients[hub].Create(w.Context(), fq))

	crowds := map[string]*crowd{east: w.crowd(east), west: w.crowd(west)}
	for _, c := range crowds {
		c.grow(middle)
	}
	before := w.atRest(seen)
	done := make(chan struct{}, len(crowds))
	for member, c := range crowds {
		go func() {
			defer func() { done <- struct{}{} }()
			c.surge(map[string]int{east: 1, west: -1}[member])
		}()
	}
	read := w.looks(done, len(crowds))
	w.scrapes()
	after := w.atRest(seen)
	w.must(watching.Sync(w.Context()))
	w.sawTrue(read, seen)
	w.addsUp(before, after, seen)
	w.must(w.clients[hub].Delete(w.Context(), fq))
}

// atRest waits until the hub knows what is used, and that is recorded, and returns the record.
func (w *world) atRest(seen *history.History) crowdReport {
	w.Helper()
	began := time.Now()
	w.eventually("the hub to know what is used", func(ctx context.Context) (bool, error) {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := w.clients[hub].Get(ctx, client.ObjectKey{Namespace: crowded, Name: "compute"}, fq); err != nil || len(fq.Status.Clusters) != 2 {
			return false, err
		}
		for _, c := range fq.Status.Clusters {
			last := seen.Between(string(c.Name), time.Now(), time.Now())
			for name := range fq.Spec.Hard {
				if known := c.Used[name]; len(last) == 0 || known.Cmp(last[0].Used[name]) != 0 {
					return false, nil
				}
			}
		}
		return true, nil
	})
	var said crowdReport
	w.eventually("a record of it", func(context.Context) (bool, error) {
		code, out, _ := w.run(hub, "report", "compute", "-n", crowded, "-o", "json")
		return code == 0 && json.Unmarshal([]byte(out), &said) == nil && said.Until.After(began), nil
	})
	return said
}

// looks reads all eyes again and again, until all crowds are done.
func (w *world) looks(done <-chan struct{}, crowds int) (all []reading) {
	w.Helper()
	scraper := systemtest.Scraper(w.T, w.Hub)
	page, closePage := w.openPage()
	defer closePage()
	eyes := map[string]func() map[string]view.Amounts{
		"the plugin":  w.describedClusters,
		"the page":    func() map[string]view.Amounts { return w.shownClusters(page) },
		"the metrics": func() map[string]view.Amounts { return w.exportedClusters(scraper) },
	}
	for crowds > 0 {
		for eye, look := range eyes {
			from := time.Now()
			shown := look()
			until := time.Now()
			if len(shown) != 2 {
				w.Fatalf("%s shows %d clusters", eye, len(shown))
			}
			for member, a := range shown {
				all = append(all, reading{eye, member, from, until, resource.MustParse(a.Used), resource.MustParse(a.Granted)})
			}
		}
		select {
		case <-done:
			crowds--
		case <-time.After(200 * time.Millisecond):
		}
	}
	return all
}

// describedClusters returns what the plugin says of CPUs by cluster.
func (w *world) describedClusters() map[string]view.Amounts {
	var budget view.Budget
	w.must(json.Unmarshal([]byte(w.out(hub, "describe", "compute", "-n", crowded, "-o", "json")), &budget))
	shown := map[string]view.Amounts{}
	for _, c := range budget.Clusters {
		shown[c.Name] = cpusOf(c.Resources)
	}
	return shown
}

// shownClusters returns what the page shows when it is opened.
func (w *world) shownClusters(page *page) map[string]view.Amounts {
	body := page.get("/events", "page=budget&namespace="+crowded+"&name=compute")
	defer func() { _ = body.Close() }()
	var change struct{ Set map[string]json.RawMessage }
	w.must(json.Unmarshal([]byte(w.streamed(body)), &change))
	shown := map[string]view.Amounts{}
	for _, member := range []string{east, west} {
		var c view.Cluster
		w.must(json.Unmarshal(change.Set["cluster/"+member], &c))
		shown[member] = cpusOf(c.Resources)
	}
	return shown
}

// exportedClusters returns what the hub manager exports.
func (w *world) exportedClusters(scraper *http.Client) map[string]view.Amounts {
	families, err := systemtest.Scrape(w.Context(), scraper, w.Managers(w.Hub)[0])
	w.must(err)
	shown := map[string]view.Amounts{}
	for _, member := range []string{east, west} {
		of := map[string]string{"namespace": crowded, "name": "compute", "cluster": member, "resource": string(corev1.ResourceRequestsCPU)}
		used, _ := systemtest.ValueOf(families, "fedquota_cluster_used", of)
		granted, told := systemtest.ValueOf(families, "fedquota_cluster_granted", of)
		if told {
			shown[member] = view.Amounts{Used: fmt.Sprintf("%.0fm", used*1000), Granted: fmt.Sprintf("%.0fm", granted*1000)}
		}
	}
	return shown
}

func cpusOf(all []view.Amounts) view.Amounts {
	for _, a := range all {
		if a.Resource == corev1.ResourceRequestsCPU {
			return a
		}
	}
	return view.Amounts{}
}

// sawTrue demands that each reading was true a moment before. The same readings must not be true of another time, or this
// would prove nothing.
func (w *world) sawTrue(read []reading, seen *history.History) {
	w.Helper()
	oldest, byChance := map[string]time.Duration{}, 0
	for _, r := range read {
		age, ok := r.age(seen, 0)
		if !ok {
			w.Errorf("%s has shown %s of %s used in %s, which the observer has not seen in the %s before", r.eye, r.used.String(), r.granted.String(), r.member, old)
		}
		oldest[r.eye] = max(oldest[r.eye], age)
		if _, ok := r.age(seen, old+2*late); ok {
			byChance++
		}
	}
	w.Logf("%d readings; the oldest number: %v; %d would be true of a time %s later", len(read), oldest, byChance, old+2*late)
	if byChance > len(read)/2 {
		w.Error("all of this could be true by chance")
	}
}

// age returns how old what was read is, by what the observer saw, and whether it is not too old. What is granted is at
// least what is in force, and becomes that: it is between what was in force before and after.
func (r *reading) age(seen *history.History, shift time.Duration) (time.Duration, bool) {
	age, least, most := time.Duration(-1), r.granted, r.granted
	ended := r.until.Add(shift + late)
	for _, v := range seen.Between(r.member, r.from.Add(shift-old), ended) {
		used, held := v.Used[corev1.ResourceRequestsCPU], v.Held(corev1.ResourceRequestsCPU)
		if age < 0 && used.Cmp(r.used) == 0 {
			age = max(0, r.from.Add(shift).Sub(ended))
		}
		if ended.Equal(r.until.Add(shift+late)) || held.Cmp(least) < 0 {
			least = held
		}
		if ended.Equal(r.until.Add(shift+late)) || held.Cmp(most) > 0 {
			most = held
		}
		ended = v.Arrived
	}
	return max(0, age), age >= 0 && least.Cmp(r.granted) <= 0 && r.granted.Cmp(most) <= 0
}

// addsUp demands that what is reported of a time is what the observer saw, summed up over that time.
func (w *world) addsUp(before, after crowdReport, seen *history.History) {
	w.Helper()
	hours := after.Until.Sub(before.Until).Hours()
	budgets := map[corev1.ResourceName]float64{}
	for _, row := range after.Rows {
		was := before.of(row.Cluster, row.Resource)
		held, used := seen.Hours(row.Cluster, row.Resource, before.Until, after.Until)
		w.same(fmt.Sprintf("%s used in %s", row.Resource, row.Cluster), row.UsedHours-was.UsedHours, used)
		w.same(fmt.Sprintf("%s granted in %s", row.Resource, row.Cluster), row.GrantedHours-was.GrantedHours, held)
		budgets[row.Resource] += row.BudgetHours - was.BudgetHours
	}
	w.same("the budget of CPUs", budgets[corev1.ResourceRequestsCPU], 12*hours)
	w.same("the budget of pods", budgets[corev1.ResourcePods], 200*hours)
	if len(after.Rows) != 4 {
		w.Errorf("%d rows are reported", len(after.Rows))
	}
}

// same demands that two sums differ by less than one percent.
func (w *world) same(what string, reported, observed float64) {
	w.Helper()
	w.Logf("%s: %.6f hours are reported, %.6f were observed (%+.2f %%)", what, reported, observed, 100*(reported/observed-1))
	if !(math.Abs(reported-observed) < observed/100) {
		w.Errorf("%s: %.6f hours are reported, %.6f were observed", what, reported, observed)
	}
}
