package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/internal/record"
)

// server is a client of the API server that TestMain started, if its programs are at hand.
var server client.WithWatch

func TestMain(m *testing.M) {
	crds := []string{apiserver.CRD("quotarecords")}
	os.Exit(apiserver.Run(m, apiserver.Options{Files: crds}, func(env *envtest.Environment) (err error) {
		server, err = client.NewWithWatch(env.Config, client.Options{Scheme: schemes.All()})
		return err
	}))
}

// world is a budget and the recorder of a hub manager.
type world struct {
	*testing.T

	recorder *Recorder
	clock    *clocktesting.FakeClock
	fq       *quotav1alpha1.FederatedQuota
}

// start has a budget in a namespace of its own, on the last day of a month.
func start(t *testing.T, name string) *world {
	t.Helper()
	if server == nil {
		t.Skip("KUBEBUILDER_ASSETS is not set")
	}
	if err := client.IgnoreAlreadyExists(server.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC))}
	w.fq = &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{
		Namespace: name, Name: "compute", UID: "1", Generation: 1,
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "argocd", Time: &metav1.Time{Time: w.clock.Now()}}},
	}}
	w.fq.Spec.Hard = corev1.ResourceList{"pods": resource.MustParse("10")}
	w.restart(server)
	return w
}

// restart is another hub manager, which knows nothing but what is stored.
func (w *world) restart(c client.Client) {
	w.recorder = &Recorder{Client: c, Live: server, Clock: w.clock, Interval: time.Hour, Months: 2, PoolsIn: w.fq.Namespace}
}

// sees has a round see so many pods used.
func (w *world) sees(used int64) {
	w.recorder.Observe(w.fq, &record.Level{
		Names: []corev1.ResourceName{"pods"}, Total: []record.Amounts{{Budget: 10, Granted: 10, Used: used}},
		Clusters: []record.Holding{{Name: "east", Amounts: []record.Amounts{{Budget: 10, Granted: 10, Used: used}}}},
	})
}

// stored returns what is stored of a month, nil if nothing is.
func (w *world) stored(month string) *record.Month {
	w.Helper()
	stored := &quotav1alpha1.QuotaRecord{}
	err := server.Get(w.Context(), client.ObjectKey{Namespace: w.fq.Namespace, Name: w.fq.Name + "-" + month}, stored)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	m, err := record.Decode(stored.Data)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// has demands that so many pod-hours are stored of a month, and so many hours that nobody saw.
func (w *world) has(month string, used, unobserved float64) {
	w.Helper()
	m := w.stored(month)
	if m == nil {
		w.Errorf("nothing is stored of %s", month)
		return
	}
	if got := m.Total["pods"]; math.Abs(got.Used-used) > 1e-6 || math.Abs(m.Unobserved-unobserved) > 1e-6 {
		w.Errorf("%s: %v pod-hours, %v hours not observed; want %v, %v", month, got.Used, m.Unobserved, used, unobserved)
	}
}

// TestHours writes once an hour, and each month beside the other.
func TestHours(t *testing.T) {
	w := start(t, "hours")
	w.sees(2)
	w.clock.Step(time.Minute)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 2./60, 0)
	w.clock.Step(59 * time.Minute)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 2./60, 0)
	w.sees(4)
	w.clock.Step(time.Minute)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 2+4./60, 0)
	w.clock.Step(11 * time.Hour)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 2+4*11, 0)
	w.has("2026-12", 4./60, 0)
	if spans := w.stored("2026-11").Spans; len(spans) != 1 {
		t.Errorf("%d spans are left of a month that is over, and one day was seen", len(spans))
	}
}

// TestRestarts has another hub manager go on from what is stored: one that ended stores all, and one that crashed leaves a
// gap, for which what it knew counts.
func TestRestarts(t *testing.T) {
	w := start(t, "restarts")
	w.sees(2)
	w.clock.Step(30 * time.Minute)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.recorder.Start(ended); err != nil {
		t.Fatal(err)
	}
	w.has("2026-11", 1, 0)
	w.restart(server)
	w.clock.Step(30 * time.Minute)
	w.sees(4)
	w.clock.Step(time.Hour) // it crashes
	w.restart(server)
	w.sees(6)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 2*2+6, 1.5)

	w.restart(server)
	w.clock.Step(33 * 24 * time.Hour) // over a whole month
	w.sees(1)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 2*2+6+6*9, 1.5+9)
	w.has("2026-12", 6*31*24, 31*24)
	w.has("2027-01", 6*(33*24-9-31*24)+1, 33*24-9-31*24)
}

