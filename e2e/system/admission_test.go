//go:build e2e

package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	team = "team-a"
	// held is how long requests are held: far longer than a raise takes on a machine that is busy.
	held = 5 * time.Second
)

// member is a member with an agent and no hub manager: the test writes shares as the hub would.
type member struct {
	client.WithWatch
	// hub says that it is the hub's.
	hub    client.Client
	system *system.System
	plane  *fleet.ControlPlane
}

// startSystem starts a hub and its members, the member east alone if options name none, until the test ends.
func startSystem(t *testing.T, options system.Options) *system.System {
	t.Helper()
	if options.Fleet.Members == nil {
		options.Fleet.Members = []fleet.ControlPlaneOptions{{Name: "east"}}
	}
	return systemtest.Start(t, options)
}

// startMember starts a member with its agent.
func startMember(t *testing.T) *member {
	t.Helper()
	s := startSystem(t, system.Options{Bare: true})
	m := &member{system: s, plane: s.Members[0]}
	var err error
	if m.WithWatch, err = system.Client(m.plane); err != nil {
		t.Fatal(err)
	}
	m.hub = client.WithFieldOwner(m.WithWatch, quotav1alpha1.HubFieldManager)
	m.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	m.startAgent(t)
	return m
}

func (m *member) startAgent(t *testing.T) {
	t.Helper()
	agent, err := m.system.StartAgent(t.Context(), m.plane, system.Agent(m.plane.Name))
	if err != nil {
		t.Fatal(err)
	}
	m.system.Agents[m.plane.Name] = agent
}

func (m *member) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := m.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// tell creates a share as the hub would.
func (m *member) tell(t *testing.T, share *quotav1alpha1.QuotaShare) {
	t.Helper()
	if err := m.hub.Create(t.Context(), share); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 3*time.Minute, true, condition); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// share returns a share of so many CPUs and pods.
func share(name, cpu, pods string) *quotav1alpha1.QuotaShare {
	return &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec: quotav1alpha1.QuotaShareSpec{
			Revision: 1,
			Hard:     corev1.ResourceList{"requests.cpu": resource.MustParse(cpu), "pods": resource.MustParse(pods)},
			Admission: quotav1alpha1.Admission{
				Mode: quotav1alpha1.AdmissionHold, WaitMilliseconds: new(int32(held.Milliseconds())),
			},
			Fleet: quotav1alpha1.Fleet{
				Budget:  corev1.ResourceList{"requests.cpu": resource.MustParse("30"), "pods": resource.MustParse("60")},
				Used:    corev1.ResourceList{"requests.cpu": resource.MustParse("28"), "pods": resource.MustParse("20")},
				Waiting: []quotav1alpha1.ClusterName{"west", "north"},
			},
		},
	}
}

// inForce waits until a share is in force.
func (m *member) inForce(t *testing.T, share *quotav1alpha1.QuotaShare) {
	t.Helper()
	until(t, "the share in force", func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(share), share)
		return err == nil && share.Status.Revision == share.Spec.Revision, err
	})
}

// enforced waits until a share is in force and the API server calls the webhook for it.
func (m *member) enforced(t *testing.T, share *quotav1alpha1.QuotaShare) {
	t.Helper()
	m.inForce(t, share)
	until(t, "the rules of the webhook", func(ctx context.Context) (bool, error) {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		err := m.Get(ctx, client.ObjectKey{Name: "fedquota-agent"}, configuration)
		return err == nil && len(configuration.Webhooks) > 0, err
	})
	until(t, "the webhook to be called", func(ctx context.Context) (bool, error) {
		err := m.Create(ctx, pod("probe", "1000"), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "fleet: used"), nil
	})
}

// raise writes the limits of a share as the hub would.
func (m *member) raise(ctx context.Context, share *quotav1alpha1.QuotaShare, cpu, pods string) error {
	stored := share.DeepCopy()
	share.Spec.Revision++
	share.Spec.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse(cpu), "pods": resource.MustParse(pods)}
	return m.hub.Patch(ctx, share, client.MergeFrom(stored))
}

