//go:build e2e

package clusterapi_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/observer"
)

const (
	cpu = corev1.ResourceRequestsCPU
	gpu = corev1.ResourceName("requests.nvidia.com/gpu")
)

// The MachineDeployments of the test.
const (
	workers, gpus, lost = "workers", "gpus", "lost"

	// Which budget selects them.
	inTeam, inPool = "team", "pool"
)

// TestScaleOut has what a namespace asks for add nodes by Cluster API's own manager: the MachineDeployment is scaled, its
// Machines become nodes, the budget rises with them, and the pods run.
func TestScaleOut(t *testing.T) {
	root := systemtest.Root(t)
	stages, err := fleet.KWOKStages(t.Context(), filepath.Join(root, "hack", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(name, cpus string) fleet.ControlPlaneOptions {
		return fleet.ControlPlaneOptions{Name: name, Nodes: &fleet.Nodes{
			KWOK: filepath.Join(root, "bin", "tools", "kwok"), Stages: stages, Count: 1, Capacity: cpusOf(cpus),
		}}
	}
	w := startWorld(t, system.Options{
		ScaleOut: true, HubArgs: []string{"--max-node-provision-time=20s"},
		Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{of(east, "4"), of(west, "8"), of(north, "16")}},
	})
	w.bringsUp()
	w.standsIn(infrastructure, "StandInMachine")
	w.adds(&group{name: workers, cluster: east, budget: inTeam, most: 3, cpus: "4", forPods: true})
	w.adds(&group{name: gpus, cluster: east, budget: inTeam, most: 1, cpus: "2", gpus: "8"})
	s := &scaling{world: w, has: cpusOf("4")}
	s.has["nvidia.com/gpu"] = resource.MustParse("0")
	s.follows()
	s.observe()
	(&machines{world: w, takes: 2 * time.Second, joins: s.join}).run()

	s.addsNodes()
	s.addsGPUs()
	s.drains()
	s.strands()
	s.reachesMaximum()
	s.waitsInVain()
	s.exports()
	s.ends()
	newPooled(s).fills()
}

func cpusOf(cpus string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
}

// scaling is a budget that follows nodes: those of east, and later those of all members.
type scaling struct {
	*world

	observer *observer.Observer
	mutex    sync.Mutex
	has      corev1.ResourceList
}

// follows makes the budget.
func (s *scaling) follows() {
	s.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Capacity: &quotav1alpha1.Capacity{
				Resources: []quotav1alpha1.ResourceName{quotav1alpha1.ResourceName(cpu), quotav1alpha1.ResourceName(gpu)},
				ScaleOut: &quotav1alpha1.ScaleOut{
					MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"scale-out": inTeam}},
					MaxSurgeNodes:             new(int32(2)), CooldownSeconds: new(int32(5)),
				},
			},
			Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{east}, CreateNamespace: new(true)},
		},
	}
	s.must(s.hub.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: budget.Namespace}}))
	s.must(s.hub.Create(s.Context(), fq))
	s.made("4", "0")
	s.eventually("the limit in east", func(ctx context.Context) error {
		return s.members[east].Get(ctx, budget, &corev1.ResourceQuota{})
	})
}

// hard is the budget that the nodes make now.
func (s *scaling) hard() corev1.ResourceList {
	return corev1.ResourceList{cpu: s.has[corev1.ResourceCPU], gpu: s.has["nvidia.com/gpu"]}
}

func (s *scaling) observe() {
	s.Helper()
	var err error
	s.observer, err = observer.Watch(context.WithoutCancel(s.Context()), observer.Options{
		Members: map[string]*rest.Config{east: s.Member(east).Config}, Namespace: budget.Namespace, Name: budget.Name,
		Budget: s.hard(), OnExcess: func(e observer.Excess) { s.Logf("EXCESS: %+v", e) },
	})
	s.must(err)
}

// join makes a node one of a member, by which the budget rises.
func (s *scaling) join(ctx context.Context, member string, node *corev1.Node) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	err := s.members[member].Get(ctx, client.ObjectKeyFromObject(node), &corev1.Node{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		return err
	}
	for name, value := range node.Status.Allocatable {
		sum := s.has[name]
		sum.Add(value)
		s.has[name] = sum
	}
	return s.observer.ChangeBudget(ctx, s.hard(), func(ctx context.Context) error {
		return s.members[member].Create(ctx, node)
	})
}

// made waits until the budget is so many cpus and GPUs.
func (s *scaling) made(cpus, gpus string) {
	s.Helper()
	s.eventually("a budget of "+cpus+" cpus and "+gpus+" GPUs", func(context.Context) error {
		return is(s.budget().Status.Hard, cpus, gpus)
	})
}