// TestAnswersLost stores a piece once whose write was done and not answered.
func TestAnswersLost(t *testing.T) {
	w := start(t, "lost")
	lost := false
	w.restart(interceptor.NewClient(server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return errors.Join(c.Create(ctx, object, options...), errors.New("timeout"))
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			err := c.Update(ctx, object, options...)
			if lost = !lost; lost {
				err = errors.Join(err, errors.New("timeout"))
			}
			return err
		},
	}))
	w.sees(2)
	for range 8 {
		w.clock.Step(30 * time.Minute)
		w.recorder.Store(t.Context(), true)
	}
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 8, 0)
}

// TestNothingKnown adds to an hour of which nothing was known, as that of a budget that waited for its pool.
func TestNothingKnown(t *testing.T) {
	w := start(t, "nothing")
	w.recorder.Observe(w.fq, &record.Level{})
	w.clock.Step(10 * time.Minute)
	w.recorder.Store(t.Context(), true)
	w.sees(2)
	w.clock.Step(30 * time.Minute)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 1, 0)
}

// TestPanics stores what others have recorded where what one budget has cannot be stored at all, and then that.
func TestPanics(t *testing.T) {
	w := start(t, "panics")
	broken := true
	w.restart(interceptor.NewClient(server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if broken && strings.HasPrefix(object.GetName(), "broken") {
				panic("broken")
			}
			return c.Create(ctx, object, options...)
		},
	}))
	w.sees(2)
	other := w.fq
	w.fq = other.DeepCopy()
	w.fq.Name, w.fq.UID = "broken", "2"
	w.sees(4)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), false)
	if w.stored("2026-11") != nil {
		t.Error("what panicked is stored")
	}
	broken = false
	w.clock.Step(time.Minute)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 4, 0)
	w.fq = other
	w.has("2026-11", 2, 0)
}

// TestRestored goes on from a record that was put back: nothing counts twice, and what is lost counts as not observed.
func TestRestored(t *testing.T) {
	w := start(t, "restored")
	w.sees(2)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	backup := &quotav1alpha1.QuotaRecord{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "restored", Name: "compute-2026-11"}, backup); err != nil {
		t.Fatal(err)
	}
	w.sees(4)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 6, 0)
	latest := backup.DeepCopy()
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(latest), latest); err != nil {
		t.Fatal(err)
	}
	latest.Data = backup.Data
	if err := server.Update(t.Context(), latest); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 2+2+4, 1)
}

// TestGone keeps the record of a budget that is gone, and lets one of the same name go on from there without what was
// between.
func TestGone(t *testing.T) {
	w := start(t, "gone")
	w.sees(2)
	w.clock.Step(time.Hour)
	w.recorder.Forget(client.ObjectKeyFromObject(w.fq))
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), false)
	w.has("2026-11", 2, 0)
	if _, known := w.recorder.budgets.Load(client.ObjectKeyFromObject(w.fq)); known {
		t.Error("a budget that is gone is remembered")
	}
	w.fq.UID = types.UID("2")
	w.sees(4)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 6, 0)
	w.fq.UID = types.UID("3") // nobody saw the second one go
	w.sees(1)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 7, 0)
}

