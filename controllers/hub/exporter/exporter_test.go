package exporter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// quantities returns quantities of pods and cpu, of those that are not empty.
func quantities(pods, cpu string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{"pods": pods, "requests.cpu": cpu} {
		if text != "" {
			list[name] = resource.MustParse(text)
		}
	}
	return list
}

func holding(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(objects...)
}

// exported returns what a collector exports, each as name{labels}, and has it keep the conventions of Prometheus.
func exported(t *testing.T, collector prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			found[strings.TrimPrefix(family.GetName(), "fedquota_")+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue()
		}
	}
	return found
}

// quota has granted more pods than there are, and nobody knows how many cpus. It was over services before.
func quota() *quotav1alpha1.FederatedQuota {
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "compute"}}
	fq.Status = quotav1alpha1.FederatedQuotaStatus{
		Clusters: []quotav1alpha1.ClusterStatus{
			{Name: "east", State: quotav1alpha1.ClusterSettled, Granted: quantities("5", "1"), Used: quantities("4", "")},
			{Name: "west", State: quotav1alpha1.ClusterSettled, Granted: quantities("5", "1"), Demand: quantities("3", "")},
			{Name: "gone", State: quotav1alpha1.ClusterUnreachable},
		},
		BudgetStatus: quotav1alpha1.BudgetStatus{
			Hard: quantities("10", "1500m"), Granted: quantities("12", "9223372036854775807m"),
			Used: quantities("7", "500m"), Demand: quantities("3", ""), Free: quantities("0", "0"),
			Conditions: []metav1.Condition{{Type: quotav1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
		},
	}
	fq.Status.Granted["services"], fq.Status.Used["services"] = resource.MustParse("1"), resource.MustParse("1")
	return fq
}

// TestExport says of each kind what its status says, in base units.
func TestExport(t *testing.T) {
	fresh := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "fresh"}}
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "research"}}
	pool.Status.Hard, pool.Status.Granted, pool.Status.Free = quantities("24", ""), quantities("20", ""), quantities("4", "")
	pool.Status.Used, pool.Status.Demand = quantities("15", ""), quantities("2", "")
	report := &quotav1alpha1.ClusterCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east"}, Nodes: new(int32(2))}
	report.Allocatable, report.Unused = corev1.ResourceList{"cpu": resource.MustParse("7500m")}, corev1.ResourceList{"cpu": resource.MustParse("1")}
	pool.Status.ScaleOut = &quotav1alpha1.ScaleOutStatus{OnTheWay: new(int32(2))}
	fresh.Status.ScaleOut = &quotav1alpha1.ScaleOutStatus{}
	fresh.Status.Conditions = []metav1.Condition{{Type: quotav1alpha1.ConditionScaleOutHeldBack, Status: metav1.ConditionTrue}}
	reader := holding(t, quota(), fresh, pool, report).Build()
	whole := map[string]float64{
		"budget{compute,team,pods}": 10, "budget{compute,team,requests.cpu}": 1.5,
		"granted{compute,team,pods}": 12, "granted{compute,team,requests.cpu}": math.Inf(1),
		"used{compute,team,pods}": 7, "used{compute,team,requests.cpu}": .5,
		"demand{compute,team,pods}": 3, "demand{compute,team,requests.cpu}": 0,
		"free{compute,team,pods}": 0, "free{compute,team,requests.cpu}": 0,
		"debt{compute,team,pods}": 2, "debt{compute,team,requests.cpu}": math.Inf(1),
		"clusters{compute,team,Settled}": 2, "clusters{compute,team,Unreachable}": 1,
		"cluster_budgets{east,Settled}": 1, "cluster_budgets{west,Settled}": 1, "cluster_budgets{gone,Unreachable}": 1,
		"ready{compute,team}": 1, "ready{fresh,team}": 0, "scale_out_nodes_on_the_way{fresh,team}": 0, "scale_out_held_back{fresh,team}": 1,
	}
	for name, c := range map[string]struct {
		collector prometheus.Collector
		want      map[string]float64
	}{
		"FederatedQuotas": {Quotas{Reader: reader}, whole},
		"QuotaPools": {Pools{reader}, map[string]float64{
			"pool_budget{research,pods}": 24, "pool_granted{research,pods}": 20, "pool_used{research,pods}": 15,
			"pool_demand{research,pods}": 2, "pool_free{research,pods}": 4, "pool_debt{research,pods}": 0, "pool_ready{research}": 0,
			"scale_out_nodes_on_the_way{research,}": 2, "scale_out_held_back{research,}": 0,
		}},
		"nodes": {Nodes{reader, func(key client.ObjectKey) string { return key.Name }}, map[string]float64{
			"cluster_nodes{east}": 2, "cluster_allocatable{east,cpu}": 7.5, "cluster_unused{east,cpu}": 1,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, exported(t, c.collector)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestClusters exports what clusters have only if it is told to.
func TestClusters(t *testing.T) {
	got := exported(t, Quotas{Reader: holding(t, quota()).Build(), PerCluster: true})
	for name, want := range map[string]float64{
		"cluster_granted{east,compute,team,pods}": 5, "cluster_used{east,compute,team,pods}": 4,
		"cluster_used{west,compute,team,pods}": 0, "cluster_demand{west,compute,team,pods}": 3,
		"cluster_granted{gone,compute,team,requests.cpu}": 0,
	} {
		if value, exists := got[name]; !exists || value != want {
			t.Errorf("%s is %v, %t; want %v", name, value, exists, want)
		}
	}
}

// TestFailure has a scrape fail that cannot tell all.
func TestFailure(t *testing.T) {
	reader := holding(t).WithInterceptorFuncs(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("no cache")
	}}).Build()
	registry := prometheus.NewRegistry()
	registry.MustRegister(Quotas{Reader: reader})
	if families, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "no cache") {
		t.Errorf("%v, %v", families, err)
	}
}

// TestSeries has 1,000 budgets of three names over 200 clusters be few enough series.
func TestSeries(t *testing.T) {
	var quotas []client.Object
	for i := range 1000 {
		fq := quota()
		fq.Name = fmt.Sprintf("compute-%d", i)
		fq.Status.Hard["services"] = resource.MustParse("3")
		fq.Status.Clusters = nil
		for j := range 200 {
			states := []quotav1alpha1.ClusterState{quotav1alpha1.ClusterSettled, quotav1alpha1.ClusterSettling, quotav1alpha1.ClusterUnreachable}
			fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{
				Name: quotav1alpha1.ClusterName(fmt.Sprintf("c%d", j)), State: states[j%len(states)],
			})
		}
		quotas = append(quotas, fq)
	}
	series := make(chan prometheus.Metric)
	go func() {
		defer close(series)
		Quotas{Reader: holding(t, quotas...).Build()}.Collect(series)
	}()
	count := 0
	for range series {
		count++
	}
	if count > 50_000 || count < 1000 {
		t.Errorf("%d series", count)
	}
}

// TestRules has rules name metrics that the page of metrics has, and rules.
func TestRules(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "config", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Record, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal(content, &rule); err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for _, group := range rule.Spec.Groups {
		for _, r := range group.Rules {
			recorded[r.Record] = true
			names := regexp.MustCompile(`fedquota[_:][a-z_:]+`).FindAllString(r.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%q names no metric", r.Expr)
			}
			for _, name := range names {
				if !recorded[name] && !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%q names %s, which nobody exports", r.Expr, name)
				}
			}
		}
	}
}
