package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	// writers is how many objects are written at once.
	writers = 16
	// patience is how long a phase may take to settle.
	patience = 20 * time.Minute
	// The names of namespaces begin with these.
	shared, other = "shared", "other"
	shareName     = "compute"
)

// member is a member with an agent, and no hub manager.
type member struct {
	options
	client.Client
	// hub writes shares as the hub does.
	hub     client.Client
	system  *system.System
	plane   *fleet.ControlPlane
	agent   *fleet.Process
	machine rig.Machine
	rows    []row
	// pprof is the port of the agent's profiles.
	pprof int
}

// start starts a hub that knows a member, without managers.
func start(ctx context.Context, o options) (*member, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	m := &member{options: o, machine: rig.ThisMachine()}
	if m.pprof, err = fleet.FreePort(ctx); err != nil {
		return nil, err
	}
	if m.system, err = system.Start(ctx, system.Options{
		Root: root, Bare: true, AgentArgs: []string{fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", m.pprof)},
		Fleet: fleet.Options{
			Dir: filepath.Join(root, "bin", "scale", "fleet-agent"), Members: []fleet.ControlPlaneOptions{{Name: "east"}},
			Progress: func(step string) { fmt.Fprintln(os.Stderr, step) },
		},
	}); err != nil {
		return nil, err
	}
	m.plane = m.system.Members[0]
	m.Client, err = system.Client(m.plane)
	m.hub = client.WithFieldOwner(m.Client, quotav1alpha1.HubFieldManager)
	return m, err
}

// startAgent starts the agent, and waits until API servers call its webhook.
func (m *member) startAgent(ctx context.Context) (_ string, err error) {
	if m.agent, err = m.system.StartAgent(ctx, m.plane, system.Agent(m.plane.Name)); err != nil {
		return "", err
	}
	if err := m.createShare(ctx, "first"); err != nil {
		return "", err
	}
	return "", m.answers(ctx, "first")
}

// answers waits until the webhook denies a request in a namespace with a share, in words that native quota does not
// have.
func (m *member) answers(ctx context.Context, namespace string) error {
	return m.until(ctx, func(ctx context.Context) (bool, error) {
		err := m.Create(ctx, pod(namespace, "probe", "1000"), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "fleet: used"), nil
	})
}

func (m *member) until(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, condition)
}

// createShare creates a namespace and its share.
func (m *member) createShare(ctx context.Context, namespace string) error {
	if err := m.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	amounts := func(cpu, pods string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods)}
	}
	return m.hub.Create(ctx, &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shareName},
		Spec: quotav1alpha1.QuotaShareSpec{
			Revision: 1, Hard: amounts("100", "100"), Admission: quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionHold},
			Fleet: quotav1alpha1.Fleet{Budget: amounts("300", "300"), Used: amounts("30", "30")},
		},
	})
}

// createShares creates all namespaces, and waits until each share is in force.
func (m *member) createShares(ctx context.Context) (string, error) {
	err := each(ctx, m.namespaces+m.others, func(ctx context.Context, i int) error {
		if i < m.namespaces {
			return m.createShare(ctx, name(shared, i))
		}
		return m.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(other, i-m.namespaces)}})
	})
	if err != nil {
		return "", err
	}
	written := time.Now()
	err = m.until(ctx, m.enforced)
	return fmt.Sprintf("in force %.1f s after the last was written", time.Since(written).Seconds()), err
}

// enforced says whether each share is in force.
func (m *member) enforced(ctx context.Context) (bool, error) {
	var shares quotav1alpha1.QuotaShareList
	if err := m.List(ctx, &shares); err != nil {
		return false, err
	}
	late := slices.IndexFunc(shares.Items, func(s quotav1alpha1.QuotaShare) bool { return s.Status.Revision != s.Spec.Revision })
	return late < 0, nil
}

// createPods fills the namespaces with shares.
func (m *member) createPods(ctx context.Context) (string, error) {
	return "", each(ctx, m.namespaces*m.pods, func(ctx context.Context, i int) error {
		return m.Create(ctx, pod(name(shared, i%m.namespaces), fmt.Sprintf("pod-%d", i), "1m"))
	})
}

func (m *member) rest(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(m.long):
		return "", nil
	}
}

// requests makes requests that fit and have no effect, in namespaces of one kind.
func (m *member) requests(kind string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		var mutex sync.Mutex
		var took []time.Duration
		count := map[string]int{shared: m.namespaces, other: m.others}[kind]
		until := time.Now().Add(m.long)
		group, ctx := errgroup.WithContext(ctx)
		for worker := range m.at {
			group.Go(func() error {
				for n := worker; time.Now().Before(until); n += m.at {
					began := time.Now()
					if err := m.Create(ctx, pod(name(kind, n%count), "dry", "1m"), client.DryRunAll); err != nil {
						return err
					}
					mutex.Lock()
					took = append(took, time.Since(began))
					mutex.Unlock()
				}
				return nil
			})
		}
		err := group.Wait()
		return fmt.Sprintf("%d requests: p50 %.0f ms, p99 %.0f ms", len(took), rig.Millis(rig.Percentile(took, 50)), rig.Millis(rig.Percentile(took, 99))), err
	}
}

// restart kills the agent and starts it again, until its webhook answers.
func (m *member) restart(ctx context.Context) (string, error) {
	if err := m.agent.Restart(ctx); err != nil {
		return "", err
	}
	return "until its webhook answers", m.answers(ctx, name(shared, m.namespaces-1))
}

// each does something for each number, several at once.
func each(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range count {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func name(kind string, i int) string { return fmt.Sprintf("%s-%04d", kind, i) }

func pod(namespace, name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}
