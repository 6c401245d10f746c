package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	karmadaModule = "github.com/karmada-io/karmada"
	karmadaSystem = "karmada-system"
	// karmadaClusters is the namespace of what leads to the members.
	karmadaClusters = "karmada-cluster"

	aggregatedServer = "karmada-aggregated-apiserver"
	frontProxy       = "front-proxy-client"
)

// karmada is a FederatedResourceQuota with static assignments. Its control plane runs on the hub.
type karmada struct {
	*world

	source string // the folder of the module
	built  string // the folder of the programs
	pki    string // the folder of what they show each other
}

func startKarmada(ctx context.Context, w *world) (way, error) {
	options, err := w.options()
	if err != nil {
		return nil, err
	}
	k := &karmada{world: w, pki: filepath.Join(options.Root, "bin", "bench", "karmada-pki")}
	if k.source, err = fleet.ModuleDir(ctx, filepath.Join(options.Root, "hack", "karmada"), karmadaModule); err != nil {
		return nil, err
	}
	_, version, _ := strings.Cut(filepath.Base(k.source), "@")
	k.built = filepath.Join(options.Root, "bin", "karmada", version)
	if err := k.certify(); err != nil {
		return nil, err
	}
	options.Fleet.Hub.APIServerArgs = []string{
		"--requestheader-client-ca-file=" + k.file("front-proxy-ca.crt"),
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + k.file("front-proxy.crt"),
		"--proxy-client-key-file=" + k.file("front-proxy.key"),
	}
	if err := w.bare(ctx, options); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		k.install, k.serveClusters, k.runWebhook, k.runControllers, k.join,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *karmada) file(name string) string { return filepath.Join(k.pki, name) }

// certify makes what the API server shows the aggregated one, and what that one and the webhook show.
func (k *karmada) certify() error {
	const algorithm = bootstrapv1.EncryptionAlgorithmECDSAP256
	ca := &secret.Certificate{Purpose: secret.FrontProxyCA, KeyEncryptionAlgorithm: algorithm}
	if err := ca.Generate(); err != nil {
		return err
	}
	caCert, errCert := certs.DecodeCertPEM(ca.KeyPair.Cert)
	caKey, errKey := certs.DecodePrivateKeyPEM(ca.KeyPair.Key)
	key, err := certs.NewSigner(algorithm)
	if err := errors.Join(errCert, errKey, err); err != nil {
		return err
	}
	config := certs.Config{CommonName: frontProxy, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	signed, err := config.NewSignedCert(key, caCert, caKey)
	if err != nil {
		return err
	}
	encoded, err := certs.EncodePrivateKeyPEMFromSigner(key)
	if err != nil {
		return err
	}
	served, servedKey, err := cert.GenerateSelfSignedCertKey(
		"127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, []string{aggregatedServer + "." + karmadaSystem + ".svc"},
	)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.pki, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"front-proxy-ca.crt": ca.KeyPair.Cert, "front-proxy.crt": certs.EncodeCertPEM(signed), "front-proxy.key": encoded,
		"tls.crt": served, "tls.key": servedKey,
	} {
		err = errors.Join(err, os.WriteFile(k.file(name), data, 0o600))
	}
	return err
}

