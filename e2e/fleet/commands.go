package fleet

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The names of a control plane's processes.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	SecondAPIServer   = "kube-apiserver-2"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	KWOK              = "kwok"
)

// ServiceRange is the range of the addresses of Services. The first one is that of the Service kubernetes.
const ServiceRange = "10.0.0.0/24"

const (
	// etcd listens on sockets in its data folder's parent and needs no ports. It wants each name to have a port.
	etcdSocket     = "etcd.sock:0"
	etcdPeerSocket = "peer.sock:0"
)

// etcd is the command of etcd. It does not wait for the disk: the data outlives a killed process all the same.
func (c *ControlPlane) etcd() command {
	peer := "unix://" + etcdPeerSocket
	return command{
		name: Etcd,
		path: filepath.Join(c.assets, Etcd),
		dir:  c.Dir,
		args: []string{
			"--data-dir=" + dataFolder,
			"--unsafe-no-fsync",
			"--listen-client-urls=unix://" + etcdSocket,
			"--advertise-client-urls=unix://" + etcdSocket,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=default=" + peer,
		},
		ready: func(ctx context.Context) error { return dialSocket(ctx, c.Dir, etcdSocket) },
	}
}

// apiServer is the command of an API server. At a loopback address it publishes no endpoints, since that is none.
func (c *ControlPlane) apiServer(name string, port int, admin *rest.Config) (command, error) {
	ready, err := respondsOK(admin, "/readyz")
	return command{
		name: name,
		path: filepath.Join(c.assets, APIServer),
		dir:  c.Dir,
		args: append([]string{
			"--etcd-servers=unix://" + etcdSocket,
			"--bind-address=" + c.address,
			"--secure-port=" + strconv.Itoa(port),
			"--endpoint-reconciler-type=" + c.endpoints(),
			"--service-cluster-ip-range=" + ServiceRange,
			"--authorization-mode=RBAC",
			"--anonymous-auth=false",
			"--client-ca-file=" + c.credentials.path(caFile),
			"--tls-cert-file=" + c.credentials.path(serverCertFile),
			"--tls-private-key-file=" + c.credentials.path(serverKeyFile),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + c.credentials.path(serviceAccountPubFile),
			"--service-account-signing-key-file=" + c.credentials.path(serviceAccountKeyFile),
			"--profiling=false",
		}, c.options.APIServerArgs...),
		env:   []string{"GOGC=400"}, // many API servers share a machine: they take memory rather than time
		ready: ready,
	}, err
}

// endpoints says how API servers publish their address.
func (c *ControlPlane) endpoints() string {
	if net.ParseIP(c.address).IsLoopback() {
		return "none"
	}
	return "lease"
}

// controllerManager is the command of kube-controller-manager, with an account for each controller as in a cluster.
func (c *ControlPlane) controllerManager(port int, kubeconfig string) (command, error) {
	ready, err := c.controllersReady(port)
	return command{
		name: ControllerManager,
		path: filepath.Join(c.assets, ControllerManager),
		dir:  c.Dir,
		args: append(c.serving(port, kubeconfig),
			slices.Concat([]string{
				"--controllers=" + strings.Join(c.options.Controllers, ","),
				"--use-service-account-credentials",
				"--root-ca-file=" + c.credentials.path(caFile),
				"--service-account-private-key-file=" + c.credentials.path(serviceAccountKeyFile),
			}, c.quotaSync(), c.options.ControllerManagerArgs)...),
		ready: ready,
	}, err
}

// scheduler is the command of kube-scheduler.
func (c *ControlPlane) scheduler(port int, kubeconfig string) (command, error) {
	ready, err := respondsOK(c.anonymous(port), "/readyz")
	return command{
		name:  Scheduler,
		path:  filepath.Join(c.assets, Scheduler),
		dir:   c.Dir,
		args:  c.serving(port, kubeconfig),
		ready: ready,
	}, err
}

// serving are the arguments that kube-controller-manager and kube-scheduler share.
func (c *ControlPlane) serving(port int, kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + c.address,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.credentials.path(serverCertFile),
		"--tls-private-key-file=" + c.credentials.path(serverKeyFile),
		"--leader-elect=false",
		"--profiling=false",
	}
}

// quotaSync is the argument for the quota controller's period, if one was asked for.
func (c *ControlPlane) quotaSync() []string {
	if c.options.ResourceQuotaSyncPeriod == 0 {
		return nil
	}
	return []string{"--resource-quota-sync-period=" + c.options.ResourceQuotaSyncPeriod.String()}
}

// anonymous leads to another server of the control plane, as nobody in particular.
func (c *ControlPlane) anonymous(port int) *rest.Config {
	return &rest.Config{Host: c.url(port), TLSClientConfig: rest.TLSClientConfig{CAData: c.credentials.ca.KeyPair.Cert}}
}

// controllersReady checks that kube-controller-manager is healthy and has made the first service account, without
// which no pod can be created.
func (c *ControlPlane) controllersReady(port int) (func(context.Context) error, error) {
	healthy, err := respondsOK(c.anonymous(port), "/healthz")
	if err != nil || !slices.Contains(c.options.Controllers, serviceAccountController) {
		return healthy, err
	}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}, nil
}

// respondsOK makes a check that a server answers a path with success.
func respondsOK(config *rest.Config, path string) (func(context.Context) error, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		body, err := client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, body)
		}
		return nil
	}, nil
}

// dialSocket checks that somebody listens on a socket in a folder. It goes through the open folder, since the path of
// a socket must not be long.
func dialSocket(ctx context.Context, folder, name string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	connection, err := new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name))
	if err != nil {
		return err
	}
	return connection.Close()
}
