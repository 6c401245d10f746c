//go:build node

package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/observer"
)

const (
	cpu = corev1.ResourceRequestsCPU
	// tightBudget is more than the load ever asks for.
	tightBudget = "200"
)

var (
	// tight is the budget of which the hub, as a member, gets a small part as long as it does not ask for more.
	tight = types.NamespacedName{Namespace: "team-a", Name: "compute"}
	// ample is one of which it has more than it uses, and whose limits stay.
	ample = types.NamespacedName{Namespace: "team-b", Name: "compute"}
)

// TestNode installs the product as users do, from images, and sees it work in pods on a real node.
func TestNode(t *testing.T) {
	w := startWorld(t)
	w.installHub("v0.1.0")
	w.createBudget(ample, "100", 1, quotav1alpha1.RebalanceStatic)
	w.runWestAgent()
	w.rolledOut("fedquota-agent", repository+":v0.1.0")
	w.settled(ample)
	w.createBudget(tight, tightBudget, 999, quotav1alpha1.RebalanceAuto)
	w.settled(tight)
	o := w.observe()
	w.heldAndRaised()
	w.replicasCrash()
	w.replicasRestart()
	w.upgrade("v0.2.0")
	w.finish(o)
}

// observe has an observer watch the budget whose limits move.
func (w *world) observe() *observer.Observer {
	w.Helper()
	o, err := observer.Watch(context.WithoutCancel(w.Context()), observer.Options{
		Members:   map[string]*rest.Config{fleet.HubName: w.Hub.Config, west: w.Member(west).Config},
		Namespace: tight.Namespace, Name: tight.Name, Budget: corev1.ResourceList{cpu: resource.MustParse(tightBudget)},
		OnExcess: func(e observer.Excess) { w.Logf("EXCESS: %+v", e) },
	})
	w.must(err)
	return o
}

// finish sees that the observer found nothing, and that no pod of the system that is there has ever failed.
func (w *world) finish(o *observer.Observer) {
	w.Helper()
	recount, err := census.Of(w.Context(), o)
	w.must(err)
	if over := recount.Over(); len(over) > 0 {
		w.fault("more pods exist than the budget allows, by %v: %+v", over, recount.Resources)
	}
	report := o.Stop()
	var table strings.Builder
	w.must(report.WriteTable(&table))
	w.Log(table.String())
	for _, line := range report.Violations() {
		w.fault("the observer: %s", line)
	}
	for _, pod := range slices.Concat(w.pods("hub"), w.pods("agent")) {
		if s := pod.Status.ContainerStatuses[0]; s.RestartCount > 0 {
			w.fault("pod %s was restarted: %+v", pod.Name, s.LastTerminationState)
		}
	}
}

// replicasCrash kills each replica of the agent while requests come.
func (w *world) replicasCrash() {
	w.Helper()
	leader, follower := w.agentsByRole()
	w.replicaCrashes("the replica that does not lead was killed", follower)
	w.replicaCrashes("the replica that leads was killed", leader)
}

// replicaCrashes kills a replica of the agent while requests come. Those that API servers send to it before they know
// of that go to native quota.
func (w *world) replicaCrashes(what string, pod corev1.Pod) {
	w.Helper()
	l := w.startLoad()
	w.crash(pod)
	excused := l.waiting.notHeld()
	w.progress(l)
	w.judge(what, l, excused)
	w.Logf("%s: the webhook gave no answer to %d requests", what, w.unreviewed()-l.unreviewed)
}

// replicasRestart replaces all replicas of the agent while requests come.
func (w *world) replicasRestart() {
	w.Helper()
	l := w.startLoad()
	w.kubectl("-n", systemNamespace, "rollout", "restart", "deployment/fedquota-agent")
	w.rolledOut("fedquota-agent", repository+":v0.1.0")
	w.progress(l)
	w.judge("the agent was restarted", l, 0)
	w.smooth("the agent was restarted", l)
}

// upgrade brings another image to the hub, which brings it to the agents, while requests come.
func (w *world) upgrade(tag string) {
	w.Helper()
	l := w.startLoad()
	w.installHub(tag)
	w.rolledOut("fedquota-agent", repository+":"+tag)
	w.progress(l)
	w.judge("hub manager and agent were upgraded", l, 0)
	w.smooth("hub manager and agent were upgraded", l)
}

// createBudget creates a budget of which west has so many parts, and the hub, as a member, one.
func (w *world) createBudget(key types.NamespacedName, cpus string, parts int32, mode quotav1alpha1.RebalanceMode) {
	w.Helper()
	w.must(w.hub.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}))
	rule := func(cluster quotav1alpha1.ClusterName, weight int32) quotav1alpha1.DistributionRule {
		return quotav1alpha1.DistributionRule{Clusters: []quotav1alpha1.ClusterName{cluster}, RuleTerms: quotav1alpha1.RuleTerms{Weight: &weight}}
	}
	w.must(w.hub.Create(w.Context(), &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:         corev1.ResourceList{cpu: resource.MustParse(cpus)},
			Placement:    quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}, CreateNamespace: new(true)},
			Distribution: quotav1alpha1.Distribution{Weights: quotav1alpha1.WeightsStatic, Rules: []quotav1alpha1.DistributionRule{rule(fleet.HubName, 1), rule(west, parts)}},
			Rebalance:    quotav1alpha1.Rebalance{Mode: mode},
			Admission:    quotav1alpha1.Admission{WaitMilliseconds: new(int32(wait.Milliseconds()))},
		},
	}))
}

// settled waits until the budget is enforced everywhere.
func (w *world) settled(key types.NamespacedName) {
	w.Helper()
	w.eventually("the budget to be enforced", func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := w.hub.Get(ctx, key, fq); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
			return fmt.Errorf("it is not ready: %+v", fq.Status)
		}
		return nil
	})
}

// limit returns the limit in force of the hub as a member.
func (w *world) limit() resource.Quantity {
	w.Helper()
	quota := &corev1.ResourceQuota{}
	w.must(w.hub.Get(w.Context(), tight, quota))
	return quota.Status.Hard[cpu]
}

// heldAndRaised has a Deployment ask for more than the limit: nothing of it is refused, the limit is raised, and its
// pods run.
func (w *world) heldAndRaised() {
	w.Helper()
	const replicas, each = 6, "100m"
	before := w.limit()
	if need := resource.MustParse("600m"); before.Cmp(need) >= 0 {
		w.Fatalf("the limit is %s already", before.String())
	}
	w.must(w.hub.Create(w.Context(), deployment("web", replicas, each)))
	w.eventually("pods of the Deployment to run", func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := w.hub.Get(ctx, client.ObjectKey{Namespace: tight.Namespace, Name: "web"}, d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas != replicas {
			return fmt.Errorf("%d of %d pods are available", d.Status.AvailableReplicas, replicas)
		}
		return nil
	})
	after := w.limit()
	w.Logf("the limit of the hub was %s and is %s", before.String(), after.String())
}

// deployment returns a Deployment of pods that ask for cpu and do nothing.
func deployment(name string, replicas int32, cpus string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: tight.Namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(cpus)},
		},
	}
}

// podSpec is what a pod is that asks for cpu and does nothing.
func podSpec(cpus string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "pause", Image: pauseImage,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}},
	}}}
}
