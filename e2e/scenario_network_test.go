//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	s.fault("west cut off until it counts as unreachable, then the budget cut from 30 to 18 cpu")
	s.turn(0)
	s.eventually("the sample", func(ctx context.Context) error { return s.limits(ctx, sample) })
	s.proxies[west].Stop()
	s.Cleanup(func() { _ = s.proxies[west].Start() })
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard = budget("18", "36") })
	s.condition(quotav1alpha1.ConditionUnreachable, west)
	s.eventually("the others to be cut", func(ctx context.Context) error { return s.limits(ctx, amounts{cpu: {"9", "10", "3"}}) })
	s.must(s.proxies[west].Start())
	s.endStorms()
	s.split(amounts{cpu: {"9", "6", "3"}})
	s.finish()

	naive := s.plain("naive", budget("30", "60"))
	naive.storm(west)
	s.proxies[west].Stop()
	naive.writeAll(naive.hard, splits[3])
	s.must(s.proxies[west].Start())
	naive.answered(naive.requests() + afterwards)
	s.result.Naive = naive.judge()
}

// testQuotaController stops the quota controller of a member over a lower: nobody is raised by what it does not confirm.
func testQuotaController(t *testing.T, w *world) {
	s := newScenario(t, w, "stuck", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm(east, north)
	s.fault("kube-controller-manager of west stopped (SIGKILL) over a lower")
	manager := w.Member(west).Process(fleet.ControllerManager)
	s.must(manager.Kill())
	s.Cleanup(func() { s.must(manager.Restart(context.Background())) })
	s.condition(quotav1alpha1.ConditionStuckQuotaController, west)
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(3, 1, 2) })
	s.holds("north to wait for west", 3*time.Second, func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"15", "", "5"}})
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

// testClusterDeleted deletes the Cluster of a member that runs: what it was granted stays granted, until somebody says that
// the cluster is destroyed.
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
			if c.Name == north && granted.String() != "5" {
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
