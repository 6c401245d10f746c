package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	manifests "github.com/fedquota/fedquota/config/member/webhook"
	"github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/admission"
)

// webhookOptions are the flags of the agent's admission webhook.
type webhookOptions struct {
	port int
	host string
	url  string

	certificate webhookconfig.Certificate
	drain       drain
}

// bind registers the flags.
func (o *webhookOptions) bind(flags *pflag.FlagSet) {
	flags.IntVar(&o.port, "webhook-port", 0, "Port that the admission webhook is served on; 0 for none.")
	flags.StringVar(&o.host, "webhook-host", "", "Address that the admission webhook is served on; all if empty.")
	flags.StringVar(&o.url, "webhook-url", "",
		"Where API servers reach the webhook of this process, such as https://127.0.0.1:9443; by the agent's Service if empty. For agents that run outside their cluster.")
}

// server returns the server of the webhook, or nil if there is none.
func (o *webhookOptions) server() webhook.Server {
	if o.port == 0 {
		return nil
	}
	return webhook.NewServer(webhook.Options{
		Host:    o.host,
		Port:    o.port,
		TLSOpts: []func(*tls.Config){http1, func(c *tls.Config) { c.GetCertificate = o.certificate.Serving }},
	})
}

// drained returns the context of a process that ends once nobody relies on its webhook. Whoever calls it by a URL knows no other
// replica: it ends as soon as all requests are answered.
func (o *webhookOptions) drained(ctx context.Context) context.Context {
	if o.port == 0 {
		return ctx
	}
	o.drain.clock = clock.RealClock{}
	if o.url == "" {
		o.drain.least = pace.Drain
	}
	return o.drain.after(ctx)
}

// hosts returns what the certificate has to be good for.
func (o *webhookOptions) hosts(namespace string) ([]string, error) {
	if o.url == "" {
		service := "fedquota-agent." + namespace + ".svc"
		return []string{service, service + ".cluster.local"}, nil
	}
	parsed, err := url.Parse(o.url)
	if err != nil || parsed.Hostname() == "" {
		return nil, fmt.Errorf("--webhook-url=%s: must be like https://127.0.0.1:9443", o.url)
	}
	return []string{parsed.Hostname()}, nil
}

// setUp adds the webhook to the manager.
func (o *webhookOptions) setUp(ctx context.Context, mgr ctrl.Manager, namespace string, needs *demand.Demand, stuck func() bool) error {
	if o.port == 0 {
		return nil
	}
	hosts, err := o.hosts(namespace)
	if err != nil {
		return err
	}
	o.certificate.Client, o.certificate.Live, o.certificate.Clock = mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	o.certificate.Namespace, o.certificate.Hosts = namespace, hosts
	if err := mgr.Add(&o.certificate); err != nil {
		return err
	}
	template, err := webhookconfig.NewTemplate(manifests.Manifests, namespace)
	if err != nil {
		return err
	}
	rules := &webhookconfig.Reconciler{Client: mgr.GetClient(), Template: template, Certificate: &o.certificate, URL: o.url}
	if err := rules.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the rules of the webhook: %w", err)
	}
	gate := &admission.Gate{Clock: clock.RealClock{}, Book: needs.Book, Report: needs.Report, Live: mgr.GetAPIReader(), Stuck: stuck, Echo: admission.NewEcho(mgr.GetClient())}
	needs.Pings = gate.Pings
	if err := gate.Feed(ctx, mgr.GetCache()); err != nil {
		return fmt.Errorf("setting up the webhook: %w", err)
	}
	if err := mgr.AddReadyzCheck("gate", gate.Ready); err != nil {
		return err
	}
	o.drain.Handler = admission.NewHandler(gate)
	mgr.GetWebhookServer().Register(webhookconfig.Path, &o.drain)
	return nil
}
