package stores

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
)

// exported returns what a watcher exports, each as its name and labels, in seconds after the epoch, and has it keep the
// conventions of Prometheus.
func exported(t *testing.T, w *Watcher) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			of := family.GetName()
			for _, label := range m.GetLabel() {
				of += " " + label.GetValue()
			}
			found[of] = m.GetGauge().GetValue()
		}
	}
	return found
}

// TestTimes notes reports, and neither what the hub writes nor what is told once more; and answers, and no failures.
func TestTimes(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	w := &Watcher{Clock: clock, Timeout: time.Minute, PerCluster: true}
	heard := 0
	count := handler.Funcs{
		CreateFunc: func(context.Context, event.CreateEvent, queue) { heard++ },
		UpdateFunc: func(context.Context, event.UpdateEvent, queue) { heard++ },
		DeleteFunc: func(context.Context, event.DeleteEvent, queue) { heard++ },
	}
	west := listener{EventHandler: count, Watcher: w, member: "west"}
	share := func(version string, generation, observed int64) *quotav1alpha1.QuotaShare {
		s := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "compute", ResourceVersion: version, Generation: generation,
		}}
		s.Status.ObservedGeneration = observed
		packed, err := pack.Share(s)
		if err != nil {
			t.Fatal(err)
		}
		return packed.(*quotav1alpha1.QuotaShare)
	}
	update := func(before, after *quotav1alpha1.QuotaShare) {
		west.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
	}
	look := func(err error) {
		member := interceptor.NewClient(nil, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
		})
		w.glance(t.Context(), member, "west")
	}
	const ofLook, ofMember, ofShare = "fedquota_member_last_look_timestamp_seconds west",
		"fedquota_member_last_report_timestamp_seconds west", "fedquota_cluster_last_report_timestamp_seconds west compute team"
	for _, step := range []struct {
		name string
		do   func()
		want map[string]float64
	}{
		{"it does not answer", func() { look(errors.New("no")) }, map[string]float64{}},
		{"the hub creates the share", func() { west.Create(t.Context(), event.CreateEvent{Object: share("1", 1, 0)}, nil) }, map[string]float64{}},
		{"nobody has acted on it", func() {
			west.Create(t.Context(), event.CreateEvent{Object: share("1", 1, 0), IsInInitialList: true}, nil)
		}, map[string]float64{}},
		{"it answers", func() { look(nil) }, map[string]float64{ofLook: 1004}},
		{"a report", func() { update(share("1", 1, 0), share("2", 1, 1)) }, map[string]float64{ofLook: 1004, ofMember: 1005, ofShare: 1005}},
		{"told once more", func() { update(share("2", 1, 1), share("2", 1, 1)) }, map[string]float64{ofLook: 1004, ofMember: 1005, ofShare: 1005}},
		{"the hub writes", func() { update(share("2", 1, 1), share("3", 2, 1)) }, map[string]float64{ofLook: 1004, ofMember: 1005, ofShare: 1005}},
		{"connected to again", func() {
			west.Create(t.Context(), event.CreateEvent{Object: share("3", 2, 1), IsInInitialList: true}, nil)
		}, map[string]float64{ofLook: 1004, ofMember: 1008, ofShare: 1008}},
		{"the share goes", func() { west.Delete(t.Context(), event.DeleteEvent{Object: share("4", 2, 1)}, nil) }, map[string]float64{ofLook: 1004, ofMember: 1008}},
		{"the cluster goes", func() { w.known.keep(nil) }, map[string]float64{}},
	} {
		clock.SetTime(clock.Now().Add(time.Second))
		step.do()
		if diff := cmp.Diff(step.want, exported(t, w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	if heard != 7 {
		t.Errorf("%d of 7 events were handed on", heard)
	}
}

// TestTimesAreFew has 1,000 budgets over 200 clusters be two series a cluster, unless each is asked for.
func TestTimesAreFew(t *testing.T) {
	for perCluster, want := range map[bool]int{false: 2 * 200, true: 2*200 + 200*1000} {
		w, now := &Watcher{}, time.Unix(1000, 0)
		for i := range 200 {
			member := fmt.Sprintf("c%d", i)
			w.known.answered(member, now)
			for j := range 1000 {
				w.known.reported(member, types.NamespacedName{Namespace: fmt.Sprintf("team-%d", j), Name: "compute"}, perCluster, now)
			}
		}
		series, got := make(chan prometheus.Metric), 0
		go func() {
			defer close(series)
			w.Collect(series)
		}()
		for range series {
			got++
		}
		if got != want {
			t.Errorf("per cluster %t: %d series, want %d", perCluster, got, want)
		}
	}
}