func is(list corev1.ResourceList, cpus, gpus string) error {
	hasCPUs, hasGPUs := list[cpu], list[gpu]
	if hasCPUs.Cmp(resource.MustParse(cpus)) != 0 || hasGPUs.Cmp(resource.MustParse(gpus)) != 0 {
		return fmt.Errorf("it is %s cpus and %s GPUs", hasCPUs.String(), hasGPUs.String())
	}
	return nil
}

// deploy makes a Deployment of pods that ask for so much.
func (w *world) deploy(member, namespace, name string, replicas int32, asks corev1.ResourceList) {
	w.Helper()
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "app", Image: "app", Resources: corev1.ResourceRequirements{Requests: asks, Limits: asks}}
	w.must(w.members[member].Create(w.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}))
}

// running returns how many pods of a Deployment there are, and how many run.
func (w *world) running(ctx context.Context, member, namespace, name string) (there, run int, err error) {
	list := &corev1.PodList{}
	err = w.members[member].List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": name})
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			continue
		}
		there++
		if list.Items[i].Status.Phase == corev1.PodRunning {
			run++
		}
	}
	return there, run, err
}

// run waits until so many pods of a Deployment run.
func (s *scaling) run(name string, want int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d pods of %s to run", want, name), func(ctx context.Context) error {
		there, run, err := s.running(ctx, east, budget.Namespace, name)
		if err == nil && run != want {
			err = fmt.Errorf("%d are there, %d run; %s", there, run, s.told())
		}
		return err
	})
}

// told is what the budget says of nodes.
func (s *scaling) told() string {
	status := s.budget().Status.ScaleOut
	if status == nil {
		return "nothing is told of nodes"
	}
	return status.Reason + ": " + status.Message
}

// scaled waits until so many machines of a group are wanted.
func (s *scaling) scaled(group string, want int32) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s to have %d replicas", group, want), func(ctx context.Context) error {
		got, err := s.replicas(ctx, group)
		if err == nil && got != want {
			err = fmt.Errorf("it has %d; %s", got, s.told())
		}
		return err
	})
}

// held waits until the budget says for a reason that it gets no nodes.
func (s *scaling) held(reason, words string) {
	s.Helper()
	s.eventually("it to be told: "+reason, func(context.Context) error {
		c := apimeta.FindStatusCondition(s.budget().Status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
		if c == nil || c.Reason != reason || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it is %+v; %s", c, s.told())
		}
		return nil
	})
}

// stage is something that is waited for.
type stage struct {
	what string
	done func(ctx context.Context) (bool, error)
}

// addsNodes has 4 pods of 2 cpus ask for what one node has no room for.
func (s *scaling) addsNodes() {
	s.Helper()
	began := time.Now()
	s.deploy(east, budget.Namespace, "web", 4, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")})
	stages := []stage{
		{"the MachineDeployment is scaled", func(ctx context.Context) (bool, error) {
			n, err := s.replicas(ctx, workers)
			return n > 0, err
		}},
		{"Cluster API has made the Machine", func(ctx context.Context) (bool, error) {
			n, err := s.machinesOf(ctx, workers)
			return n > 0, err
		}},
		{"the node is ready", func(ctx context.Context) (bool, error) {
			n, err := s.nodesOf(ctx, workers)
			return n > 0, err
		}},
		{"the budget has risen", func(context.Context) (bool, error) { return is(s.budget().Status.Hard, "8", "0") == nil, nil }},
		{"the limit has risen", func(ctx context.Context) (bool, error) {
			quota := &corev1.ResourceQuota{}
			err := s.members[east].Get(ctx, budget, quota)
			return is(quota.Status.Hard, "8", "0") == nil, err
		}},
		{"all pods are there", func(ctx context.Context) (bool, error) {
			there, _, err := s.running(ctx, east, budget.Namespace, "web")
			return there == 4, err
		}},
		{"all pods run", func(ctx context.Context) (bool, error) {
			_, run, err := s.running(ctx, east, budget.Namespace, "web")
			return run == 4, err
		}},
	}
	table := &system.Table{}
	table.Row("stage", "seconds")
	for _, next := range stages {
		err := wait.PollUntilContextTimeout(s.Context(), poll/5, patience, true, next.done)
		if err != nil {
			s.Fatalf("waiting until %s: %v; %s", next.what, err, s.told())
		}
		table.Row(next.what, fmt.Sprintf("%.2f", time.Since(began).Seconds()))
	}
	s.must(table.Write(systemtest.Root(s.T), "stages"))
	s.prints(s.page("clustercapacities", "kubectl get clustercapacities -n "+clusterNamespace), "east 2")
	s.prints(s.page("followed", "kubectl get federatedquotas -n "+budget.Namespace+" -o wide"), "2 nodes in 1 cluster")
	s.scaled(workers, 1)
	s.scaled(gpus, 0)
}

// drains has somebody drain the node that was there from the beginning: the budget falls, and what ran on it asks for
// another node, whether its pods are let in before the limit has followed, and wait, or refused.
func (s *scaling) drains() {
	s.Helper()
	first := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: east + "-0"}}
	s.mutex.Lock()
	left := s.has[corev1.ResourceCPU]
	left.Sub(resource.MustParse("4"))
	s.has[corev1.ResourceCPU] = left
	s.must(s.observer.ChangeBudget(s.Context(), s.hard(), func(ctx context.Context) error {
		cordon := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))
		return s.members[east].Patch(ctx, first, cordon)
	}))
	s.mutex.Unlock()
	var list corev1.PodList
	s.must(s.members[east].List(s.Context(), &list, client.InNamespace(budget.Namespace)))
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName == first.Name {
			s.must(client.IgnoreNotFound(s.members[east].Delete(s.Context(), pod)))
		}
	}
	s.scaled(workers, 2)
	s.run("web", 4)
	s.run("train", 1)
	s.made("10", "8")
}

