//go:build e2e

package clusterapi_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

// autoscaler is the file of the cluster autoscaler, built with its provider of Cluster API.
var autoscaler = flag.String("autoscaler", "", "the file of a cluster autoscaler that knows Cluster API, for TestBesideAutoscaler")

// unneeded is how long the autoscaler leaves nodes that it has no use for: longer than the hub manager waits for something
// to run on nodes that have come.
const unneeded = 80 * time.Second

// mostWorkers is how many machines the MachineDeployment of TestBesideAutoscaler may have.
const mostWorkers = 5

// TestBesideAutoscaler has the cluster autoscaler scale the same MachineDeployment as the hub manager, and counts what each
// of them writes.
func TestBesideAutoscaler(t *testing.T) {
	if *autoscaler == "" {
		t.Skip("-autoscaler does not say where the cluster autoscaler is: make e2e-autoscaler")
	}
	root := systemtest.Root(t)
	stages, err := fleet.KWOKStages(t.Context(), filepath.Join(root, "hack", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	w := startWorld(t, system.Options{ScaleOut: true, Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{{
		Name: east, Nodes: &fleet.Nodes{
			KWOK: filepath.Join(root, "bin", "tools", "kwok"), Stages: stages, Count: 1, Capacity: cpusOf("4"),
		},
	}}}})
	w.bringsUp()
	w.standsIn(infrastructure, "StandInMachine")
	w.adds(&group{name: workers, cluster: east, budget: inTeam, most: mostWorkers, cpus: "4"})
	s := &scaling{world: w, has: cpusOf("4")}
	s.has["nvidia.com/gpu"] = resource.MustParse("0")
	s.follows()
	s.observe()
	(&machines{world: w, takes: 2 * time.Second, joins: s.join}).run()
	b := &beside{scaling: s, table: &system.Table{}}
	b.begins()
	b.watches()
	b.loses()
	b.startAutoscaler()

	b.table.Row("what happens", "fedquota adds", "the autoscaler adds", "and takes away", "machines then")
	b.findsNoNode()
	b.refuses()
	b.shrinks()
	b.helpsNobody()
	s.must(b.table.Write(root, "autoscaler"))
	for _, line := range s.observer.Stop().Violations() {
		s.Errorf("the observer: %s", line)
	}
}

// beside is a budget whose MachineDeployment the cluster autoscaler scales, too.
type beside struct {
	*scaling

	table *system.Table

	mutex sync.Mutex
	// replicas are wanted since last, and changed is by how many, by who did and in which direction, since it was told.
	replicas int32
	last     time.Time
	changed  map[change]int32
}

type change struct {
	by string
	up bool
}

// Who writes replicas, by the fields that API servers say are theirs.
const (
	byAutoscaler = "cluster-autoscaler"
	byHub        = "fedquota-hub"
)

// background runs something until the test ends.
func (b *beside) background(run func(ctx context.Context)) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	b.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// begins has one machine be there that nobody takes away: nobody owns replicas of 0. Cluster API deletes the nodes of
// machines that go where a control plane is known to be left: this one is none of its machines.
func (b *beside) begins() {
	b.Helper()
	hosts := &unstructured.Unstructured{}
	refers(hosts, b.cluster(east).Spec.ControlPlaneRef)
	b.patchesStatus(hosts, `{"status":{"externalManagedControlPlane":true}}`)
	d := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: workers}}
	b.patches(d, `{"metadata":{"annotations":{%q:"1"}},"spec":{"replicas":1}}`, clusterv1.AutoscalerMinSizeAnnotation)
	b.replicas = 1
	b.made("8", "0")
}

// watches counts what is written to the replicas of the MachineDeployment.
func (b *beside) watches() {
	b.Helper()
	b.last, b.changed = time.Now(), map[change]int32{}
	c, err := system.Client(b.Hub)
	b.must(err)
	b.background(func(ctx context.Context) {
		events, err := c.Watch(ctx, &clusterv1.MachineDeploymentList{}, client.InNamespace(clusterNamespace))
		if err != nil {
			b.Errorf("watching MachineDeployments: %v", err)
			return
		}
		for event := range events.ResultChan() {
			if d, is := event.Object.(*clusterv1.MachineDeployment); is && d.Name == workers && d.Spec.Replicas != nil {
				b.note(d)
			}
		}
		if ctx.Err() == nil {
			b.Error("the watch of MachineDeployments has ended")
		}
	})
}

