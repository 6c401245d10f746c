//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// testAPIServerPaused pauses the API server of a member: what it was granted stays granted, the others share the rest.
func testAPIServerPaused(t *testing.T, w *world) {
	s := newScenario(t, w, "paused", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	server := w.Member(west).Process(fleet.APIServer)
	s.storm(east, north)
	s.fault("API server of west paused (SIGSTOP) over a lower of its limit")
	s.pause(server)
	s.turn(3)
	s.eventually("north to be raised by what east gave back", func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"", "", "15"}})
	})
	s.condition(quotav1alpha1.ConditionUnreachable, west)
	s.must(server.Resume())
	s.endStorms()
	s.split(amounts{cpu: {"5", "5", "20"}, pods: {"10", "10", "40"}})
	s.noCondition(quotav1alpha1.ConditionUnreachable)
	s.finish()

	naive := s.plain("naive", budget("30", "60"))
	naive.storm(east, north)
	s.pause(server)
	naive.writeAll(naive.hard, splits[3])
	s.must(server.Resume())
	naive.answered(naive.requests() + afterwards)
	s.result.Naive = naive.judge()
}

// afterwards is how many requests of the load a baseline lasts after its limits were moved.
const afterwards = 100

// badWays are how the way between hub and a member can be bad.
var badWays = []struct{ what, kind, stream, attributes string }{
	{"delays of 300 ms", "latency", "downstream", `{"latency": 300, "jitter": 200}`},
	{"what the hub sends is dropped", "timeout", "upstream", `{"timeout": 0}`},
	{"what the member answers is dropped", "timeout", "downstream", `{"timeout": 0}`},
	{"connections are reset", "reset_peer", "downstream", `{"timeout": 50}`},
	{"connections end after 20 kB", "limit_data", "downstream", `{"bytes": 20000}`},
	{"bytes come in small slices", "slicer", "downstream", `{"average_size": 64, "size_variation": 32, "delay": 200}`},
}

// testCutOff makes the way between hub and one member bad in many ways, each over a change that takes from that member.
func testCutOff(t *testing.T, w *world) {
	s := newScenario(t, w, "cut-off", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm(west)
	for n, bad := range badWays {
		s.fault("between hub and west %s", bad.what)
		s.turn(0)
		s.moment(stepWindow)
		remove := s.toxic(west, bad.kind, bad.stream, bad.attributes)
		s.turn(3)
		s.eventually("the others to go on", func(ctx context.Context) error { return s.limits(ctx, amounts{cpu: {"5", "", ""}}) })
		s.moment(2 * time.Second)
		remove()
		if n%3 == 2 {
			s.progress()
		}
	}
	s.halfClosed(west)
	s.fault("west cut off until it counts as unreachable, then the budget cut from 30 to 18 cpu")
	s.turn(0)
	s.eventually("the sample", func(ctx context.Context) error { return s.limits(ctx, sample) })
	s.proxies[west].Stop()
	s.Cleanup(func() { _ = s.proxies[west].Start() })
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("18", "36") })
	s.condition(quotav1alpha1.ConditionUnreachable, west)
	s.eventually("the others to be cut", func(ctx context.Context) error { return s.limits(ctx, amounts{cpu: {"9", "10", "3"}}) })
	s.reachable(west, 0)
	s.must(s.proxies[west].Start())
	s.endStorms()
	s.split(amounts{cpu: {"9", "6", "3"}})
	s.reachable(west, 1)
	s.eventually("the time to settle to be measured", func(ctx context.Context) error {
		observed, _, err := s.hubMetric(ctx, "fedquota_settle_seconds", nil)
		if err == nil && observed == 0 {
			err = errors.New("nothing was ever observed to settle")
		}
		return err
	})
	s.finish()

	naive := s.plain("naive", budget("30", "60"))
	naive.storm(west)
	naive.cutOff(west)
	naive.writeAll(naive.hard, splits[3])
	naive.answered(naive.requests() + afterwards)
	s.result.Naive = naive.judge()
}

// halfClosed ends one direction of the connections between hub and a member while the other one stays open, each time
// over a change that takes from that member.
func (s *scenario) halfClosed(member string) {
	s.Helper()
	board := newSwitchboard(s.T)
	server, err := url.Parse(s.Member(member).Config.Host)
	s.must(err)
	port, err := strconv.Atoi(server.Port())
	s.must(err)
	board.to(port)
	back := s.by(member, board.Addr().String())
	defer back()
	for _, direction := range []struct {
		what     string
		toServer bool
	}{{"what the hub sends ends, what the member answers does not", true}, {"what the member answers ends, what the hub sends does not", false}} {
		s.fault("between hub and %s %s", member, direction.what)
		for range 3 {
			s.reachable(member, 1) // else an attempt to connect is ended, and the next one is 30 s away
			s.turn(0)
			s.moment(stepWindow)
			s.eventually("connections", func(context.Context) error {
				if board.halfClose(direction.toServer) == 0 {
					return errors.New("there are none")
				}
				return nil
			})
			s.turn(3)
			s.progress()
		}
	}
}

