package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
)

const (
	clusterNamespace = "default"
	agentNamespace   = "fedquota-system"
)

// config is how to reach the API server that TestMain started with the webhook served, if its programs are at hand.
var config *rest.Config

// cached reads what the webhook sees.
var cached client.Reader

func TestMain(m *testing.M) {
	os.Exit(apiserver.RunOn(m, serve))
}

// serve starts an API server that calls the webhook, and the webhook.
func serve() (stop func() error, err error) {
	env, err := apiserver.New(apiserver.Options{
		ClusterAPI: []string{"clusters"},
		Files:      []string{apiserver.CRD("federatedquotas"), apiserver.CRD("quotapools"), apiserver.CRD("quotarequirements")},
	})
	if err != nil {
		return env.Stop, err
	}
	env.WebhookInstallOptions = envtest.WebhookInstallOptions{Paths: []string{"../../config/webhook/manifests.yaml"}, MaxTime: 2 * time.Minute}
	if config, err = env.Start(); err != nil {
		return env.Stop, err
	}
	config.QPS = -1
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	stop = func() error {
		cancel()
		return errors.Join(<-ended, env.Stop())
	}
	mgr, err := newManager(&env.WebhookInstallOptions)
	if err != nil {
		ended <- nil
		return stop, err
	}
	cached = mgr.GetCache()
	go func() { ended <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return stop, errors.New("the cache did not fill")
	}
	return stop, answers(ctx, &env.WebhookInstallOptions)
}

// newManager returns a manager that serves the webhook where the API server calls it.
func newManager(at *envtest.WebhookInstallOptions) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: schemes.All(), Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: at.LocalServingHost, Port: at.LocalServingPort, CertDir: at.LocalServingCertDir}),
	})
	if err != nil {
		return nil, err
	}
	v := &Validator{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Clusters: members.Namespaces{Home: clusterNamespace}, AgentNamespace: agentNamespace, Serves: widgetsInWest}
	Quoter{}.SetupWithManager(mgr)
	v.SetupWithManager(mgr)
	(&PoolValidator{Reader: mgr.GetClient(), Clusters: members.Namespaces{Home: clusterNamespace}, AgentNamespace: agentNamespace}).SetupWithManager(mgr)
	(&RequirementValidator{Reader: mgr.GetClient(), Clusters: members.Namespaces{Home: clusterNamespace}}).SetupWithManager(mgr)
	return mgr, nil
}

// widgetsInWest supposes that clusters serve what Kubernetes does, and those named west widgets, too.
func widgetsInWest(_ context.Context, cluster string, resource schema.GroupResource) (bool, error) {
	return resource.Group != "example.com" || resource.Resource == "widgets" && strings.HasSuffix(cluster, "west"), nil
}

// webhookConfiguration is the one by which the API server calls the webhook.
func webhookConfiguration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-hub"}}
}

// answers waits until the webhook is served.
func answers(ctx context.Context, at *envtest.WebhookInstallOptions) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it only asks whether somebody answers
	for {
		connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", at.LocalServingHost, at.LocalServingPort))
		if err == nil {
			return connection.Close()
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// door is a client of the API server in a namespace of its own, which keeps what it is warned of.
type door struct {
	*testing.T
	client.Client

	namespace string
	mutex     sync.Mutex
	warnings  []string
}

// HandleWarningHeader keeps a warning.
func (d *door) HandleWarningHeader(_ int, _, text string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.warnings = append(d.warnings, text)
}

// warned returns the warnings since it was asked last, a line for each.
func (d *door) warned() string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	warnings := d.warnings
	d.warnings = nil
	return strings.ReplaceAll(strings.Join(warnings, "\n"), d.namespace, "OWN")
}

func newDoor(t *testing.T) *door {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	d := &door{T: t}
	own := rest.CopyConfig(config)
	own.WarningHandler = d
	var err error
	if d.Client, err = client.New(own, client.Options{Scheme: schemes.All()}); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	d.must(d.Create(t.Context(), namespace))
	d.namespace = namespace.Name
	return d
}

func (d *door) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// cluster creates a Cluster with a label of the door's own, which the webhook has seen.
func (d *door) cluster(name string) {
	d.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: clusterNamespace, Name: d.namespace + "-" + name, Labels: map[string]string{"of": d.namespace, "name": name},
	}}
	cluster.Spec.ControlPlaneRef.APIGroup, cluster.Spec.ControlPlaneRef.Kind, cluster.Spec.ControlPlaneRef.Name = "example.com", "ControlPlane", name
	d.must(d.Create(d.Context(), cluster))
	d.Cleanup(func() { d.must(d.Delete(context.Background(), cluster)) })
	d.seen(cluster)
}

// seen waits until the webhook knows an object.
func (d *door) seen(object client.Object) {
	d.Helper()
	known := object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // copies of objects are objects
	for {
		err := cached.Get(d.Context(), client.ObjectKeyFromObject(object), known)
		if err == nil && known.GetResourceVersion() == object.GetResourceVersion() {
			return
		}
		if d.Context().Err() != nil || client.IgnoreNotFound(err) != nil {
			d.Fatalf("not seen: %v", err)
		}
	}
}

// quota returns a FederatedQuota with the spec that the YAML says, which may hold what the Go types cannot.
func (d *door) quota(name, spec string) *unstructured.Unstructured {
	d.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
	object.SetNamespace(d.namespace)
	object.SetName(name)
	d.setSpec(object, spec)
	return object
}

func (d *door) setSpec(object *unstructured.Unstructured, spec string) {
	d.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "OWN", d.namespace)), &content); err != nil {
		d.Fatalf("%s: %v", spec, err)
	}
	object.Object["spec"] = content
}

// refusal returns why the API server refused, a line for each cause; nothing if it did not.
func (d *door) refusal(err error) string {
	d.Helper()
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || !apierrors.IsInvalid(err) {
		d.Fatalf("not refused as invalid: %v", err)
	}
	var lines []string
	for _, cause := range status.Status().Details.Causes {
		lines = append(lines, strings.ReplaceAll(fmt.Sprintf("%s: %s", cause.Field, cause.Message), d.namespace, "OWN"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
