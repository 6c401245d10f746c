//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// testRunbook restores the hub with the commands of docs/tasks/restore-the-hub.md, whose example is team-a/compute.
// East was raised after the backup and is cut off: but for the commands, nothing would say that what the ledger has as
// free is in use.
func testRunbook(t *testing.T, w *world) {
	s := newScenario(t, w, "team-a", budget("30", "60"))
	s.create(budget("30", "60"), atMost("10", "10", "5"))
	s.split(amounts{cpu: {"10", "10", "5"}})
	s.witness(1)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	s.must(w.Hub.Snapshot(t.Context(), snapshot))
	s.change(atMost("15", "10", "5"))
	s.split(amounts{cpu: {"15", "10", "5"}})

	s.fault("etcd of the hub rolled back from a limit of 15 cpu in east, which is cut off, to one of 10")
	s.must(w.HubManager.Stop())
	s.Cleanup(func() {
		if s.Failed() {
			s.must(w.HubManager.Restart(context.Background()))
		}
	})
	s.proxies[east].Stop()
	s.Cleanup(func() { _ = s.proxies[east].Start() })
	s.must(w.Hub.Restore(t.Context(), snapshot))
	s.joinedSince(east)
	s.documented("restore-the-hub.md", " annotate ")
	s.change(atMost("10", "15", "5"))
	s.documented("restore-the-hub.md", " patch fq ")
	s.must(w.HubManager.Restart(t.Context()))
	s.condition(quotav1alpha1.ConditionRebuilding, east)
	s.holds("west to wait for east", 3*time.Second, func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"15", "10", "5"}})
	})
	s.must(s.proxies[east].Start())
	s.must(w.HubManager.Restart(t.Context())) // it connects at once then
	s.split(amounts{cpu: {"10", "15", "5"}})
	s.noCondition(quotav1alpha1.ConditionRebuilding)
	s.finish()
}

// testRestoredObjects restores a FederatedQuota as tools do that back up objects, not etcd: without status, once with
// the finalizer and while the hub manager is away, once without and under its eyes, as Git restores it after somebody
// has torn the finalizer off. East is cut off and holds more than its new spec gives it: nobody is raised before it has
// been heard.
func testRestoredObjects(t *testing.T, w *world) {
	s := newScenario(t, w, "restored-objects", budget("30", "60"))
	s.create(budget("30", "60"), atMost("15", "10", "5"))
	s.split(amounts{cpu: {"15", "10", "5"}})
	s.witness(1)

	s.fault("FederatedQuota deleted and restored without status while the hub manager is away, and east cut off")
	s.must(w.HubManager.Stop())
	s.Cleanup(func() {
		if s.Failed() {
			s.must(w.HubManager.Restart(context.Background()))
		}
	})
	s.cutOff(east)
	s.restoreObject(atMost("5", "20", "5"), quotav1alpha1.Finalizer)
	s.must(w.HubManager.Restart(t.Context()))
	s.waitsFor(east, amounts{cpu: {"15", "10", "5"}})
	s.must(s.proxies[east].Start())
	s.must(w.HubManager.Restart(t.Context())) // it connects at once then
	s.split(amounts{cpu: {"5", "20", "5"}})
	s.noCondition(quotav1alpha1.ConditionRebuilding)

	s.fault("FederatedQuota torn from its finalizer and created again under the eyes of the hub manager, while west is cut off")
	s.cutOff(west)
	s.restoreObject(atMost("20", "5", "5"))
	s.waitsFor(west, amounts{cpu: {"5", "20", "5"}})
	s.must(s.proxies[west].Start())
	s.must(w.HubManager.Restart(t.Context()))
	s.split(amounts{cpu: {"20", "5", "5"}})
	s.noCondition(quotav1alpha1.ConditionRebuilding)
	s.finish()
}

// cutOff cuts a member off until it is connected again, at the latest when the scenario ends.
func (s *scenario) cutOff(member string) {
	s.Helper()
	s.proxies[member].Stop()
	s.Cleanup(func() { _ = s.proxies[member].Start() })
}

// waitsFor demands that the hub knows that a member may hold anything, and moves no limit meanwhile.
func (s *scenario) waitsFor(member string, inForce amounts) {
	s.Helper()
	s.condition(quotav1alpha1.ConditionRebuilding, member)
	s.holds("limits to wait for "+member, 3*time.Second, func(ctx context.Context) error { return s.limits(ctx, inForce) })
}

// restoreObject deletes the FederatedQuota whoever it waits for, and creates it again with another spec and these
// finalizers.
func (s *scenario) restoreObject(change func(*quotav1alpha1.FederatedQuota), finalizers ...string) {
	s.Helper()
	fq, err := s.federatedQuota(s.Context())
	s.must(err)
	restored := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: fq.Namespace, Name: fq.Name, Finalizers: finalizers}, Spec: fq.Spec}
	change(restored)
	s.must(s.hub.Delete(s.Context(), fq)) // first, or the hub manager puts the finalizer back
	tear := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	s.must(client.IgnoreNotFound(s.hub.Patch(s.Context(), fq, tear)))
	s.must(s.hub.Create(s.Context(), restored))
}

// atMost bounds the cpus of east, west and north.
func atMost(cpus ...string) func(*quotav1alpha1.FederatedQuota) {
	return func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = weights(1, 1, 1)
		for i := range cpus {
			fq.Spec.Distribution.Rules[i].Max = corev1.ResourceList{cpu: resource.MustParse(cpus[i])}
		}
	}
}

// joinedSince takes the marker from a Cluster, which a backup does not have that is older than the cluster's first
// share.
func (s *scenario) joinedSince(name string) {
	s.Helper()
	cluster := &clusterv1.Cluster{}
	s.must(s.hub.Get(s.Context(), types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: name}, cluster))
	stored := cluster.DeepCopy()
	delete(cluster.Annotations, quotav1alpha1.MemberAnnotation)
	s.must(s.hub.Patch(s.Context(), cluster, client.MergeFrom(stored)))
}

// marked is what kubectl says of a Cluster that has its marker. The document tells people to pass over it.
const marked = "already has a value"

// documented runs the command of a document that contains a part, on the hub.
func (s *scenario) documented(document, part string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "tasks", document))
	s.must(err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "kubectl ") || !strings.Contains(line, part) {
			continue
		}
		command := exec.CommandContext(s.Context(), "/bin/sh", "-c", line)
		command.Env = append(os.Environ(), "KUBECONFIG="+s.Hub.Kubeconfig, "PATH="+os.Getenv(fleet.AssetsVariable)+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		s.Logf("%s\n%s", line, output)
		if err != nil && !strings.Contains(string(output), marked) {
			s.Fatal(err)
		}
		return
	}
	s.Fatalf("%s has no command with %q", document, part)
}
