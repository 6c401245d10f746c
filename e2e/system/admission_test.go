package system_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

const team = "team-a"

// member is a member with an agent and no hub manager: the test writes shares as the hub would.
type member struct {
	client.Client
	system *system.System
	plane  *fleet.ControlPlane
}

// startMember starts a member with its agent.
func startMember(t *testing.T) *member {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds the control planes", fleet.AssetsVariable)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "manager")); err != nil {
		t.Skip("bin/manager is not built: run `make build`")
	}
	s, err := system.Start(t.Context(), system.Options{Root: root, Bare: true, Fleet: fleet.Options{
		Dir: t.TempDir(), Members: []fleet.ControlPlaneOptions{{Name: "east"}}, Progress: func(step string) { t.Log(step) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			dumpLog(t, s)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	m := &member{system: s, plane: s.Members[0]}
	if m.Client, err = system.Client(m.plane); err != nil {
		t.Fatal(err)
	}
	m.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	m.startAgent(t)
	return m
}

func dumpLog(t *testing.T, s *system.System) {
	t.Helper()
	for _, agent := range s.Agents {
		log, err := os.ReadFile(agent.LogPath)
		if err != nil {
			t.Error(err)
		}
		lines := strings.Split(string(log), "\n")
		t.Log(strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
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

// until waits for a condition.
func until(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 30*time.Second, true, condition); err != nil {
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
				Mode: quotav1alpha1.AdmissionHold, WaitMilliseconds: ptr.To[int32](1000),
			},
			Fleet: quotav1alpha1.Fleet{
				Budget:  corev1.ResourceList{"requests.cpu": resource.MustParse("30"), "pods": resource.MustParse("60")},
				Used:    corev1.ResourceList{"requests.cpu": resource.MustParse("28"), "pods": resource.MustParse("20")},
				Waiting: []quotav1alpha1.ClusterName{"west", "north"},
			},
		},
	}
}

// enforced waits until a share is in force and the API server calls the webhook for it.
func (m *member) enforced(t *testing.T, share *quotav1alpha1.QuotaShare) {
	t.Helper()
	until(t, "the share in force", func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(share), share)
		return err == nil && share.Status.Revision == share.Spec.Revision, err
	})
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
	return m.Patch(ctx, share, client.MergeFrom(stored))
}

// raiseOnDemand raises a share once it states a demand of so many CPUs, as the hub would, and returns when that was.
func (m *member) raiseOnDemand(ctx context.Context, share *quotav1alpha1.QuotaShare, demand, cpu, pods string) error {
	wanted := resource.MustParse(demand)
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		if err := m.Get(ctx, client.ObjectKeyFromObject(share), share); err != nil {
			return false, err
		}
		stated := share.Status.Demand["requests.cpu"]
		return stated.Cmp(wanted) == 0, nil
	})
	return errors.Join(err, m.raise(ctx, share, cpu, pods))
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

// TestAdmission sees requests that do not fit through the webhook of an agent and the native quota of a real API server.
func TestAdmission(t *testing.T) {
	m := startMember(t)
	s := share("compute", "2", "10")
	m.create(t, s)
	m.enforced(t, s)

	t.Run("fits", func(t *testing.T) { m.create(t, pod("first", "1")) })
	t.Run("held until raised", func(t *testing.T) { m.testHeld(t, s) })
	t.Run("denied", func(t *testing.T) { m.testDenied(t, s) })
}

// testHeld holds a pod that does not fit until the limit is raised for the demand that it states.
func (m *member) testHeld(t *testing.T, s *quotav1alpha1.QuotaShare) {
	raised := make(chan error, 1)
	go func() { raised <- m.raiseOnDemand(t.Context(), s, "2", "3", "10") }()
	began := time.Now()
	err := m.Create(t.Context(), pod("held", "2"))
	t.Logf("admitted after %s", time.Since(began))
	if err != nil {
		t.Errorf("a request that was held: %v", err)
	}
	if err := <-raised; err != nil {
		t.Error(err)
	}
	until(t, "no demand", func(ctx context.Context) (bool, error) {
		err := m.Get(ctx, client.ObjectKeyFromObject(s), s)
		return err == nil && len(s.Status.Demand) == 0, err
	})
}

// testDenied sees the answer to a pod that nobody makes room for.
func (m *member) testDenied(t *testing.T, s *quotav1alpha1.QuotaShare) {
	began := time.Now()
	err := m.Create(t.Context(), pod("denied", "2"))
	waited := time.Since(began)
	if !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want Forbidden", err)
	}
	const want = `admission webhook "pods.fedquota.io" denied the request: exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=3, limited: requests.cpu=3; ` +
		`fleet: used requests.cpu=28 of 30; waiting: west, north`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if waited < time.Second || waited > 2*time.Second {
		t.Errorf("it was held for %s, want about 1s", waited)
	}
	_ = s
}
