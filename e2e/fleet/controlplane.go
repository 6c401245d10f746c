package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const dataFolder = "data"

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Name is its name in the options.
	Name string
	// Dir is its folder.
	Dir string
	// Kubeconfig is the path of an administrator's kubeconfig, and Config is the same to a Go client.
	Kubeconfig string
	Config     *rest.Config
	// SecondKubeconfig and SecondConfig lead to the second API server, if there is one.
	SecondKubeconfig string
	SecondConfig     *rest.Config

	options     ControlPlaneOptions
	assets      string
	address     string
	detach      bool
	port        int
	credentials *credentials

	mu        sync.Mutex
	processes []*Process
}

// Process returns the process of the given name (Etcd, APIServer, ControllerManager, …), or nil.
func (c *ControlPlane) Process(name string) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.processes, func(p *Process) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return c.processes[i]
}

// Processes returns all its processes in the order in which they started.
func (c *ControlPlane) Processes() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.processes)
}

// start brings up the control plane and waits until all of it is ready.
func (c *ControlPlane) start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(c.Dir, dataFolder), 0o700); err != nil {
		return err
	}
	var err error
	if c.credentials, err = newCredentials(c.Name, c.Dir, c.address); err != nil {
		return err
	}
	steps := []func(context.Context) error{c.startEtcd, c.startAPIServers, c.startControllerManager}
	if c.options.Scheduler || c.options.Nodes != nil {
		steps = append(steps, c.startScheduler)
	}
	if c.options.Nodes != nil {
		steps = append(steps, c.startNodes)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("control plane %s: %w", c.Name, err)
		}
	}
	return nil
}

// startEtcd starts etcd.
func (c *ControlPlane) startEtcd(ctx context.Context) error {
	_, err := c.startProcess(ctx, c.etcd())
	return err
}

// startAPIServers starts the API servers and writes the administrator's kubeconfigs.
func (c *ControlPlane) startAPIServers(ctx context.Context) error {
	var err error
	c.Kubeconfig = filepath.Join(c.Dir, "kubeconfig")
	c.Config, c.port, err = c.startAPIServer(ctx, APIServer, c.Kubeconfig)
	if err != nil || !c.options.SecondAPIServer {
		return err
	}
	c.SecondKubeconfig = filepath.Join(c.Dir, "kubeconfig-2")
	c.SecondConfig, _, err = c.startAPIServer(ctx, SecondAPIServer, c.SecondKubeconfig)
	return err
}

// startAPIServer starts one API server and writes the administrator's kubeconfig for it.
func (c *ControlPlane) startAPIServer(ctx context.Context, name, kubeconfig string) (config *rest.Config, port int, err error) {
	port, err = c.startOnFreePort(ctx, func(port int) (command, error) {
		config, err = c.writeAdmin(kubeconfig, port)
		if err != nil {
			return command{}, err
		}
		return c.apiServer(name, port, config)
	})
	return config, port, err
}

// writeAdmin writes an administrator's kubeconfig for the API server at a port.
func (c *ControlPlane) writeAdmin(path string, port int) (*rest.Config, error) {
	admin, err := c.credentials.admin(c.url(port))
	if err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(*admin, path); err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags("", path)
}

// startControllerManager starts kube-controller-manager.
func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	kubeconfig, err := c.credentials.writeUser("system:"+ControllerManager, c.url(c.port))
	if err != nil {
		return err
	}
	_, err = c.startOnFreePort(ctx, func(port int) (command, error) { return c.controllerManager(port, kubeconfig) })
	return err
}

// startScheduler starts kube-scheduler.
func (c *ControlPlane) startScheduler(ctx context.Context) error {
	kubeconfig, err := c.credentials.writeUser("system:"+Scheduler, c.url(c.port))
	if err != nil {
		return err
	}
	_, err = c.startOnFreePort(ctx, func(port int) (command, error) { return c.scheduler(port, kubeconfig) })
	return err
}

// startProcess starts a process of the control plane and waits until it is ready.
func (c *ControlPlane) startProcess(ctx context.Context, command command) (*Process, error) {
	p := newProcess(command, c.Dir, c.detach)
	if err := p.start(ctx); err != nil {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
	return p, nil
}
