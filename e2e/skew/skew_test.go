//go:build skew

package skew_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/observer"
)

const (
	// earlierVariable names the environment variable with the folder of the earlier version, whose manager is built.
	earlierVariable = "FEDQUOTA_EARLIER"

	patience = 4 * time.Minute
	team     = "team-a"
	name     = "compute"
	// budget is the most that is ever set.
	budget = 30
	// most is how many pods a member has at most at a time: more than its part, so that requests are refused, held and
	// raised.
	most = 14
)

// world is a fleet whose managers change their version.
type world struct {
	*testing.T
	hub client.Client
	// earlier and later are the same system in the two versions.
	earlier, later *system.System
	// managers are the hub managers, and agents those of each member, of both versions; nil before they were started
	// first.
	earlierHub, laterHub       *fleet.Process
	earlierAgents, laterAgents map[string]*fleet.Process
	edits                      int
	table                      system.Table
}

// TestUpgradeAndRollBack upgrades the hub manager, and then the agents one by one, and rolls all back in the same
// order, while pods come and go. In each step the budget is changed and comes into force everywhere, and an observer
// sees no sum of limits above it.
func TestUpgradeAndRollBack(t *testing.T) {
	w := start(t)
	w.installsAndRuns()
	o := w.observe()
	stop := w.load()
	w.table.Row("when the budget is changed", "in force everywhere after")
	w.edit("all are of the earlier version")

	w.must(w.later.InstallHub(t.Context()))
	w.must(w.earlierHub.Stop())
	var err error
	w.laterHub, err = w.later.StartHubManager(t.Context(), "hub-later")
	w.must(err)
	w.edit("the hub manager is of this version")
	w.installed("fedquota-hub")
	w.edit("the manifests in members are of this version")
	for _, m := range w.later.Members {
		w.must(w.earlierAgents[m.Name].Stop())
		w.laterAgents[m.Name], err = w.later.StartAgent(t.Context(), m, "later-"+m.Name)
		w.must(err)
		w.edit("the agent in " + m.Name + " is of this version")
	}

	w.must(w.earlier.InstallHub(t.Context()))
	w.must(w.laterHub.Stop())
	w.must(w.earlierHub.Restart(t.Context()))
	w.edit("the hub manager is of the earlier version again")
	for _, m := range w.later.Members {
		w.must(w.laterAgents[m.Name].Stop())
		w.must(w.earlierAgents[m.Name].Restart(t.Context()))
		w.edit("the agent in " + m.Name + " is of the earlier version again")
	}
	w.table.Row(stop())
	w.finish(o)
	w.must(w.table.Write(filepath.Join("..", ".."), "mixes"))
}

// start starts the fleet, with the manifests of the earlier version on the hub.
func start(t *testing.T) *world {
	t.Helper()
	folder := os.Getenv(earlierVariable)
	if folder == "" {
		t.Skipf("%s is not set: run make e2e-skew", earlierVariable)
	}
	w := &world{T: t, earlierAgents: map[string]*fleet.Process{}, laterAgents: map[string]*fleet.Process{}}
	options := system.Options{Root: folder, Bare: true, HubInstalls: true}
	for _, member := range []string{"east", "west"} {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{Name: member, Labels: map[string]string{"tier": "prod"}})
	}
	w.earlier = systemtest.Start(t, options)
	w.later = w.earlier.Version(systemtest.Root(t))
	var err error
	w.hub, err = system.Client(w.earlier.Hub)
	w.must(err)
	return w
}

// installsAndRuns has the hub manager of the earlier version install a budget and its agents.
func (w *world) installsAndRuns() {
	w.Helper()
	ctx := w.Context()
	var err error
	w.earlierHub, err = w.earlier.StartHubManager(ctx, "hub-earlier")
	w.must(err)
	w.must(w.hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	w.must(w.hub.Create(ctx, &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(budget, resource.DecimalSI)},
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}, CreateNamespace: new(true),
			},
		},
	}))
	w.installed("fedquota-agent")
	for _, m := range w.earlier.Members {
		w.earlierAgents[m.Name], err = w.earlier.StartAgent(ctx, m, system.Agent(m.Name))
		w.must(err)
	}
	w.inForce("the first limits")
}