// note counts a change of the replicas.
func (b *beside) note(d *clusterv1.MachineDeployment) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	by, more := "nobody", *d.Spec.Replicas-b.replicas
	for _, field := range d.ManagedFields {
		if field.Subresource != "status" && bytes.Contains(field.FieldsV1.GetRawBytes(), []byte(`"f:replicas"`)) {
			by = field.Manager
		}
	}
	if more == 0 {
		return
	}
	b.Logf("%s scales %s from %d to %d", by, d.Name, b.replicas, *d.Spec.Replicas)
	b.changed[change{by, more > 0}] += max(more, -more)
	b.replicas, b.last = *d.Spec.Replicas, time.Now()
}

// loses has the observer know of nodes that are taken away.
func (b *beside) loses() {
	seen := map[string]corev1.ResourceList{}
	b.background(func(ctx context.Context) {
		_ = wait.PollUntilContextCancel(ctx, 4*poll, true, func(ctx context.Context) (bool, error) {
			if err := b.compare(ctx, seen); err != nil && ctx.Err() == nil {
				b.Errorf("looking for nodes that are gone: %v", err)
			}
			return false, nil
		})
	})
}

// compare lowers the budget by the nodes that are gone of those that were seen.
func (b *beside) compare(ctx context.Context, seen map[string]corev1.ResourceList) error {
	b.scaling.mutex.Lock()
	defer b.scaling.mutex.Unlock()
	list := &corev1.NodeList{}
	if err := b.members[east].List(ctx, list); err != nil {
		return err
	}
	gone := maps.Clone(seen)
	for i := range list.Items {
		delete(gone, list.Items[i].Name)
		seen[list.Items[i].Name] = list.Items[i].Status.Allocatable
	}
	for name, has := range gone {
		delete(seen, name)
		for of := range b.has {
			left := b.has[of]
			left.Sub(has[of])
			b.has[of] = left
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return b.observer.ChangeBudget(ctx, b.hard(), func(context.Context) error { return nil })
}

// startAutoscaler starts the cluster autoscaler for east.
func (b *beside) startAutoscaler() {
	b.Helper()
	port, err := fleet.FreePort(b.Context())
	b.must(err)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	_, err = b.System.Run(b.Context(), fleet.Program{
		Name: "autoscaler", Path: *autoscaler,
		Args: []string{
			"--cloud-provider=clusterapi", "--kubeconfig=" + b.Member(east).Kubeconfig, "--cloud-config=" + b.Hub.Kubeconfig,
			"--node-group-auto-discovery=clusterapi:namespace=" + clusterNamespace + ",clusterName=" + east,
			"--leader-elect=false", "--address=" + address, "--user-agent=" + byAutoscaler, "--scan-interval=2s",
			"--scale-down-unneeded-time=" + unneeded.String(), "--scale-down-delay-after-add=10s",
			"--unremovable-node-recheck-timeout=10s", "--v=1",
		},
		Ready: func(ctx context.Context) error { return healthy(ctx, "http://"+address+"/health-check") },
	})
	b.must(err)
}

// findsNoNode has somebody else's pod take the room that the budget counts on, so that a pod of the budget finds no node.
func (b *beside) findsNoNode() {
	b.Helper()
	b.deploy(east, metav1.NamespaceDefault, "theirs", 1, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")})
	b.eventually("their pod to run", func(ctx context.Context) error {
		_, run, err := b.running(ctx, east, metav1.NamespaceDefault, "theirs")
		if err == nil && run != 1 {
			err = fmt.Errorf("%d run", run)
		}
		return err
	})
	b.deploy(east, budget.Namespace, "web", 4, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")})
	b.run("web", 4)
	b.made("12", "0")
	b.tells("a pod finds no node", map[change]int32{{byAutoscaler, true}: 1})
}

// refuses has quota refuse two pods while another one finds no node.
func (b *beside) refuses() {
	b.Helper()
	b.wants(8)
	b.run("web", 8)
	b.tells("quota refuses 2 pods, another one finds no node", nil)
	if n, err := b.world.replicas(b.Context(), workers); err != nil || n < 4 {
		b.Errorf("%d machines (%v) are wanted for 18 cpus beside one node of 4", n, err)
	}
}

// shrinks has most pods go: the autoscaler takes away what is empty, and the budget follows.
func (b *beside) shrinks() {
	b.Helper()
	b.wants(1)
	b.run("web", 1)
	b.later("machines on which nothing runs to be taken away", func(ctx context.Context) error {
		wanted, err := b.world.replicas(ctx, workers)
		if err != nil {
			return err
		}
		there, err := b.nodesOf(ctx, workers)
		if err == nil && (wanted != 1 || there != 1) {
			err = fmt.Errorf("%d are wanted, %d are there", wanted, there)
		}
		return err
	})
	b.follow()
	b.tells("7 of 8 pods go", map[change]int32{{byHub, true}: 0, {byAutoscaler, true}: 0, {byAutoscaler, false}: 3})
	b.run("web", 1)
}

// helpsNobody has pods ask for nodes that no machine is. Quota refuses them at first, so that nobody knows.
func (b *beside) helpsNobody() {
	b.Helper()
	d := &appsv1.Deployment{}
	b.must(b.members[east].Get(b.Context(), client.ObjectKey{Namespace: budget.Namespace, Name: "web"}, d))
	labels := map[string]string{"app": "picky"}
	d.ObjectMeta = metav1.ObjectMeta{Namespace: budget.Namespace, Name: "picky"}
	d.Spec.Replicas, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = new(int32(12)), labels, labels
	d.Spec.Template.Spec.NodeSelector = map[string]string{"there": "never"}
	b.must(b.members[east].Create(b.Context(), d))
	b.later("the step to have brought nothing", func(context.Context) error {
		last := b.budget().Status.ScaleOut.LastStep
		if last == nil || last.Outcome != quotav1alpha1.ScaleOutBroughtNothing {
			return fmt.Errorf("it is %+v; %s", last, b.told())
		}
		return nil
	})
	b.later("its machines to be taken away", func(ctx context.Context) error {
		there, err := b.nodesOf(ctx, workers)
		if err == nil && there != 1 {
			err = fmt.Errorf("%d are there", there)
		}
		return err
	})
	b.follow()
	b.tells("quota refuses pods that no machine can run", map[change]int32{{byHub, true}: 2, {byAutoscaler, true}: 0, {byAutoscaler, false}: 2})
	fq := b.budget()
	hard, used := fq.Status.Hard[cpu], fq.Status.Used[cpu]
	b.Logf("the budget is %s cpus, of which %s are used", hard.String(), used.String())
	b.run("web", 1)
}

// follow waits until the budget is what the nodes have.
func (b *beside) follow() {
	b.Helper()
	b.later("the budget to be what the nodes have", func(context.Context) error {
		b.scaling.mutex.Lock()
		defer b.scaling.mutex.Unlock()
		has := b.has[corev1.ResourceCPU]
		return is(b.budget().Status.Hard, has.String(), "0")
	})
}

// quiet is for how long nobody scales once both have come to rest.
const quiet = 40 * time.Second

// tells waits until nobody has scaled for a while, and notes who has since it was told last. These have to have changed
// so many.
func (b *beside) tells(what string, want map[change]int32) {
	b.Helper()
	b.later("nobody to scale for a while", func(context.Context) error {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if ago := time.Since(b.last); ago < quiet {
			return fmt.Errorf("%s ago somebody did", ago.Round(time.Second))
		}
		return nil
	})
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.table.Row(what, b.changed[change{byHub, true}], b.changed[change{byAutoscaler, true}],
		b.changed[change{byAutoscaler, false}], b.replicas)
	for c, count := range want {
		if b.changed[c] != count {
			b.Errorf("%s: %s has changed replicas by %d (up: %v), and should have by %d", what, c.by, b.changed[c], c.up, count)
		}
	}
	for c := range b.changed {
		if c.by != byAutoscaler && c != (change{byHub, true}) {
			b.Errorf("%s: %s scales (up: %v)", what, c.by, c.up)
		}
	}
	b.changed = map[change]int32{}
}

// later waits longer than eventually does.
func (b *beside) later(what string, condition func(context.Context) error) {
	b.Helper()
	began, last := time.Now(), error(nil)
	err := wait.PollUntilContextTimeout(b.Context(), 10*poll, 3*patience, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		b.Fatalf("waiting for %s: %v: %v; %s", what, err, last, strings.TrimSpace(b.told()))
	}
	b.Logf("%s: after %s", what, time.Since(began).Round(time.Second))
}
