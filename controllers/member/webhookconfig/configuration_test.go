package webhookconfig

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	manifests "github.com/fedquota/fedquota/config/member/webhook"
)

func shareOf(namespace string, names ...corev1.ResourceName) quotav1alpha1.QuotaShare {
	share := quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
	share.Spec.Hard = corev1.ResourceList{}
	for _, name := range names {
		share.Spec.Hard[name] = resource.MustParse("1")
	}
	return share
}

// TestRulesFollowShares sees no call for a kind that no share of a namespace counts.
func TestRulesFollowShares(t *testing.T) {
	template, err := NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Template: template, Certificate: &Certificate{}}
	off := shareOf("off", "pods")
	off.Spec.Admission.Mode = quotav1alpha1.AdmissionOff
	gone := shareOf("gone", "pods")
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	tests := map[string]struct {
		shares []quotav1alpha1.QuotaShare
		want   []string
	}{
		"none":         {},
		"off or going": {shares: []quotav1alpha1.QuotaShare{off, gone}},
		"pods": {shares: []quotav1alpha1.QuotaShare{shareOf("b", "requests.cpu", "pods", "requests.nvidia.com/gpu"), shareOf("a", "limits.memory")},
			want: []string{"pods.fedquota.io [a b]: CREATE pods, UPDATE pods/resize"}},
		"each namespace its own": {shares: []quotav1alpha1.QuotaShare{
			shareOf("a", "requests.storage", "count/deployments.apps"),
			shareOf("b", "gold.storageclass.storage.k8s.io/persistentvolumeclaims", "services.nodeports", "configmaps"),
			shareOf("c", "gpu.deviceclass.resource.k8s.io/devices", "count/configmaps"),
		}, want: []string{
			"configmaps.fedquota.io [b c]: CREATE configmaps",
			"deployments.apps.fedquota.io [a]: CREATE apps/deployments",
			"persistentvolumeclaims.fedquota.io [a b]: CREATE+UPDATE persistentvolumeclaims",
			"resourceclaims.resource.k8s.io.fedquota.io [c]: CREATE+UPDATE resource.k8s.io/resourceclaims",
			"services.fedquota.io [b]: CREATE+UPDATE services",
		}},
		"a name that counts nothing": {shares: []quotav1alpha1.QuotaShare{shareOf("a", "nvidia.com/gpu", "limits.nvidia.com/gpu", "count/")}},
		"a name that no resource can have": {
			shares: []quotav1alpha1.QuotaShare{
				shareOf("a", "count/Foo.example.com", "count/pods/status", "count/.apps", "count/*.apps", "count/"+corev1.ResourceName(strings.Repeat("a", 253))),
				shareOf("b", "count/jobs.batch"),
			},
			want: []string{"jobs.batch.fedquota.io [b]: CREATE batch/jobs"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, webhook := range r.webhooks(tc.shares) {
				var rules []string
				for _, rule := range webhook.Rules {
					var operations []string
					for _, operation := range rule.Operations {
						operations = append(operations, string(operation))
					}
					rules = append(rules, strings.Join(operations, "+")+" "+strings.TrimPrefix(rule.APIGroups[0]+"/"+rule.Resources[0], "/"))
				}
				slices.Sort(rules)
				got = append(got, fmt.Sprintf("%s %v: %s", webhook.Name, webhook.NamespaceSelector.MatchExpressions[0].Values, strings.Join(rules, ", ")))
				if *webhook.FailurePolicy != "Ignore" || *webhook.SideEffects != "NoneOnDryRun" {
					t.Errorf("%s: failurePolicy %s, sideEffects %s", webhook.Name, *webhook.FailurePolicy, *webhook.SideEffects)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTimeouts has API servers wait for an agent that hangs little longer than the longest hold takes.
func TestTimeouts(t *testing.T) {
	template, err := NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	waits := func(milliseconds int32, names ...corev1.ResourceName) quotav1alpha1.QuotaShare {
		share := shareOf("a", names...)
		share.Spec.Admission.WaitMilliseconds = &milliseconds
		return share
	}
	r := &Reconciler{Template: template, Certificate: &Certificate{}}
	got := map[string]int32{}
	for _, webhook := range r.webhooks([]quotav1alpha1.QuotaShare{
		waits(1000, "pods"), waits(1001, "pods", "services"), waits(1, "configmaps"), waits(5000, "secrets"), shareOf("b", "secrets", "requests.storage"),
		waits(100000, "count/jobs.batch"),
	}) {
		got[webhook.Name] = *webhook.TimeoutSeconds
	}
	want := map[string]int32{
		"pods.fedquota.io": 4, "services.fedquota.io": 4, "configmaps.fedquota.io": 3, "secrets.fedquota.io": 7,
		"persistentvolumeclaims.fedquota.io": 3, "jobs.batch.fedquota.io": 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWebhookOfAProcess(t *testing.T) {
	template, err := NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Template: template, Certificate: &Certificate{}, URL: "https://127.0.0.1:9443"}
	shares := []quotav1alpha1.QuotaShare{shareOf("a", "pods")}
	if config := r.webhooks(shares)[0].ClientConfig; config.Service != nil || *config.URL != "https://127.0.0.1:9443/admit" {
		t.Errorf("got %+v", config)
	}
	r.URL = ""
	if config := r.webhooks(shares)[0].ClientConfig; config.URL != nil || config.Service.Name != "fedquota-agent" || *config.Service.Path != Path {
		t.Errorf("got %+v", config)
	}
}

// TestCertificate has replicas share one certificate, and renew it while the one before is trusted on.
func TestCertificate(t *testing.T) {
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	clk := testingclock.NewFakeClock(time.Now())
	replica := func(hosts ...string) *Certificate {
		return &Certificate{Client: store, Live: store, Clock: clk, Namespace: "system", Hosts: hosts}
	}
	serving := func(c *Certificate) string {
		t.Helper()
		if err := c.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		pair, err := c.Serving(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(pair.Leaf.Raw)
	}
	first, second := replica("agent.system.svc"), replica("agent.system.svc")
	if _, err := first.Serving(nil); err == nil {
		t.Error("it serves with nothing")
	}
	first.Lifetime = renewBefore + 48*time.Hour
	old := serving(first)
	if serving(second) != old {
		t.Error("two replicas serve with two certificates")
	}
	clk.Step(72 * time.Hour)
	if serving(second) != old || serving(first) != old {
		t.Error("a new certificate is served before API servers can know it")
	}
	for _, c := range []*Certificate{first, second} {
		if got := strings.Count(string(c.Authority()), "BEGIN CERTIFICATE"); got != 2 {
			t.Errorf("%d authorities are trusted after a renewal, want the old one too", got)
		}
	}
	renewed := serving(replica("agent.system.svc"))
	if renewed == old {
		t.Error("a certificate that ends soon is kept")
	}
	clk.Step(rolloutTime)
	if serving(second) != renewed || serving(first) != renewed {
		t.Error("a new certificate is not served")
	}
	if serving(replica("127.0.0.1")) == renewed {
		t.Error("a certificate for other hosts is kept")
	}
	secret := &corev1.Secret{}
	if err := store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = nil
	if err := store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if serving(replica("agent.system.svc")) == renewed || serving(second) == renewed {
		t.Error("an empty Secret is not repaired, or a certificate is served that is not trusted any more")
	}
}

// TestDeletedCertificate has an agent that runs make a new Secret for one that somebody deleted or emptied: API servers trust what it
// serves on, and are told of the new authority at once.
func TestDeletedCertificate(t *testing.T) {
	for name, spoil := range map[string]func(client.Client, *corev1.Secret) error{
		"deleted": func(store client.Client, secret *corev1.Secret) error { return store.Delete(t.Context(), secret) },
		"emptied": func(store client.Client, secret *corev1.Secret) error {
			secret.Data = nil
			return store.Update(t.Context(), secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
			c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Hosts: []string{"agent.system.svc"}}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			told := func() int {
				events := len(c.Changes())
				for range events {
					<-c.Changes()
				}
				return events
			}
			must(c.Ensure(t.Context()))
			if told() != 1 {
				t.Error("nobody is told of the first authority")
			}
			must(c.Ensure(t.Context()))
			if told() != 0 {
				t.Error("an event tells of nothing new")
			}
			before, err := c.Serving(nil)
			must(err)
			secret := &corev1.Secret{}
			must(store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: SecretName}, secret))
			must(spoil(store, secret))
			must(c.Ensure(t.Context()))
			if after, err := c.Serving(nil); err != nil || !after.Leaf.Equal(before.Leaf) {
				t.Errorf("it serves with what API servers cannot know yet: %v", err)
			}
			if err := trusted(before, c.Authority(), time.Now()); err != nil {
				t.Errorf("what is served is not trusted: %v", err)
			}
			if told() != 1 {
				t.Error("nobody is told of the new authority")
			}
		})
	}
}

// TestCertificateTriedAgain has a process go on and try again soon where the Secret cannot be written, and keep the type of one that
// somebody made: API servers let nobody change it.
func TestCertificateTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals := 2
		store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: SecretName}, Type: corev1.SecretTypeOpaque,
		}).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				if secret := obj.(*corev1.Secret); refusals > 0 || secret.Type != corev1.SecretTypeOpaque {
					refusals--
					return errors.New("refused")
				}
				return c.Update(ctx, obj, opts...)
			},
		}).Build()
		c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Hosts: []string{"agent.system.svc"}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Start(ctx) }()
		for _, want := range []bool{false, false, true} {
			synctest.Wait()
			if _, err := c.Serving(nil); (err == nil) != want {
				t.Errorf("after %d refusals it serves: %t, want %t", 2-refusals, err == nil, want)
			}
			time.Sleep(retryInterval)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestCertificateOfAClockAhead has a replica make the certificate by a clock that is ahead: those whose clock is right do not wait for
// the time from which it is valid.
func TestCertificateOfAClockAhead(t *testing.T) {
	at := func(ahead time.Duration, do func(t *testing.T)) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(ahead)
			do(t)
		})
	}
	ensure := func(t *testing.T, secrets ...*corev1.Secret) (*corev1.Secret, *x509.Certificate) {
		t.Helper()
		store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
		for _, secret := range secrets {
			secret.ResourceVersion = ""
			if err := store.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Hosts: []string{"agent.system.svc"}}
		if err := c.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored := &corev1.Secret{}
		if err := store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: SecretName}, stored); err != nil {
			t.Fatal(err)
		}
		pair, err := c.Serving(nil)
		if err != nil {
			t.Fatal(err)
		}
		return stored, pair.Leaf
	}
	var secret *corev1.Secret
	at(24*time.Hour, func(t *testing.T) { secret, _ = ensure(t) })
	at(0, func(t *testing.T) {
		if _, leaf := ensure(t, secret); leaf.NotBefore.After(time.Now()) {
			t.Errorf("it serves what is valid from %s at %s", leaf.NotBefore, time.Now())
		}
	})
}