// installed waits until each member has an account that comes with the manifests of the agent.
func (w *world) installed(account string) {
	w.Helper()
	for _, m := range w.earlier.Members {
		c, err := system.Client(m)
		w.must(err)
		w.eventually("account "+account+" in "+m.Name, func(ctx context.Context) error {
			return c.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: account}, &corev1.ServiceAccount{})
		})
	}
}

// edit changes the budget and waits until it is in force everywhere.
func (w *world) edit(when string) {
	w.Helper()
	w.edits++
	hard := *resource.NewQuantity(int64(budget-4*(w.edits%2)), resource.DecimalSI)
	patch := fmt.Sprintf(`{"spec":{"hard":{"pods":"%s"}}}`, hard.String())
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	w.must(w.hub.Patch(w.Context(), fq, client.RawPatch("application/merge-patch+json", []byte(patch))))
	w.table.Row(when, w.inForce(when).Round(10*time.Millisecond))
}

// inForce waits until the budget is ready, and nothing beyond it is granted.
func (w *world) inForce(when string) time.Duration {
	w.Helper()
	began := time.Now()
	w.eventually("the budget to be in force: "+when, func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := w.hub.Get(ctx, client.ObjectKey{Namespace: team, Name: name}, fq); err != nil {
			return err
		}
		granted, hard := fq.Status.Granted[corev1.ResourcePods], fq.Spec.Hard[corev1.ResourcePods]
		if fq.Status.ObservedGeneration != fq.Generation || granted.Cmp(hard) > 0 ||
			!apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
			return fmt.Errorf("%s of %s granted, generation %d of %d, conditions %+v, clusters %+v", granted.String(), hard.String(),
				fq.Status.ObservedGeneration, fq.Generation, fq.Status.Conditions, fq.Status.Clusters)
		}
		return nil
	})
	return time.Since(began)
}

// observe has an observer watch the members.
func (w *world) observe() *observer.Observer {
	w.Helper()
	members := map[string]*rest.Config{}
	for _, m := range w.earlier.Members {
		members[m.Name] = m.Config
	}
	o, err := observer.Watch(context.WithoutCancel(w.Context()), observer.Options{
		Members: members, Namespace: team, Name: name,
		Budget:   corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(budget, resource.DecimalSI)},
		OnExcess: func(e observer.Excess) { w.Logf("EXCESS: %+v", e) },
	})
	w.must(err)
	return o
}

// load has pods come and go in each member, until the returned function is called, which says how requests were
// answered.
func (w *world) load() (stop func() string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	var mutex sync.Mutex
	created, refused := 0, 0
	for _, m := range w.earlier.Members {
		c, err := system.Client(m)
		w.must(err)
		running.Go(func() {
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				err := c.Create(context.WithoutCancel(ctx), pod(n))
				if n >= most {
					gone := pod(n - most)
					_ = c.Delete(context.WithoutCancel(ctx), gone) // it may never have been there
				}
				mutex.Lock()
				switch {
				case err == nil:
					created++
				case apierrors.IsForbidden(err): // an agent of the earlier version denies what it holds as it ends
					refused++
				case !apierrors.IsConflict(err):
					w.Errorf("a request failed: %v", err)
				}
				mutex.Unlock()
			}
		})
	}
	return func() string {
		cancel()
		running.Wait()
		if created == 0 {
			w.Error("no pod was created")
		}
		return fmt.Sprintf("meanwhile %d pods were created, and %d refused", created, refused)
	}
}

// pod is one that nobody runs.
func pod(n int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: fmt.Sprintf("load-%d", n)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
}

// finish sees that the observer found nothing.
func (w *world) finish(o *observer.Observer) {
	w.Helper()
	recount, err := census.Of(w.Context(), o)
	w.must(err)
	if over := recount.Over(); len(over) > 0 {
		w.Errorf("more pods exist than the budget allows, by %v: %+v", over, recount.Resources)
	}
	report := o.Stop()
	var table strings.Builder
	w.must(report.WriteTable(&table))
	w.Log(table.String())
	for _, line := range report.Violations() {
		w.Errorf("the observer: %s", line)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits for a condition.
func (w *world) eventually(what string, condition func(ctx context.Context) error) {
	w.Helper()
	if err := systemtest.Await(w.Context(), 50*time.Millisecond, patience, condition); err != nil {
		w.Fatalf("waiting for %s: %v", what, err)
	}
}
