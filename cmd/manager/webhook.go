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
	hubmanifests "github.com/fedquota/fedquota/config/webhook"
	hubwebhookconfig "github.com/fedquota/fedquota/controllers/hub/webhookconfig"
	"github.com/fedquota/fedquota/controllers/member/share"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
	"github.com/fedquota/fedquota/controllers/serving"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/admission"
	"github.com/fedquota/fedquota/webhooks/hub"
)

// webhookOptions are the flags of a manager's admission webhook.
type webhookOptions struct {
	port int
	host string
	url  string

	certificate serving.Certificate
	// drain is that of the agent's webhook alone: what the hub's would have refused, the hub manager refuses later.
	drain drain
}

// bind registers the flags.
func (o *webhookOptions) bind(flags *pflag.FlagSet) {
	flags.IntVar(&o.port, "webhook-port", 0, "Port that the admission webhook is served on; 0 for none.")
	flags.StringVar(&o.host, "webhook-host", "", "Address that the admission webhook is served on; all if empty.")
	flags.StringVar(&o.url, "webhook-url", "",
		"Where API servers reach the webhook of this process, such as https://127.0.0.1:9443; by the manager's Service if empty. For managers that run outside their cluster.")
	flags.BoolVar(&o.certificate.Provided, "webhook-certificate-provided", false,
		"Serve the admission webhook with the certificate in its Secret as somebody else keeps it, such as cert-manager, and never write that Secret.")
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

// drained returns the context of a process that ends once nobody relies on its webhook. Whoever calls it by a URL knows
// no other replica: it ends as soon as all requests are answered.
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
func (o *webhookOptions) hosts(service, namespace string) ([]string, error) {
	if o.url == "" {
		service := service + "." + namespace + ".svc"
		return []string{service, service + ".cluster.local"}, nil
	}
	parsed, err := url.Parse(o.url)
	if err != nil || parsed.Hostname() == "" {
		return nil, fmt.Errorf("--webhook-url=%s: must be like https://127.0.0.1:9443", o.url)
	}
	return []string{parsed.Hostname()}, nil
}

// keepCertificate has the manager keep the certificate of the webhook behind a Service, in a Secret of its namespace.
func (o *webhookOptions) keepCertificate(mgr ctrl.Manager, namespace, service, secret string) error {
	hosts, err := o.hosts(service, namespace)
	if err != nil {
		return err
	}
	o.certificate.Client, o.certificate.Live, o.certificate.Clock = mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	o.certificate.Namespace, o.certificate.Secret, o.certificate.Hosts = namespace, secret, hosts
	return mgr.Add(&o.certificate)
}

// setUpAgent adds the webhook of the agent to the manager, and has it asked before a share has a limit.
func (o *webhookOptions) setUpAgent(ctx context.Context, mgr ctrl.Manager, namespace string, shares *share.Reconciler) error {
	if o.port == 0 {
		return nil
	}
	if err := o.keepCertificate(mgr, namespace, "fedquota-agent", webhookconfig.SecretName); err != nil {
		return err
	}
	template, err := serving.NewTemplate(manifests.Manifests, namespace)
	if err != nil {
		return err
	}
	rules := &webhookconfig.Reconciler{Client: mgr.GetClient(), Template: template, Certificate: &o.certificate, URL: o.url}
	if err := rules.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the rules of the webhook: %w", err)
	}
	shares.Ask = rules.Ask
	gate := &admission.Gate{
		Clock: clock.RealClock{}, Book: shares.Demand.Book, Report: shares.Demand.Report, Live: mgr.GetAPIReader(),
		Stuck: func() bool { return shares.Canary.Verdict().Stuck }, Echo: admission.NewEcho(mgr.GetClient()),
	}
	shares.Demand.Pings = gate.Pings
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

// setUpHub adds the webhooks of the hub manager to the manager.
func (o *webhookOptions) setUpHub(mgr ctrl.Manager, namespace string, validator *hub.Validator) error {
	if o.port == 0 {
		return nil
	}
	if err := o.keepCertificate(mgr, namespace, "fedquota-hub", hubwebhookconfig.SecretName); err != nil {
		return err
	}
	templates, err := hubwebhookconfig.NewTemplates(hubmanifests.Manifests, namespace)
	if err != nil {
		return err
	}
	configuration := &hubwebhookconfig.Reconciler{Client: mgr.GetClient(), Templates: templates, Certificate: &o.certificate, URL: o.url}
	if err := configuration.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the configuration of the webhook: %w", err)
	}
	hub.Quoter{}.SetupWithManager(mgr)
	validator.SetupWithManager(mgr)
	(&hub.RequirementValidator{Reader: validator.Reader, Clusters: validator.Clusters}).SetupWithManager(mgr)
	(&hub.PoolValidator{Reader: validator.Reader}).SetupWithManager(mgr)
	return nil
}
