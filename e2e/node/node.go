package node

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// The names of a node's processes.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
)

const (
	// pluginsFolder is where Debian's containernetworking-plugins are.
	pluginsFolder = "/usr/lib/cni"
	// Address is the node's address in the sandbox. API servers listen on it, too.
	Address = "10.89.0.1"
	// Name is the node's name.
	Name = "node-1"

	device    = "node0"
	socket    = "/run/containerd/containerd.sock"
	proxyPort = "10256"
)

// Options says which node to start.
type Options struct {
	// Programs is the folder of kubelet and kube-proxy.
	Programs string
	// Pause is the image that holds the namespaces of each pod.
	Pause string
	// Archives are the files of the images, in the OCI's layout. No other image can be had.
	Archives []string
}

// Node is a running node.
type Node struct {
	// Dir is the folder with its configuration. LogsDir has the logs of all pods.
	Dir, LogsDir string

	options    Options
	fleet      *fleet.Fleet
	plane      *fleet.ControlPlane
	kubeconfig string // kubelet's
}

// Start starts the node of a control plane and returns when pods can run on it. It ends with the fleet.
func Start(ctx context.Context, f *fleet.Fleet, plane *fleet.ControlPlane, options Options) (*Node, error) {
	if os.Getenv(cgroupVariable) == "" {
		return nil, errors.New("a node can be started in a sandbox alone")
	}
	dir := filepath.Join(f.Dir, Name)
	n := &Node{Dir: dir, LogsDir: filepath.Join(dir, "pods"), options: options, fleet: f, plane: plane}
	for _, step := range []func(context.Context) error{n.configure, n.startContainerd, n.load, n.startKubelet, n.startProxy} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("node %s: %w", Name, err)
		}
	}
	return n, nil
}

//go:embed config
var configuration embed.FS

// configure writes the configuration of all programs.
func (n *Node) configure(context.Context) error {
	files, err := template.ParseFS(configuration, "config/*")
	if err != nil {
		return err
	}
	if n.kubeconfig, err = n.plane.UserKubeconfig("system:node:"+Name, "system:nodes"); err != nil {
		return err
	}
	proxy, err := n.plane.UserKubeconfig("system:" + KubeProxy)
	if err != nil {
		return err
	}
	values := map[string]string{
		"Address": Address, "Socket": socket, "Plugins": pluginsFolder, "Dir": n.Dir, "Logs": n.LogsDir, "Pause": n.options.Pause,
		"CA": n.plane.CAFile(), "Cgroup": os.Getenv(cgroupVariable), "Proxy": proxy, "ProxyPort": proxyPort,
	}
	for _, file := range files.Templates() {
		path := filepath.Join(n.Dir, file.Name())
		if file.Name() == "bridge.conflist" {
			path = filepath.Join(n.Dir, "cni", file.Name())
		}
		if err := write(path, file, values); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file from a template.
func write(path string, file *template.Template, values any) error {
	var content bytes.Buffer
	if err := file.Execute(&content, values); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content.Bytes(), 0o600)
}

// startContainerd starts containerd.
func (n *Node) startContainerd(ctx context.Context) error {
	path, err := exec.LookPath(Containerd)
	if err != nil {
		return err
	}
	_, err = n.fleet.Run(ctx, fleet.Program{
		Name:  Containerd,
		Path:  path,
		Args:  []string{"--config=" + filepath.Join(n.Dir, "containerd.toml")},
		Ready: func(ctx context.Context) error { return n.ctr(ctx, "images", "list", "--quiet") },
	})
	return err
}

// load imports the images.
func (n *Node) load(ctx context.Context) error {
	for _, archive := range n.options.Archives {
		if err := n.Import(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// Import imports the images of an archive.
func (n *Node) Import(ctx context.Context, archive string) error {
	return n.ctr(ctx, "images", "import", archive)
}

// ctr runs a command of containerd's client.
func (n *Node) ctr(ctx context.Context, args ...string) error {
	args = append([]string{"--address=" + socket, "--namespace=k8s.io"}, args...)
	if output, err := exec.CommandContext(ctx, "ctr", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %v: %w: %s", args, err, output)
	}
	return nil
}

// startKubelet starts kubelet and waits until the node is ready.
func (n *Node) startKubelet(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(n.plane.Config)
	if err != nil {
		return err
	}
	_, err = n.fleet.Run(ctx, fleet.Program{
		Name: Kubelet,
		Path: filepath.Join(n.options.Programs, Kubelet),
		Args: []string{
			"--config=" + filepath.Join(n.Dir, "kubelet.yaml"),
			"--kubeconfig=" + n.kubeconfig,
			"--hostname-override=" + Name,
			"--node-ip=" + Address,
		},
		Ready: func(ctx context.Context) error { return ready(ctx, client) },
	})
	return err
}

// ready says why the node is not ready.
func ready(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
			return nil
		}
	}
	return fmt.Errorf("it is not ready: %+v, taints %+v", node.Status.Conditions, node.Spec.Taints)
}

// startProxy starts kube-proxy and waits until it has written its rules.
func (n *Node) startProxy(ctx context.Context) error {
	_, err := n.fleet.Run(ctx, fleet.Program{
		Name:  KubeProxy,
		Path:  filepath.Join(n.options.Programs, KubeProxy),
		Args:  []string{"--config=" + filepath.Join(n.Dir, "proxy.yaml"), "--hostname-override=" + Name},
		Ready: proxyReady,
	})
	return err
}

// proxyReady says why kube-proxy is not healthy.
func proxyReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+Address+":"+proxyPort+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
