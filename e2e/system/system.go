// Package system puts fedquota on a fleet of real control planes: the manifests of config/default and config/member on
// the API servers, the hub manager and the agents as processes of this machine, each under its own service account.
package system

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/fleet"
)

const (
	namespace = "fedquota-system"
	// HubManager is the name of the hub manager's process.
	HubManager = "hub-manager"
)

// Options says which system to start.
type Options struct {
	// Fleet says on which control planes.
	Fleet fleet.Options
	// Root is the folder of the project: of config/ and bin/.
	Root string
	// Bare leaves out hub manager and agents: the manifests alone are installed.
	Bare bool
	// HubInstalls leaves members without manifests, and has the hub manager install them.
	HubInstalls bool
	// Standalone leaves Cluster API's CRDs out of the hub, which then knows no member.
	Standalone bool
	// ScaleOut has hub managers add nodes, and gives them the rights for that.
	ScaleOut bool
	// HubArgs are added to the arguments of hub managers, AgentArgs to those of agents.
	HubArgs, AgentArgs []string
	// Env is what the environment of managers has beyond this process's own.
	Env []string
}

// System is fedquota on a running fleet.
type System struct {
	*fleet.Fleet
	// HubManager is the process of the hub manager, Agents those of the agents by member.
	HubManager *fleet.Process
	Agents     map[string]*fleet.Process

	root      string
	dir       string
	assets    string
	installs  bool
	scaleOut  bool
	hubArgs   []string
	agentArgs []string
	// manager is the file of the managers; env is what their environment has beyond this process's own.
	manager string
	env     []string
	// serves says that its managers serve webhooks in the place of those that are named HubManager and Agent.
	serves bool
	// started is all managers that were ever started, by name; stand-ins are among them.
	started map[string]Manager
}

// Manager is a hub manager or an agent that was started.
type Manager struct {
	*fleet.Process
	// Of is the control plane that it works for, MetricsURL where it serves its metrics to whom that one's API server
	// lets.
	Of         *fleet.ControlPlane
	MetricsURL string
}

// Managers returns the managers of a control plane that run now.
func (s *System) Managers(c *fleet.ControlPlane) []Manager {
	var running []Manager
	for _, name := range slices.Sorted(maps.Keys(s.started)) {
		m := s.started[name]
		select {
		case <-m.Done():
		default:
			if m.Of == c {
				running = append(running, m)
			}
		}
	}
	return running
}

// StandIn returns the same system with managers that are run from another file, and with more in their environment.
func (s *System) StandIn(manager string, env ...string) *System {
	other := *s
	other.manager, other.env, other.serves = manager, env, len(env) > 0
	return &other
}

// With returns the same system with hub managers of other arguments, each of which serves the webhook of the hub.
func (s *System) With(hubArgs ...string) *System {
	other := *s
	other.hubArgs, other.serves = hubArgs, true
	return &other
}

// Version returns the same system as another version of the project has it, whose folder is root: manifests and
// managers.
func (s *System) Version(root string) *System {
	other := *s
	other.root, other.manager, other.serves = root, filepath.Join(root, "bin", "manager"), true
	return &other
}

// InstallHub applies the manifests of the hub.
func (s *System) InstallHub(ctx context.Context) error {
	if err := s.apply(ctx, s.Hub, "config/default"); err != nil || !s.scaleOut {
		return err
	}
	return s.apply(ctx, s.Hub, "config/rbac/hub-scaleout")
}

// installMember applies the manifests of a member.
func (s *System) installMember(ctx context.Context, m *fleet.ControlPlane) error {
	err := s.apply(ctx, m, "config/member")
	if err == nil && s.scaleOut {
		err = s.apply(ctx, m, "config/rbac/hub-scaleout-in-member")
	}
	if err != nil {
		return err
	}
	return guarded(ctx, m)
}

// Agent returns the name of the process of a member's agent.
func Agent(member string) string { return "agent-" + member }

// Start starts a fleet and puts fedquota on it. The caller ends it with Stop.
func Start(ctx context.Context, options Options) (*System, error) {
	if !options.Standalone {
		crds, err := fleet.ClusterAPICRDs(ctx, "clusters", "machinedeployments", "machinepools")
		if err != nil {
			return nil, err
		}
		options.Fleet.CRDPaths = append(options.Fleet.CRDPaths, crds...)
	}
	f, err := fleet.Start(ctx, options.Fleet)
	if err != nil {
		return nil, err
	}
	s := &System{Fleet: f, Agents: map[string]*fleet.Process{}, root: options.Root, dir: options.Fleet.Dir, assets: options.Fleet.Assets,
		installs: options.HubInstalls, scaleOut: options.ScaleOut, hubArgs: options.HubArgs, agentArgs: options.AgentArgs, env: options.Env, started: map[string]Manager{},
		manager: filepath.Join(options.Root, "bin", "manager")}
	progress := options.Fleet.Progress
	if progress == nil {
		progress = func(string) {}
	}
	progress("installing CRDs, roles and policies on the hub and in the members")
	if err = s.install(ctx); err == nil && !options.Bare {
		progress("starting the hub manager and the agents")
		err = s.run(ctx)
	}
	if err != nil {
		_ = f.Stop()
		return nil, err
	}
	return s, nil
}

// install applies the manifests everywhere.
func (s *System) install(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return s.InstallHub(ctx) })
	for _, m := range s.Members {
		if s.installs {
			break
		}
		group.Go(func() error { return s.installMember(ctx, m) })
	}
	return group.Wait()
}

