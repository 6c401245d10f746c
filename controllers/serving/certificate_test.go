package serving

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const secretName = "cert"

// TestCertificate has replicas share one certificate, and renew it while the one before is trusted on.
func TestCertificate(t *testing.T) {
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	clk := testingclock.NewFakeClock(time.Now())
	replica := func(hosts ...string) *Certificate {
		return &Certificate{Client: store, Live: store, Clock: clk, Namespace: "system", Secret: secretName, Hosts: hosts}
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
	if err := store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: secretName}, secret); err != nil {
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

// TestProvidedCertificate serves with what somebody else keeps in the Secret, as long as it lives, and writes nothing.
func TestProvidedCertificate(t *testing.T) {
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	clk := testingclock.NewFakeClock(time.Now())
	provided := &Certificate{Client: nil, Live: store, Clock: clk, Namespace: "system", Secret: secretName, Hosts: []string{"agent.system.svc"}, Provided: true}
	if err := provided.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "secret system/cert is to be provided with tls.crt, tls.key and ca.crt") {
		t.Errorf("without a Secret: %v", err)
	}
	maker := &Certificate{Client: store, Live: store, Clock: clk, Namespace: "system", Secret: secretName, Hosts: provided.Hosts, Lifetime: renewBefore + 48*time.Hour}
	if err := maker.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	clk.Step(72 * time.Hour) // its maker would renew it now
	if err := provided.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	pair, err := provided.Serving(nil)
	if err != nil {
		t.Fatal(err)
	}
	clk.Step(renewBefore)
	if err := provided.Ensure(t.Context()); err == nil {
		t.Error("a certificate that has ended is no error")
	}
	if again, err := provided.Serving(nil); err != nil || again != pair {
		t.Errorf("the certificate at hand is not served on: %v", err)
	}
	other := &Certificate{Live: store, Clock: testingclock.NewFakeClock(time.Now()), Namespace: "system", Secret: secretName, Hosts: []string{"other"}, Provided: true}
	if err := other.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("a certificate for another host: %v", err)
	}
}

// TestDeletedCertificate has an agent that runs make a new Secret for one that somebody deleted or emptied: API servers
// trust what it serves on, and are told of the new authority at once.
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
			c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Secret: secretName, Hosts: []string{"agent.system.svc"}}
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
			must(store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: secretName}, secret))
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

// TestCertificateTriedAgain has a process go on and try again soon where the Secret cannot be written, and keep the
// type of one that somebody made: API servers let nobody change it.
func TestCertificateTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusals := 2
		store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: secretName}, Type: corev1.SecretTypeOpaque,
		}).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				if secret := obj.(*corev1.Secret); refusals > 0 || secret.Type != corev1.SecretTypeOpaque {
					refusals--
					return errors.New("refused")
				}
				return c.Update(ctx, obj, opts...)
			},
		}).Build()
		c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Secret: secretName, Hosts: []string{"agent.system.svc"}}
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

// TestCertificateOfAClockAhead has a replica make the certificate by a clock that is ahead: those whose clock is right
// do not wait for the time from which it is valid.
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
		c := &Certificate{Client: store, Live: store, Clock: clock.RealClock{}, Namespace: "system", Secret: secretName, Hosts: []string{"agent.system.svc"}}
		if err := c.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored := &corev1.Secret{}
		if err := store.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: secretName}, stored); err != nil {
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