// by leads the hub to a member by another address, which it reads when it connects, and returns what leads it back.
func (s *scenario) by(member, address string) (back func()) {
	s.Helper()
	lead := func(address string) {
		s.must(s.HubManager.Kill())
		s.must(s.pointTo(context.Background(), s.Member(member), "https://"+address))
		s.must(s.HubManager.Restart(context.Background()))
	}
	lead(address)
	return func() { lead(s.proxies[member].Listen) }
}

// testQuotaController stops the quota controller of a member in the middle of a lower, which waits for usage to fall:
// nobody is raised by what that member does not confirm.
func testQuotaController(t *testing.T, w *world) {
	s := newScenario(t, w, "stuck", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.fill(west, "full", 9, "1")
	s.fill(west, "last", 1, "900m")
	s.recounted(west, budget("10", "11"))
	s.storm(east, north)
	s.fault("kube-controller-manager of west stopped (SIGKILL) in the middle of a lower")
	manager := w.Member(west).Process(fleet.ControllerManager)
	s.Cleanup(func() { s.must(manager.Restart(context.Background())) })
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(3, 1, 2) })
	s.must(manager.Kill())
	s.drain(west, "full") // which nobody counts
	s.drain(west, "last")
	s.condition(quotav1alpha1.ConditionStuckQuotaController, west)
	s.holds("north to wait for west", 3*time.Second, func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"15", "10", "5"}})
	})
	s.must(manager.Restart(t.Context()))
	s.endStorms()
	s.split(amounts{cpu: {"15", "5", "10"}})
	s.noCondition(quotav1alpha1.ConditionStuckQuotaController)
	s.finish()

	naive := s.plain("naive", budget("30", "60"))
	naive.storm()
	s.must(manager.Kill())
	naive.writeAll(naive.hard, []int32{3, 1, 2})
	naive.answered(naive.requests() + afterwards)
	s.must(manager.Restart(t.Context()))
	s.result.Naive = naive.judge()
}

// testClusterDeleted deletes the Cluster of a member that runs: what it was granted stays granted, until somebody says
// that the cluster is destroyed.
func testClusterDeleted(t *testing.T, w *world) {
	s := newScenario(t, w, "deleted", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm()
	s.fault("Cluster north deleted while it runs")
	restore := s.deleteCluster(north)
	s.condition(quotav1alpha1.ConditionUnreachable, north, "spec.removal.destroyed")
	s.turn(3)
	s.progress(east, west)
	s.holds("nobody to be raised by what north holds", 2*time.Second, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		for _, c := range fq.Status.Clusters {
			granted := c.Granted[cpu]
			if c.Name == north && granted.Cmp(resource.MustParse("5")) < 0 {
				return errors.New("north is granted " + granted.String())
			}
		}
		return nil
	})
	s.eventually("all to be judged", s.observer.Sync)
	s.observer.Forget(north)
	s.fault("north stated as destroyed")
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Removal.Destroyed = clusterNames{north}
		fq.Spec.Distribution.Rules = weights(3, 2, 1)[:2]
	})
	s.endStorms()
	s.split(amounts{cpu: {"18", "12", ""}})
	s.judge()

	// It was a lie: north comes back with what it holds, and the sum comes down to the budget.
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Destroyed = nil })
	restore()
	s.eventually("north to be back", func(ctx context.Context) error { return s.limits(ctx, sample) })
	s.split(sample)
	s.observe(budget("30", "60"))
	s.finish()
}

// deleteCluster deletes a Cluster and what belongs to it, and returns how to make it anew.
func (s *scenario) deleteCluster(name string) (restore func()) {
	s.Helper()
	cluster := &clusterv1.Cluster{}
	s.must(s.hub.Get(s.Context(), types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: name}, cluster))
	var secrets corev1.SecretList
	s.must(s.hub.List(s.Context(), &secrets, client.InNamespace(corev1.NamespaceDefault), client.MatchingLabels{clusterv1.ClusterNameLabel: name}))
	s.must(s.hub.Delete(s.Context(), cluster.DeepCopy()))
	done := false
	restore = func() {
		if done {
			return
		}
		done = true
		ctx := context.Background()
		status := cluster.Status
		cluster.ObjectMeta = metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name, Labels: cluster.Labels, Annotations: cluster.Annotations}
		s.must(s.hub.Create(ctx, cluster))
		cluster.Status = status
		s.must(s.hub.Status().Update(ctx, cluster))
		for i := range secrets.Items {
			secret := &secrets.Items[i]
			secret.ObjectMeta = metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels}
			// The garbage collector may not have come to the old one yet.
			s.eventually("the Secret to be new", func(context.Context) error { return s.hub.Create(ctx, secret.DeepCopy()) })
		}
	}
	s.Cleanup(restore)
	return restore
}