// apply applies the objects of a kustomization by server-side apply, but for the workloads: they run as processes here.
func (s *System) apply(ctx context.Context, c *fleet.ControlPlane, kustomization string) error {
	objects, err := Render(ctx, filepath.Join(s.assetsDir(), "kubectl"), filepath.Join(s.root, kustomization))
	if err != nil {
		return err
	}
	cl, err := Client(c)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := cl.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("fedquota-install"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s to %s: %w", object.GetKind(), object.GetName(), c.Name, err)
		}
	}
	return established(ctx, cl, objects)
}

// run starts the hub manager and the agents.
func (s *System) run(ctx context.Context) error {
	var err error
	if s.HubManager, err = s.StartHubManager(ctx, HubManager); err != nil {
		return err
	}
	for _, m := range s.Members {
		if s.Agents[m.Name], err = s.StartAgent(ctx, m, Agent(m.Name)); err != nil {
			return err
		}
	}
	return nil
}

// StartHubManager starts a hub manager under the given name, without leader election: several may run at once. The one
// that is named HubManager serves the webhook of the hub, and so does a stand-in: the API server knows one address.
func (s *System) StartHubManager(ctx context.Context, name string) (*fleet.Process, error) {
	args := s.hubFlags()
	if name == HubManager || s.serves {
		served, err := serveWebhook(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, served...)
	}
	return s.start(ctx, s.Hub, name, "hub", "fedquota-hub", args...)
}

// serveWebhook returns the arguments of a manager that serves a webhook on a port of this machine.
func serveWebhook(ctx context.Context) ([]string, error) {
	port, err := fleet.FreePort(ctx)
	return []string{"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port), fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port)}, err
}

// hubFlags are the arguments that all hub managers have.
func (s *System) hubFlags() []string {
	flags := []string{s.agents()}
	if s.scaleOut {
		flags = append(flags, "--scale-out")
	}
	return append(flags, s.hubArgs...)
}

// agents is the argument that says whether a hub manager installs agents. No node runs the image.
func (s *System) agents() string {
	if s.installs {
		return "--agent-image=fedquota/manager:e2e"
	}
	return "--install-agents=false"
}

// StartElectedHubManager starts a hub manager that acts only while it is elected.
func (s *System) StartElectedHubManager(ctx context.Context, name string) (*fleet.Process, error) {
	return s.start(ctx, s.Hub, name, "hub", "fedquota-hub", append(s.hubFlags(), "--leader-elect=true")...)
}

// StartAgent starts an agent of a member under the given name, without leader election. The one that is named by Agent
// serves the member's webhook, and so does a stand-in: its API server knows one address.
func (s *System) StartAgent(ctx context.Context, m *fleet.ControlPlane, name string) (*fleet.Process, error) {
	if name != Agent(m.Name) && !s.serves {
		return s.start(ctx, m, name, "agent", "fedquota-agent", s.agentArgs...)
	}
	served, err := serveWebhook(ctx)
	if err != nil {
		return nil, err
	}
	return s.start(ctx, m, name, "agent", "fedquota-agent", append(served, s.agentArgs...)...)
}

// StartElectedAgent starts an agent of a member that acts only while it is elected. It serves the member's webhook on a
// port, and has API servers call it by a URL that several agents may share.
func (s *System) StartElectedAgent(ctx context.Context, m *fleet.ControlPlane, name string, port int, url string) (*fleet.Process, error) {
	return s.start(ctx, m, name, "agent", "fedquota-agent", "--leader-elect=true", "--webhook-host=127.0.0.1",
		fmt.Sprintf("--webhook-port=%d", port), "--webhook-url="+url)
}

func (s *System) start(ctx context.Context, c *fleet.ControlPlane, name, mode, account string, args ...string) (*fleet.Process, error) {
	kubeconfig := filepath.Join(c.Dir, name+".kubeconfig")
	if err := c.ServiceAccountKubeconfig(ctx, namespace, account, kubeconfig); err != nil {
		return nil, err
	}
	port, err := fleet.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	metrics := fmt.Sprintf("127.0.0.1:%d", port)
	p, err := s.Run(ctx, fleet.Program{
		Name: name,
		Path: s.manager,
		Env:  s.env,
		Args: append([]string{mode, "--kubeconfig=" + kubeconfig, "--leader-elect=false", "--zap-time-encoding=rfc3339nano",
			"--metrics-bind-address=" + metrics}, args...),

		Revive: true,
	})
	if err == nil {
		s.started[name] = Manager{Process: p, Of: c, MetricsURL: "https://" + metrics + "/metrics"}
	}
	return p, err
}

// Client returns an administrator's client of a control plane, which is not held back.
func Client(c *fleet.ControlPlane) (client.WithWatch, error) { return ClientOf(c.Config) }

// ClientOf returns the client of a connection, which is not held back.
func ClientOf(config *rest.Config) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
}

// guarded waits until the guard refuses an administrator in a member, as it does once its API server has read it.
func guarded(ctx context.Context, m *fleet.ControlPlane) error {
	cl, err := Client(m)
	if err != nil {
		return err
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota",
		"metadata": map[string]any{"name": "probe", "namespace": namespace, "labels": map[string]any{quotav1alpha1.ManagedLabel: "true"}},
	}}
	return poll(ctx, 100*time.Millisecond, 3*time.Minute, "the guard in "+m.Name, func(ctx context.Context) (bool, error) {
		err := cl.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "fedquota-guard"), nil
	})
}
