package setup

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fedquota/fedquota/controllers/serving"
	"github.com/fedquota/fedquota/internal/pace"
)

// Webhook is a manager's admission webhook: its flags, its certificate, and how long it is served.
type Webhook struct {
	// Port is what it is served on, 0 if it is not.
	Port int
	host string
	// URL is where API servers reach it; by a Service if empty.
	URL string
	// Certificate is what it is served with.
	Certificate serving.Certificate
	// Drain is that of the agent's webhook alone: what the hub's would have refused, the hub manager refuses later.
	Drain Drain
}

// Bind registers the flags.
func (w *Webhook) Bind(flags *pflag.FlagSet) {
	flags.IntVar(&w.Port, "webhook-port", 0, "Port that the admission webhook is served on; 0 for none.")
	flags.StringVar(&w.host, "webhook-host", "", "Address that the admission webhook is served on; all if empty.")
	flags.StringVar(
		&w.URL,
		"webhook-url",
		"",
		"Where API servers reach the webhook of this process, such as https://127.0.0.1:9443; by the manager's Service if empty. For managers that run outside their cluster.",
	)
	flags.BoolVar(
		&w.Certificate.Provided, "webhook-certificate-provided", false,
		"Serve the admission webhook with the certificate in its Secret as somebody else keeps it, such as cert-manager, and never write that Secret.",
	)
}

// Server returns the server of the webhook, or nil if there is none.
func (w *Webhook) Server() webhook.Server {
	if w.Port == 0 {
		return nil
	}
	return webhook.NewServer(webhook.Options{
		Host:    w.host,
		Port:    w.Port,
		TLSOpts: []func(*tls.Config){http1, func(c *tls.Config) { c.GetCertificate = w.Certificate.Serving }},
	})
}

// Drained returns the context of a process that ends once nobody relies on its webhook. Whoever calls it by a URL knows
// no other replica: it ends as soon as all requests are answered.
func (w *Webhook) Drained(ctx context.Context) context.Context {
	if w.Port == 0 {
		return ctx
	}
	w.Drain.clock = clock.RealClock{}
	if w.URL == "" {
		w.Drain.least = pace.Drain
	}
	return w.Drain.after(ctx)
}

// Hosts returns what the certificate has to be good for.
func (w *Webhook) Hosts(service, namespace string) ([]string, error) {
	if w.URL == "" {
		service := service + "." + namespace + ".svc"
		return []string{service, service + ".cluster.local"}, nil
	}
	parsed, err := url.Parse(w.URL)
	if err != nil || parsed.Hostname() == "" {
		return nil, fmt.Errorf("--webhook-url=%s: must be like https://127.0.0.1:9443", w.URL)
	}
	return []string{parsed.Hostname()}, nil
}

// KeepCertificate has the manager keep the certificate of the webhook behind a Service, in a Secret of its namespace.
func (w *Webhook) KeepCertificate(mgr ctrl.Manager, namespace, service, secret string) error {
	hosts, err := w.Hosts(service, namespace)
	if err != nil {
		return err
	}
	w.Certificate.Client, w.Certificate.Live, w.Certificate.Clock = mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	w.Certificate.Namespace, w.Certificate.Secret, w.Certificate.Hosts = namespace, secret, hosts
	return mgr.Add(&w.Certificate)
}