// TestChanges notes who has changed which field of a spec, also while no hub manager ran.
func TestChanges(t *testing.T) {
	w := start(t, "changes")
	w.sees(1)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	change := func(pods, by string) {
		w.fq.Generation++
		w.fq.Spec.Hard["pods"] = resource.MustParse(pods)
		w.fq.ManagedFields = append(w.fq.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: by, Time: &metav1.Time{Time: w.clock.Now()}},
			metav1.ManagedFieldsEntry{Manager: "fedquota-hub", Subresource: "status", Time: &metav1.Time{Time: w.clock.Now().Add(time.Minute)}})
		w.sees(1)
	}
	change("12", "kubectl-edit")
	w.recorder.Moved(w.fq, []record.Move{{Time: w.clock.Now(), Resource: "pods", Cluster: "east", From: "10", To: "12", Why: "Weight"}})
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.restart(server)
	change("14", "helm")
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	m := w.stored("2026-11")
	var got []string
	for _, c := range m.Audit.Changes {
		got = append(got, strings.Join([]string{c.Time.Format("15:04"), c.By, c.Field, c.From, c.To}, " "))
	}
	if diff := cmp.Diff([]string{"13:00 kubectl-edit hard.pods 10 12", "14:00 helm hard.pods 12 14"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(m.Moves.List) != 1 || m.Moves.List[0].To != "12" {
		t.Errorf("moves: %v", m.Moves.List)
	}
}

// TestPools records a pool beside a budget of its name, with parts by child, over a restart and until it is gone.
func TestPools(t *testing.T) {
	w := start(t, "pools")
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "compute", UID: "2", Generation: 1}}
	sees := func(used int64) {
		w.recorder.ObservePool(pool, &record.Level{
			Names: []corev1.ResourceName{"pods"}, Total: []record.Amounts{{Budget: 20, Granted: 20, Used: used}},
			Clusters: []record.Holding{{Name: "FederatedQuota/team-a/compute", Amounts: []record.Amounts{{Budget: 20, Granted: 20, Used: used}}}},
		})
	}
	w.sees(1)
	sees(4)
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)
	w.restart(server)
	sees(6)
	w.clock.Step(time.Hour)
	w.recorder.Forget(client.ObjectKey{Name: "compute"})
	w.clock.Step(time.Hour)
	w.recorder.Store(t.Context(), true)

	stored := &quotav1alpha1.QuotaRecord{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "pools", Name: "compute-2026-11-pool"}, stored); err != nil {
		t.Fatal(err)
	}
	m, err := record.Decode(stored.Data)
	if err != nil {
		t.Fatal(err)
	}
	sums := m.Clusters["FederatedQuota/team-a/compute"].Sums["pods"]
	if stored.Quota != "" || stored.Pool != "compute" || math.Abs(sums.Used-10) > 1e-6 || sums.Peak != 6 || m.Level != nil {
		t.Errorf("quota %q, pool %q, %+v, level %v", stored.Quota, stored.Pool, sums, m.Level)
	}
	w.has("2026-11", 1, 0)
}

// TestSweep removes what is too old, and nothing else.
func TestSweep(t *testing.T) {
	w := start(t, "sweep")
	for _, name := range []string{"compute-2026-08", "compute-2026-09", "compute-2025-12", "no-month", "team-2026-08-pool", "team-2026-09-pool"} {
		if err := server.Create(t.Context(), &quotav1alpha1.QuotaRecord{ObjectMeta: metav1.ObjectMeta{Namespace: "sweep", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	w.recorder.sweep(t.Context())
	var list quotav1alpha1.QuotaRecordList
	if err := server.List(t.Context(), &list, client.InNamespace("sweep")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"compute-2026-09", "no-month", "team-2026-09-pool"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNames has each budget have a record of its own name in each month.
func TestNames(t *testing.T) {
	at, long := time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC), strings.Repeat("a", 253)
	if got := NameOf("compute", at); got != "compute-2026-11" {
		t.Error(got)
	}
	if got := NameOfPool("compute", at); got != "compute-2026-11-pool" {
		t.Error(got)
	}
	if got := NameOfPool(long, at); len(got) > 253 || !strings.HasSuffix(got, "-2026-11-pool") {
		t.Error(got)
	}
	if a, b := NameOf(long, at), NameOf(long[:252]+"b", at); len(a) > 253 || a == b || !strings.HasSuffix(a, "-2026-11") {
		t.Errorf("%s, %s", a, b)
	}
}

// TestWhileStoring has rounds go on while records are stored.
func TestWhileStoring(t *testing.T) {
	w := start(t, "while")
	w.sees(2)
	var rounds sync.WaitGroup
	rounds.Go(func() {
		for i := range 200 {
			w.clock.Step(time.Second)
			w.sees(2)
			w.recorder.Moved(w.fq, []record.Move{{Time: w.clock.Now(), Resource: "pods", Cluster: "east", To: fmt.Sprint(i)}})
		}
	})
	for range 20 {
		w.recorder.Store(t.Context(), true)
	}
	rounds.Wait()
	w.clock.Step(time.Second)
	w.recorder.Store(t.Context(), true)
	w.has("2026-11", 2*201./3600, 0)
	if moves := w.stored("2026-11").Moves.List; len(moves) != 200 {
		t.Errorf("%d of 200 moves are stored", len(moves))
	}
}
