package webhookconfig

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	manifests "github.com/fedquota/fedquota/config/member/webhook"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/controllers/serving"
)

// watching runs the reconciler of the rules: shares are the events that it sees, looks tells how often it has looked
// since.
func watching(t *testing.T, certificate *serving.Certificate) (shares *controllertest.FakeInformer, looks func() int) {
	t.Helper()
	scheme := schemes.All()
	informers := &informertest.FakeInformers{Scheme: scheme}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme,
		// A queue of priorities may hang as it shuts down (kubernetes-sigs/controller-runtime#3538).
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			return apimeta.NewDefaultRESTMapper(nil), nil
		},
		NewCache: func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	r := &Reconciler{Certificate: certificate, Client: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			looked++
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()}
	if err := r.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	if _, err := informers.FakeInformerFor(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{}); err != nil {
		t.Fatal(err)
	}
	shares, err = informers.FakeInformerFor(t.Context(), &quotav1alpha1.QuotaShare{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return shares, func() int {
		synctest.Wait()
		defer func() { looked = 0 }()
		return looked
	}
}

// TestWatchedShares looks at the rules when a share comes, goes, or is another one, and not at its reports of usage.
func TestWatchedShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares, looks := watching(t, &serving.Certificate{})
		looks()
		before := shareOf("a", "pods")
		reported, changed := before.DeepCopy(), shareOf("a", "pods", "services")
		reported.Status.Ping = 1
		for _, event := range []struct {
			name string
			send func()
			want int
		}{
			{name: "a creation", send: func() { shares.Add(&before) }, want: 1},
			{name: "a report", send: func() { shares.Update(&before, reported) }, want: 0},
			{name: "a change of spec under the same generation", send: func() { shares.Update(&before, &changed) }, want: 1},
			{name: "a deletion", send: func() { shares.Delete(&before) }, want: 1},
		} {
			event.send()
			if got := looks(); got != event.want {
				t.Errorf("%s: %d looks at the rules, want %d", event.name, got, event.want)
			}
		}
	})
}

// TestRulesWithoutCertificate leaves the rules as they are while this process has no certificate, and writes them once
// it has.
func TestRulesWithoutCertificate(t *testing.T) {
	template, err := serving.NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	scheme := schemes.All()
	trusting := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "pods.fedquota.io", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("of another replica")},
	}}}
	share := shareOf("a", "pods")
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(trusting, &share).Build()
	certificate := &serving.Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Secret: SecretName, Hosts: []string{"agent.system.svc"}}
	r := &Reconciler{Client: store, Template: template, Certificate: certificate}
	bundle := func() string {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(trusting)}); err != nil {
			t.Fatal(err)
		}
		stored := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(trusting), stored); err != nil {
			t.Fatal(err)
		}
		if rules := stored.Webhooks[0].Rules; len(rules) > 0 && len(certificate.Authority()) == 0 {
			t.Errorf("rules are written without an authority: %v", rules)
		}
		return string(stored.Webhooks[0].ClientConfig.CABundle)
	}
	if got := bundle(); got != "of another replica" {
		t.Errorf("API servers trust %q, while there is no certificate", got)
	}
	if err := certificate.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := bundle(); got != string(certificate.Authority()) {
		t.Errorf("API servers trust %q, want the authority", got)
	}
}

// TestWatchedCertificate looks at the rules when the authority is another one.
func TestWatchedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fake.NewClientBuilder().WithScheme(schemes.All()).Build()
		certificate := &serving.Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Secret: SecretName, Hosts: []string{"agent.system.svc"}}
		_, looks := watching(t, certificate)
		looks()
		if err := certificate.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := looks(); got != 1 {
			t.Errorf("%d looks at the rules after there is an authority, want 1", got)
		}
	})
}
