// Package setup is what the hub manager and the agent have in common: flags, the manager, and how webhooks are served.
package setup

import (
	"crypto/tls"
	"flag"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fedquota/fedquota/controllers/schemes"
)

// SystemNamespace is where the hub manager and the agents run.
const SystemNamespace = "fedquota-system"

// Options are the flags that hub and agent share.
type Options struct {
	// Namespace is where the manager runs.
	Namespace string

	metricsAddress string
	probeAddress   string
	pprofAddress   string
	leaderElection bool
	logging        zap.Options
}

// Bind registers the flags.
func (o *Options) Bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(
		&o.Namespace, "namespace", SystemNamespace,
		"Namespace that the manager runs in: of its lease, and of the agent's canary.",
	)
	flags.StringVar(
		&o.metricsAddress, "metrics-bind-address", "0",
		"Address that metrics are served on, by HTTPS with authentication and authorization; 0 for none.",
	)
	flags.StringVar(
		&o.probeAddress, "health-probe-bind-address", "0", "Address that health probes are served on; 0 for none.",
	)
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0",
		"Address that profiles are served on, to anybody who reaches it: bind it to localhost; 0 for none.")
	flags.BoolVar(&o.leaderElection, "leader-elect", true, "Let one of several replicas act. Safety does not rest on it.")
	goFlags := flag.NewFlagSet("manager", flag.ContinueOnError)
	o.logging.BindFlags(goFlags)
	config.RegisterFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
}

// NewManager returns a manager for the API server of the kubeconfig, or of the cluster that the program runs in. Its
// name is its user agent, and that of the lease of the replica that acts.
func (o *Options) NewManager(name string, objects cache.Options, webhooks webhook.Server) (ctrl.Manager, error) {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.logging)))
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	restConfig.UserAgent = name
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: schemes.All(),
		Cache:  objects,
		Metrics: metricsserver.Options{
			BindAddress: o.metricsAddress, SecureServing: true, TLSOpts: []func(*tls.Config){http1},
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		HealthProbeBindAddress:        o.probeAddress,
		PprofBindAddress:              o.pprofAddress,
		WebhookServer:                 webhooks,
		LeaderElection:                o.leaderElection,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptr.To(10 * time.Second),
		// The queue of priorities may hang as it shuts down (kubernetes-sigs/controller-runtime#3538): nobody leads
		// meanwhile.
		Controller: ctrlconfig.Controller{UsePriorityQueue: new(false)},
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return nil, err
	}
	if webhooks != nil {
		return mgr, mgr.AddReadyzCheck("webhook", webhooks.StartedChecker())
	}
	return mgr, mgr.AddReadyzCheck("readyz", healthz.Ping)
}

// http1 keeps a server at HTTP/1.1. By HTTP/2 a client can keep it busy with streams that it opens and resets
// (CVE-2023-44487), and a call of the webhook takes a fifth longer.
func http1(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// Step is one thing to set up.
type Step struct {
	// Name is what errors call it.
	Name string
	// Do sets it up.
	Do func() error
}

// All takes the steps in order, up to the first one that fails.
func All(steps ...Step) error {
	for _, step := range steps {
		if err := step.Do(); err != nil {
			return fmt.Errorf("setting up %s: %w", step.Name, err)
		}
	}
	return nil
}