// install installs Karmada's CRDs and namespaces.
func (k *karmada) install(ctx context.Context) error {
	k.progress("installing Karmada's CRDs")
	crds, err := filepath.Glob(filepath.Join(k.source, "charts", "karmada", "_crds", "bases", "*", "*.yaml"))
	if err != nil {
		return err
	}
	options := envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(k.Hub.Config, options); err != nil {
		return err
	}
	for _, name := range []string{karmadaSystem, karmadaClusters} {
		if err := k.HubClient.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

// run runs one of Karmada's programs on the hub, as its administrator.
func (k *karmada) run(ctx context.Context, name string, args ...string) (*fleet.Process, error) {
	return k.Run(ctx, fleet.Program{
		Name: "karmada-" + name, Path: filepath.Join(k.built, name),
		Args: append([]string{"--kubeconfig=" + k.Hub.Kubeconfig, "--v=2"}, args...),
	})
}

// address is a free one, as host:port.
func address(ctx context.Context) (host string, port int, err error) {
	port, err = fleet.FreePort(ctx)
	return fmt.Sprintf("127.0.0.1:%d", port), port, err
}

// serveClusters runs the aggregated API server, which serves the kind Cluster.
func (k *karmada) serveClusters(ctx context.Context) error {
	_, port, err := address(ctx)
	if err != nil {
		return err
	}
	_, err = k.run(ctx, "aggregated-apiserver",
		"--authentication-kubeconfig="+k.Hub.Kubeconfig,
		"--authorization-kubeconfig="+k.Hub.Kubeconfig,
		"--etcd-servers=unix://"+fleet.HubName+"/etcd.sock:0", // from the fleet's folder, where programs run
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file="+k.file("tls.crt"), "--tls-private-key-file="+k.file("tls.key"),
	)
	if err != nil {
		return err
	}
	if err := k.HubClient.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: karmadaSystem, Name: aggregatedServer},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}); err != nil {
		return err
	}
	ca, err := os.ReadFile(k.file("tls.crt"))
	if err != nil {
		return err
	}
	if err := k.HubClient.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1alpha1.cluster.karmada.io"},
		"spec": map[string]any{
			"group": "cluster.karmada.io", "version": "v1alpha1",
			"groupPriorityMinimum": int64(2000), "versionPriority": int64(10),
			"caBundle": base64.StdEncoding.EncodeToString(ca),
			"service":  map[string]any{"namespace": karmadaSystem, "name": aggregatedServer, "port": int64(port)},
		},
	}}); err != nil {
		return err
	}
	return rig.Until(ctx, "Karmada's kind Cluster", func(ctx context.Context) (bool, error) {
		clusters := &unstructured.UnstructuredList{Object: map[string]any{
			"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "ClusterList",
		}}
		return k.HubClient.List(ctx, clusters) == nil, nil
	})
}

// runWebhook runs the webhook, and has the API server call it for all that Karmada's own manifest says.
func (k *karmada) runWebhook(ctx context.Context) error {
	served, port, err := address(ctx)
	if err != nil {
		return err
	}
	metrics, _, errMetrics := address(ctx)
	health, _, errHealth := address(ctx)
	if err := errors.Join(errMetrics, errHealth); err != nil {
		return err
	}
	p, err := k.run(ctx, "webhook",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+k.pki,
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+health)
	if err != nil {
		return err
	}
	k.programs = append(k.programs, p)
	manifest, err := os.ReadFile(filepath.Join(k.source, "artifacts", "deploy", "webhook-configuration.yaml"))
	ca, errCA := os.ReadFile(k.file("tls.crt"))
	if err := errors.Join(err, errCA); err != nil {
		return err
	}
	manifest = bytes.ReplaceAll(manifest, []byte("karmada-webhook.karmada-system.svc:443"), []byte(served))
	manifest = bytes.ReplaceAll(manifest, []byte("{{caBundle}}"), []byte(base64.StdEncoding.EncodeToString(ca)))
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest))
	for range 2 { // one that mutates, and one that validates
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			return err
		}
		if err := k.HubClient.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// runControllers runs the controller manager with the settings of Karmada's chart, but that nobody is elected.
func (k *karmada) runControllers(ctx context.Context) error {
	metrics, _, errMetrics := address(ctx)
	health, _, errHealth := address(ctx)
	if err := errors.Join(errMetrics, errHealth); err != nil {
		return err
	}
	p, err := k.run(ctx, "controller-manager", "--cluster-status-update-frequency=10s", "--leader-elect=false",
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+health)
	k.programs = append(k.programs, p)
	return err
}

