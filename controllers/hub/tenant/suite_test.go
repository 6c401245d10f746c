package tenant

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// config is how to reach the API server that TestMain started, if its programs are at hand.
var config *rest.Config

func TestMain(m *testing.M) {
	crds := []string{apiserver.CRD("federatedquotas"), apiserver.CRD("quotapools")}
	os.Exit(apiserver.Run(m, apiserver.Options{Files: crds}, func(env *envtest.Environment) error {
		config = env.Config
		return nil
	}))
}

// hub is a hub whose pools and namespaces have names that begin with that of the test.
type hub struct {
	*testing.T
	client.Client

	own string
	r   *Reconciler
}

func newHub(t *testing.T) *hub {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	c, err := client.New(config, client.Options{Scheme: schemes.All()})
	h := &hub{T: t, Client: c, own: strings.ToLower(t.Name())}
	h.must(err)
	h.r = &Reconciler{Client: c, Live: c, AgentNamespace: "fedquota-system"}
	return h
}

func (h *hub) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// named puts the name of the test in the place of OWN.
func (h *hub) named(text string) string { return strings.ReplaceAll(text, "OWN", h.own) }

// pool creates a pool of the spec that the YAML says, or changes it to that. It is gone when the test ends.
func (h *hub) pool(name, spec string) *quotav1alpha1.QuotaPool {
	h.Helper()
	p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: h.named(name)}}
	err := h.Get(h.Context(), client.ObjectKeyFromObject(p), p)
	h.must(client.IgnoreNotFound(err))
	p.Spec = quotav1alpha1.QuotaPoolSpec{}
	h.must(yaml.UnmarshalStrict([]byte(h.named(spec)), &p.Spec))
	if err == nil {
		h.must(h.Update(h.Context(), p))
		return p
	}
	h.must(h.Create(h.Context(), p))
	h.Cleanup(func() { h.gone(p) })
	return p
}

// namespace creates a namespace with labels, each as "key=value", or gives it these.
func (h *hub) namespace(name string, labels ...string) {
	h.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.own + "-" + name}}
	err := h.Get(h.Context(), client.ObjectKeyFromObject(n), n)
	h.must(client.IgnoreNotFound(err))
	n.Labels = map[string]string{}
	for _, label := range labels {
		key, value, _ := strings.Cut(h.named(label), "=")
		n.Labels[key] = value
	}
	if err == nil {
		h.must(h.Update(h.Context(), n))
	} else {
		h.must(h.Create(h.Context(), n))
	}
}

// round looks at a namespace, and returns what it says of the FederatedQuotas there, each as "name pool pods state".
func (h *hub) round(namespace string) string {
	h.Helper()
	namespace = h.own + "-" + namespace
	_, err := h.r.Reconcile(h.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: namespace}})
	h.must(err)
	var quotas quotav1alpha1.FederatedQuotaList
	h.must(h.List(h.Context(), &quotas, client.InNamespace(namespace)))
	var lines []string
	for i := range quotas.Items {
		fq := &quotas.Items[i]
		limit := fq.Spec.Hard["pods"]
		line := fmt.Sprintf("%s %s %s", fq.Name, membership.PoolOf(fq), limit.String())
		if !fq.DeletionTimestamp.IsZero() {
			line += " leaving"
		}
		lines = append(lines, strings.ReplaceAll(line, h.own, "OWN"))
	}
	return strings.Join(lines, ", ")
}

// quota returns a FederatedQuota.
func (h *hub) quota(namespace, name string) *quotav1alpha1.FederatedQuota {
	h.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	h.must(h.Get(h.Context(), client.ObjectKey{Namespace: h.own + "-" + namespace, Name: name}, fq))
	return fq
}

// makes creates a FederatedQuota of a person.
func (h *hub) makes(namespace, name, spec string) *quotav1alpha1.FederatedQuota {
	h.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: h.own + "-" + namespace, Name: name}}
	h.must(yaml.UnmarshalStrict([]byte(h.named(spec)), &fq.Spec))
	h.must(h.Create(h.Context(), fq))
	return fq
}

// uses has the FederatedQuota of a namespace be in its pool, and have granted so many pods.
func (h *hub) uses(namespace, pods string) {
	h.Helper()
	fq := h.quota(namespace, "budget")
	fq.Finalizers = []string{quotav1alpha1.Finalizer}
	h.must(h.Update(h.Context(), fq))
	h.must(yaml.UnmarshalStrict([]byte(`{observedGeneration: 1, revision: 3, granted: {pods: `+pods+`, services: 9},
pool: {name: `+membership.PoolOf(fq)+`, uid: u, tenure: 1, revision: 3, cap: {pods: 0}}}`), &fq.Status))
	h.must(h.Status().Update(h.Context(), fq))
}

// gone deletes a pool, and takes off its finalizers.
func (h *hub) gone(p *quotav1alpha1.QuotaPool) {
	ctx := context.WithoutCancel(h.Context())
	if err := h.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return
	}
	p.Finalizers = nil
	h.must(h.Update(ctx, p))
	h.must(client.IgnoreNotFound(h.Delete(ctx, p)))
}

// reports returns what is reported of a pool.
func (h *hub) reports(pool string) string {
	h.Helper()
	h.r.findings.whole = true // other tests have namespaces, too
	report, err := h.r.Report(h.Context(), h.named(pool))
	h.must(err)
	return strings.ReplaceAll(strings.Join(append([]string{fmt.Sprintf("%d/%d", report.Kept, report.Selected)}, report.LeftOut...), "\n"), h.own, "OWN")
}

// Config returns how to reach the API server, and ends the test if there is none.
func Config(t *testing.T) *rest.Config {
	t.Helper()
	return newHub(t).config()
}

func (*hub) config() *rest.Config { return config }