// raiseOnDemand raises a share once it states a demand for so many CPUs, as the hub would. What asks for them is held
// meanwhile, since nothing else raises it.
func (m *member) raiseOnDemand(ctx context.Context, share *quotav1alpha1.QuotaShare, demand, cpu, pods string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	reports, err := m.Watch(ctx, &quotav1alpha1.QuotaShareList{}, client.InNamespace(share.Namespace))
	if err != nil {
		return err
	}
	defer reports.Stop()
	var stated []string
	for event := range reports.ResultChan() {
		seen, ok := event.Object.(*quotav1alpha1.QuotaShare)
		if !ok || seen.Name != share.Name {
			continue
		}
		asked := seen.Status.Demand["requests.cpu"]
		if asked.String() == demand {
			seen.DeepCopyInto(share)
			return m.raise(ctx, share, cpu, pods)
		}
		stated = append(stated, asked.String())
	}
	return fmt.Errorf("the demand stated was %q, never %s", stated, demand)
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec:       podSpec(cpu),
	}
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{
			Name: "c", Image: "registry.k8s.io/pause:3.10",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}},
	}
}

// TestAdmission sees requests that do not fit through the webhook of an agent and the native quota of a real API
// server.
func TestAdmission(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	s := share("compute", "2", "10")
	m.tell(t, s)
	m.enforced(t, s)

	t.Run("fits", func(t *testing.T) {
		m.create(t, pod("first", "1"))
		m.recounted(t, "1", "1")
	})
	t.Run("held until raised", func(t *testing.T) { m.testHeld(t, s) })
	t.Run("one demand for a scale-up", func(t *testing.T) { m.testScaleUp(t, s) })
	t.Run("dry run", func(t *testing.T) { m.testDryRun(t, s) })
	t.Run("denied", func(t *testing.T) { m.testDenied(t) })
	t.Run("agent dead", func(t *testing.T) { m.testAgentDead(t) })
}

// testHeld holds a pod that does not fit until the limit is raised for the demand that it states. Native quota cannot
// refuse it on the word of an older cache: the agent lets it through when the API server, the only one here, has said that
// its cache is not behind.
func (m *member) testHeld(t *testing.T, s *quotav1alpha1.QuotaShare) {
	t.Helper()
	raised := m.raiseLater(t, s, "2", "3", "10")
	began := time.Now()
	err := m.Create(t.Context(), pod("held", "2"))
	t.Logf("admitted after %s", time.Since(began))
	if err != nil {
		t.Errorf("a request that was held: %v", err)
	}
	if err := <-raised; err != nil {
		t.Error(err)
	}
	m.noDemand(t, s)
}

// raiseLater raises a share when it states a demand, and sends nil then, or why it did not.
func (m *member) raiseLater(t *testing.T, s *quotav1alpha1.QuotaShare, demand, cpu, pods string) <-chan error {
	t.Helper()
	raised := make(chan error, 1)
	go func() { raised <- m.raiseOnDemand(t.Context(), s, demand, cpu, pods) }()
	return raised
}

func (m *member) noDemand(t *testing.T, s *quotav1alpha1.QuotaShare) {
	t.Helper()
	until(t, "no demand", func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(s), s)
		return err == nil && len(s.Status.Demand) == 0, err
	})
}

// replicaSet returns one of pods that ask for one CPU each.
func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("1")},
		},
	}
}

// recounted sees that all pods are counted for good. The quota controller counts anew after each raise, and each few
// minutes, and may not know the latest pod then. Once it no longer counts a pod that came after them, and asks for
// nothing, it knows them all. It keeps counting that pod where it hears of its end before it has heard of its charge:
// it takes its count for written then. So another one comes and goes.
func (m *member) recounted(t *testing.T, cpu, pods string) {
	t.Helper()
	want := corev1.ResourceList{"requests.cpu": resource.MustParse(cpu), "pods": resource.MustParse(pods)}
	until(t, "all pods to be counted", func(ctx context.Context) (bool, error) {
		last := pod("last", "0")
		if err := m.Create(ctx, last); err != nil {
			return false, err
		}
		if err := m.Delete(ctx, last); err != nil {
			return false, err
		}
		quota := &corev1.ResourceQuota{}
		err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
			err := m.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, quota)
			return err == nil && quotav1.Equals(quota.Status.Used, want), err
		})
		if err != nil {
			t.Logf("%s pods are counted, want %s: %v", quota.Status.Used.Pods(), pods, err)
		}
		return err == nil, nil
	})
}

