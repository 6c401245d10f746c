package member

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// watching runs the reconciler of the rules: shares are the events that it sees, looks tells how often it has looked since.
func watching(t *testing.T, certificate *Certificate) (shares *controllertest.FakeInformer, looks func() int) {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(quotav1alpha1.AddToScheme(scheme))
	informers := &informertest.FakeInformers{Scheme: scheme}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme:         scheme,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	r := &ConfigurationReconciler{Certificate: certificate, Client: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
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
		shares, looks := watching(t, &Certificate{})
		looks()
		before := shareOf("a", "pods")
		reported, changed := before.DeepCopy(), shareOf("a", "pods", "services")
		reported.Status.Asked = 1
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