// join joins the members in mode Push, each by the token of an administrator's service account.
func (k *karmada) join(ctx context.Context) error {
	k.progress("joining the members")
	for _, m := range k.members {
		if err := k.joinOne(ctx, k.Member(m)); err != nil {
			return fmt.Errorf("join %s: %w", m, err)
		}
	}
	for _, m := range k.members {
		if err := rig.Until(ctx, "Karmada to find "+m+" ready", func(ctx context.Context) (bool, error) {
			return k.ready(ctx, m)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (k *karmada) joinOne(ctx context.Context, m *fleet.ControlPlane) error {
	about := metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "karmada"}
	account := &corev1.ServiceAccount{ObjectMeta: about}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "karmada"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: about.Namespace, Name: about.Name}},
	}
	c := k.Clients[m.Name]
	if err := errors.Join(c.Create(ctx, account), c.Create(ctx, binding)); err != nil {
		return err
	}
	path := filepath.Join(m.Dir, "karmada.kubeconfig")
	if err := m.ServiceAccountKubeconfig(ctx, about.Namespace, about.Name, path); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	if err := k.HubClient.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: karmadaClusters, Name: m.Name},
		Data:       map[string][]byte{"token": []byte(config.BearerToken), "caBundle": config.CAData},
	}); err != nil {
		return err
	}
	cluster := clusterOf(m.Name)
	cluster.Object["spec"] = map[string]any{
		"syncMode": "Push", "apiEndpoint": k.proxied(m.Name),
		"secretRef": map[string]any{"namespace": karmadaClusters, "name": m.Name},
	}
	return k.HubClient.Create(ctx, cluster)
}

func clusterOf(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": name},
	}}
}

func (k *karmada) ready(ctx context.Context, member string) (bool, error) {
	cluster := clusterOf(member)
	if err := k.HubClient.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return false, err
	}
	conditions, _, err := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	}), err
}

// create makes the namespace, which Karmada makes in the members, and the FederatedResourceQuota.
func (k *karmada) create(ctx context.Context, s split) error {
	if err := k.HubClient.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for _, m := range k.members {
		// One that Karmada has not made itself it would leave alone, and try again and again.
		err := rig.Until(ctx, "Karmada's namespace in "+m, func(ctx context.Context) (bool, error) {
			err := k.Clients[m].Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})
			return err == nil, client.IgnoreNotFound(err)
		})
		if err := errors.Join(err, k.Namespace(ctx, m, namespace)); err != nil {
			return err
		}
	}
	frq := federated()
	k.assign(frq, s)
	if err := k.HubClient.Create(ctx, frq); err != nil {
		return err
	}
	for _, m := range k.members {
		if err := rig.Until(ctx, "the ResourceQuota in "+m, func(ctx context.Context) (bool, error) {
			quota, err := k.quota(ctx, m)
			return len(quota.Status.Used) > 0, client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

func federated() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
		"metadata": map[string]any{"namespace": namespace, "name": rig.QuotaName},
	}}
}

// assign puts the whole budget and the parts into the spec.
func (k *karmada) assign(frq *unstructured.Unstructured, s split) {
	var assignments []any
	for i, part := range s.parts() {
		assignments = append(assignments, map[string]any{
			"clusterName": k.members[i], "hard": map[string]any{string(rig.CPU): milli(part)},
		})
	}
	frq.Object["spec"] = map[string]any{
		"overall": map[string]any{string(rig.CPU): milli(s.budget)}, "staticAssignments": assignments,
	}
}

func (k *karmada) change(ctx context.Context, s split) error {
	frq := federated()
	if err := k.HubClient.Get(ctx, client.ObjectKeyFromObject(frq), frq); err != nil {
		return err
	}
	before := frq.DeepCopy()
	k.assign(frq, s)
	return k.HubClient.Patch(ctx, frq, client.MergeFrom(before))
}
