package e2e_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// proxy stands between the hub and one member.
type proxy struct{ *toxiproxy.Proxy }

// startProxies puts a proxy before each member, for the hub alone: into the kubeconfig Secret that it connects by.
func (w *world) startProxies(t *testing.T) {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w.proxies = map[string]proxy{}
	for _, m := range w.Members {
		upstream, err := url.Parse(m.Config.Host)
		if err != nil {
			t.Fatal(err)
		}
		p := toxiproxy.NewProxy(server, m.Name, "127.0.0.1:0", upstream.Host)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		w.proxies[m.Name] = proxy{p}
		if err := w.pointTo(t.Context(), m, "https://"+p.Listen); err != nil {
			t.Fatal(err)
		}
	}
}

// pointTo changes the server in a member's kubeconfig Secret.
func (w *world) pointTo(ctx context.Context, m *fleet.ControlPlane, server string) error {
	secret := &corev1.Secret{}
	if err := w.hub.Get(ctx, kubeconfigSecret(m.Name), secret); err != nil {
		return err
	}
	config, err := clientcmd.Load(secret.Data["value"])
	if err != nil {
		return err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server
	}
	if secret.Data["value"], err = clientcmd.Write(*config); err != nil {
		return err
	}
	return w.hub.Update(ctx, secret)
}

func kubeconfigSecret(cluster string) types.NamespacedName {
	return types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: cluster + "-kubeconfig"}
}

// toxic makes the way between hub and member bad in one direction ("upstream" is what the hub sends), until the
// returned function is called.
func (s *scenario) toxic(member, kind, stream string, attributes string) (remove func()) {
	s.Helper()
	s.Cleanup(func() { s.proxies[member].Toxics.ResetToxics(context.Background()) })
	mend, err := s.proxies[member].poison(kind, stream, attributes)
	s.must(err)
	return func() {
		s.Helper()
		s.must(mend(s.Context()))
	}
}

// poison makes the way bad, and returns how to make it good again.
func (p proxy) poison(kind, stream, attributes string) (mend func(context.Context) error, err error) {
	name := kind + "-" + stream
	_, err = p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"name": %q, "type": %q, "stream": %q, "toxicity": 1, "attributes": %s}`, name, kind, stream, attributes)))
	return func(ctx context.Context) error { return p.Toxics.RemoveToxic(ctx, name) }, err
}