// testScaleUp sees one demand for all replicas that a workload lacks, and no refusal. The agent may hear of the first
// pod before it hears of the workload, and state less until it does.
func (m *member) testScaleUp(t *testing.T, s *quotav1alpha1.QuotaShare) {
	t.Helper()
	m.recounted(t, "3", "2")
	raised := m.raiseLater(t, s, "6", "9", "12")
	began := time.Now()
	m.create(t, replicaSet("web", 6))
	m.pods(t, "web", 6)
	t.Logf("6 replicas after %s", time.Since(began))
	if err := <-raised; err != nil {
		t.Error(err)
	}
	var events corev1.EventList
	if err := m.List(t.Context(), &events, client.InNamespace(team)); err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Reason == "FailedCreate" && strings.Contains(event.Message, "exceeded quota") {
			t.Errorf("refused: %s", event.Message)
		}
	}
	m.noDemand(t, s)
	if err := m.Delete(t.Context(), replicaSet("web", 0), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	m.used(t, s, "3")
}

// pods waits until a ReplicaSet has so many pods.
func (m *member) pods(t *testing.T, name string, count int) {
	t.Helper()
	until(t, name+" to have its pods", func(ctx context.Context) (bool, error) {
		var list corev1.PodList
		err := m.List(ctx, &list, client.InNamespace(team), client.MatchingLabels{"app": name})
		return len(list.Items) == count, err
	})
}

// used waits until so many CPUs are used.
func (m *member) used(t *testing.T, s *quotav1alpha1.QuotaShare, cpu string) {
	t.Helper()
	until(t, "usage of "+cpu, func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(s), s)
		used := s.Status.Used["requests.cpu"]
		return used.String() == cpu, err
	})
}

// soon does what takes far less time than a hold: again if it did not, since the machine may have stalled.
func soon(t *testing.T, what string, do func(attempt int)) {
	t.Helper()
	var took time.Duration
	for attempt := range 3 {
		began := time.Now()
		do(attempt)
		if took = time.Since(began); took < held/2 {
			return
		}
	}
	t.Errorf("%s takes %s", what, took)
}

// testDryRun sees the whole answer at once, and no demand.
func (m *member) testDryRun(t *testing.T, s *quotav1alpha1.QuotaShare) {
	t.Helper()
	var err error
	soon(t, "a dry run", func(int) { err = m.Create(t.Context(), pod("dry", "20"), client.DryRunAll) })
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "; fleet: used requests.cpu=28 of 30; waiting: west, north") {
		t.Errorf("got %v, want Forbidden with what the fleet uses", err)
	}
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || len(s.Status.Demand) > 0 {
		t.Errorf("a dry run states a demand of %v (%v)", s.Status.Demand, err)
	}
}

// testAgentDead sees native quota alone, without delay.
func (m *member) testAgentDead(t *testing.T) {
	t.Helper()
	if err := m.system.Agents[m.plane.Name].Kill(); err != nil {
		t.Fatal(err)
	}
	soon(t, "a request with no agent", func(attempt int) {
		err := m.Create(t.Context(), pod("dead", "20"))
		if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "webhook") {
			t.Errorf("got %v, want Forbidden by native quota", err)
		}
		m.create(t, pod(fmt.Sprintf("dead-%d", attempt), "1"))
	})
}

// testDenied sees the answer to a pod that nobody makes room for.
func (m *member) testDenied(t *testing.T) {
	t.Helper()
	began := time.Now()
	err := m.Create(t.Context(), pod("denied", "7"))
	waited := time.Since(began)
	for range 2 {
		if err == nil || strings.Contains(err.Error(), "admission webhook") {
			break
		}
		// The API server waits 2 s longer than the agent holds, and then goes on without it.
		err = m.Create(t.Context(), pod("denied", "7"))
	}
	if !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want Forbidden", err)
	}
	const want = `admission webhook "pods.fedquota.io" denied the request: exceeded quota: compute, requested: requests.cpu=7, used: requests.cpu=3, limited: requests.cpu=9; ` +
		`fleet: used requests.cpu=28 of 30; waiting: west, north`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if waited < held {
		t.Errorf("it was held for %s, want %s", waited, held)
	}
}