// strands has a pod of somebody else take room that the budget counts on: a pod that the budget has room for is let in,
// and waits for a node.
func (s *scaling) strands() {
	s.Helper()
	s.wants(3)
	s.run("web", 3)
	s.deploy(east, metav1.NamespaceDefault, "theirs", 1, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")})
	s.eventually("their pod to run", func(ctx context.Context) error {
		_, run, err := s.running(ctx, east, metav1.NamespaceDefault, "theirs")
		if err == nil && run != 1 {
			err = fmt.Errorf("%d run", run)
		}
		return err
	})
	s.wants(4)
	s.scaled(workers, 3)
	s.run("web", 4)
	if told := s.budget().Status.ScaleOut.LastStep.Message; !strings.Contains(told, "for 1 pod without a node") {
		s.Errorf("the last step is %s", told)
	}
	theirs := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "theirs"}}
	s.must(s.members[east].Delete(s.Context(), theirs, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.made("14", "8")
}

// wants has the Deployment web be of so many replicas.
func (s *scaling) wants(replicas int) {
	s.Helper()
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: "web"}}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	s.must(s.members[east].Patch(s.Context(), web, client.RawPatch("application/merge-patch+json", patch)))
}

// reachesMaximum has more be asked for than all machines can run that may come.
func (s *scaling) reachesMaximum() {
	s.Helper()
	s.wants(8)
	s.held(quotav1alpha1.ReasonAtMaximum, "default/workers has 3 replicas of at most 3")
	s.scaled(workers, 3)
}

// waitsInVain has a group whose machines never come be there for that: it is left alone after a while.
func (s *scaling) waitsInVain() {
	s.Helper()
	s.adds(&group{name: lost, cluster: east, budget: inTeam, most: 5, cpus: "4", lost: true})
	s.scaled(lost, 1)
	s.held(quotav1alpha1.ReasonNodesBringNothing, "default/lost")
	s.scaled(lost, 1)
	if run := s.eventsOf(quotav1alpha1.ReasonScaledOut); run != 5 {
		s.Errorf("%d events tell of steps, and there were 5", run)
	}
}

// exports has the hub manager export what dashboards and rules ask for of nodes.
func (s *scaling) exports() {
	s.Helper()
	asked := systemtest.AskedFor(s.T)
	families, err := systemtest.Scrape(s.Context(), systemtest.Scraper(s.T, s.Hub), s.Managers(s.Hub)[0])
	s.must(err)
	asked.See(families)
	if missing := asked.Missing(true); len(missing) > 0 {
		s.Errorf("the hub manager does not export %q", missing)
	}
}

// ends removes the budget, once the observer has found nothing.
func (s *scaling) ends() {
	s.Helper()
	for _, line := range s.observer.Stop().Violations() {
		s.Errorf("the observer: %s", line)
	}
	s.must(s.members[east].DeleteAllOf(s.Context(), &appsv1.Deployment{}, client.InNamespace(budget.Namespace),
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
	for _, name := range []string{"web", "train"} {
		s.run(name, 0)
	}
	s.must(s.hub.Delete(s.Context(), s.budget()))
	s.eventually("the budget to be gone", func(ctx context.Context) error {
		err := s.hub.Get(ctx, budget, &quotav1alpha1.FederatedQuota{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it gives %w", err)
		}
		return nil
	})
}

// eventsOf returns how many events on the budget have a reason.
func (s *scaling) eventsOf(reason string) (count int) {
	s.Helper()
	list := &corev1.EventList{}
	s.must(s.hub.List(s.Context(), list, client.InNamespace(budget.Namespace)))
	for i := range list.Items {
		if list.Items[i].Reason == reason {
			s.Logf("event: %s", list.Items[i].Message)
			count++
		}
	}
	return count
}
