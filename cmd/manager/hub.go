package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/hub/agents"
	"github.com/fedquota/fedquota/controllers/hub/heartbeat"
	"github.com/fedquota/fedquota/controllers/hub/join"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/quota"
	"github.com/fedquota/fedquota/controllers/hub/requirement"
	"github.com/fedquota/fedquota/controllers/hub/stores"
	"github.com/fedquota/fedquota/controllers/hub/webhookconfig"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/hub"
)

// hubName is the user agent of the hub manager, and the name of its lease.
const hubName = "fedquota-hub"

// hubOptions are the flags of the hub manager.
type hubOptions struct {
	clusters                 members.Namespaces
	agentNamespace           string
	installAgents            bool
	agentImage               string
	agentPriorityClass       string
	concurrency, connections int
}

// bind registers the flags.
func (o *hubOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.clusters.Home, "cluster-namespace", "default", "Namespace of the Clusters and of their kubeconfig Secrets.")
	flags.StringSliceVar(&o.clusters.Further, "further-cluster-namespaces", nil,
		"Further such namespaces. A Cluster NAME in one of them is called NAMESPACE/NAME wherever Clusters are named.")
	flags.StringVar(&o.agentNamespace, "agent-namespace", systemNamespace, "Namespace of the agents in members, and of the Lease there that the hub manager renews.")
	flags.BoolVar(&o.installAgents, "install-agents", true, "Install the agent in each Cluster that a FederatedQuota selects, and heal it there.")
	flags.StringVar(&o.agentImage, "agent-image", image, "Image of the agents that the hub manager installs.")
	flags.StringVar(&o.agentPriorityClass, "agent-priority-class", bundle.PriorityClass,
		"PriorityClass of the agents that the hub manager installs. Any other than that has to be in each member.")
	flags.IntVar(&o.concurrency, "concurrency", 10, "How many FederatedQuotas are reconciled at once.")
	flags.IntVar(&o.connections, "clustercache-concurrency", 100,
		"How many Clusters are connected or probed at once. One that does not answer takes up a place for seconds, again and again.")
}

// newHubCommand returns the command that runs the hub manager.
func newHubCommand() *cobra.Command {
	var options managerOptions
	var settings hubOptions
	var webhook webhookOptions
	command := &cobra.Command{
		Use:   "hub",
		Short: "Run the hub manager",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := settings.validate(); err != nil {
				return err
			}
			manifests, err := settings.agent()
			if err != nil {
				return err
			}
			mgr, err := options.newManager(hubName, hubObjects(settings.clusters), webhook.server())
			if err != nil {
				return err
			}
			if err := mgr.Add(hubWatchdog(mgr)); err != nil {
				return fmt.Errorf("setting up the watch over the store: %w", err)
			}
			ctx := command.Context()
			profiles := &join.Profiles{Reader: mgr.GetClient(), Namespaces: settings.clusters.All()}
			accounts := settings.accounts(mgr, profiles)
			connections, err := settings.connect(ctx, mgr, profiles, accounts)
			if err != nil {
				return fmt.Errorf("setting up connections to members: %w", err)
			}
			if err := settings.setUp(mgr, connections, accounts, profiles, manifests); err != nil {
				return err
			}
			if err := webhook.setUpHub(mgr, options.namespace, settings.validator(mgr, connections)); err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
	}
	options.bind(command)
	settings.bind(command.Flags())
	webhook.bind(command.Flags())
	return command
}

// validate says which flag cannot be acted on.
func (o *hubOptions) validate() error {
	if err := o.clusters.Validate(); err != nil {
		return fmt.Errorf("--cluster-namespace, --further-cluster-namespaces: %w", err)
	}
	return nil
}

// accounts returns the hub's accounts in members.
func (o *hubOptions) accounts(mgr ctrl.Manager, secrets client.Reader) *members.Accounts {
	return &members.Accounts{
		Secrets: secrets, Namespace: o.agentNamespace, Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Scheme: mgr.GetScheme(),
	}
}

// connect sets up the connections to members.
func (o *hubOptions) connect(
	ctx context.Context, mgr ctrl.Manager, secrets client.Reader, accounts *members.Accounts,
) (clustercache.ClusterCache, error) {
	kubeconfigs := members.Kubeconfigs{Reader: secrets, Accounts: accounts}
	if err := kubeconfigs.Register(); err != nil {
		return nil, err
	}
	return clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: kubeconfigs,
		Client:       clustercache.ClientOptions{UserAgent: "fedquota-hub", QPS: -1}, // as for the hub: API servers know best who has to wait
		Cache:        clustercache.CacheOptions{DefaultTransform: slim},
	}, controller.Options{MaxConcurrentReconciles: o.connections})
}

// slim makes what caches of members hold small. It is one function for all kinds: what names a kind to a cache makes
// connections fail to members that lack it, which the agent is yet to be installed in.
func slim(object any) (any, error) {
	object, err := cache.TransformStripManagedFields()(object)
	if err != nil {
		return nil, err
	}
	return quota.Pack(object)
}

// validator returns what checks FederatedQuotas before they are stored.
func (o *hubOptions) validator(mgr ctrl.Manager, connections clustercache.ClusterCache) *hub.Validator {
	return &hub.Validator{
		Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Clusters: o.clusters, AgentNamespace: o.agentNamespace,
		Serves: hub.ServesOf(connections, o.clusters),
	}
}

// agent returns the manifests of the agent, none if the hub manager does not install it.
func (o *hubOptions) agent() ([]*unstructured.Unstructured, error) {
	if !o.installAgents {
		return nil, nil
	}
	objects, err := bundle.Objects(bundle.Options{Image: o.agentImage, Namespace: o.agentNamespace, PriorityClass: o.agentPriorityClass})
	if err != nil {
		return nil, fmt.Errorf("--install-agents: %w", err)
	}
	return objects, nil
}

// setUp adds the controllers of the hub manager.
func (o *hubOptions) setUp(
	mgr ctrl.Manager, connections clustercache.ClusterCache, accounts *members.Accounts, profiles *join.Profiles,
	manifests []*unstructured.Unstructured,
) error {
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	watcher := &stores.Watcher{
		Client: mgr.GetClient(), Members: connections, Clusters: o.clusters,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Wake: make(chan event.GenericEvent),
	}
	reconciler := &quota.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Members: connections, Stores: watcher,
		Clusters: o.clusters, AgentNamespace: o.agentNamespace,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Recorder: mgr.GetEventRecorder("fedquota-hub"),
	}
	options := controller.Options{MaxConcurrentReconciles: o.concurrency, RateLimiter: backoff.RateLimiter()}
	if len(manifests) > 0 {
		installer := &agents.Installer{
			Client: mgr.GetClient(), Members: connections, Clusters: o.clusters, Objects: manifests,
			Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Wake: watcher.Wake, Bootstrap: accounts.Bootstrap,
		}
		if err := installer.SetupWithManager(mgr, options); err != nil {
			return fmt.Errorf("setting up the installation of agents: %w", err)
		}
		reconciler.Trouble = installer.Trouble
	}
	if err := reconciler.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("setting up the quota controller: %w", err)
	}
	pools := &pool.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder("fedquota-hub")}
	if err := pools.SetupWithManager(mgr, options, func() error { return reconciler.WatchPools(mgr) }); err != nil {
		return fmt.Errorf("setting up the pool controller: %w", err)
	}
	if err := o.setUpRequirements(mgr, connections, options); err != nil {
		return fmt.Errorf("setting up the requirements of quotas: %w", err)
	}
	joiner := &join.Reconciler{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("fedquota-hub")}
	if err := joiner.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("setting up the joining by Secrets: %w", err)
	}
	if err := profiles.SetupWithManager(mgr, joiner, options); err != nil {
		return fmt.Errorf("setting up the joining by ClusterProfiles: %w", err)
	}
	if err := mgr.Add(watcher); err != nil {
		return fmt.Errorf("setting up the looks at stores: %w", err)
	}
	return mgr.Add(&heartbeat.Heartbeat{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Members: connections,
		Clusters: o.clusters, AgentNamespace: o.agentNamespace, Identity: identity,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout,
	})
}

// setUpRequirements adds the controllers of QuotaRequirements.
func (o *hubOptions) setUpRequirements(mgr ctrl.Manager, connections clustercache.ClusterCache, options controller.Options) error {
	enforcer := &requirement.Enforcer{
		Client: mgr.GetClient(), Members: connections, Clusters: o.clusters, AgentNamespace: o.agentNamespace,
		Timeout: pace.MemberTimeout, Wake: make(chan event.GenericEvent),
	}
	if err := enforcer.SetupWithManager(mgr, options); err != nil {
		return err
	}
	reconciler := &requirement.Reconciler{Client: mgr.GetClient(), Enforcer: enforcer, Clock: clock.RealClock{}}
	return reconciler.SetupWithManager(mgr, options)
}

// hubWatchdog ends the hub manager when the store of the hub went back.
func hubWatchdog(mgr ctrl.Manager) *rollback.Watchdog {
	return &rollback.Watchdog{
		Live:    mgr.GetAPIReader(),
		Kind:    quotav1alpha1.GroupVersion.WithKind("FederatedQuota"),
		Options: []client.ListOption{client.Limit(1)},
		Cached:  mgr.GetClient(),
		Objects: &quotav1alpha1.FederatedQuotaList{},
	}
}

// hubObjects restricts what the hub manager caches: of Clusters and Secrets those of some namespaces, and of these the
// ones that belong to a Cluster. What it does not read of an object is left out.
func hubObjects(clusters members.Namespaces) cache.Options {
	ofCluster, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	utilruntime.Must(err)
	objects, secrets := map[string]cache.Config{}, map[string]cache.Config{}
	for _, namespace := range clusters.All() {
		objects[namespace], secrets[namespace] = cache.Config{}, cache.Config{LabelSelector: labels.NewSelector().Add(*ofCluster)}
	}
	ours := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", webhookconfig.ConfigurationName)}
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: ours,
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   ours,
		&clusterv1.Cluster{}:            {Namespaces: objects},
		&corev1.Secret{}:                {Namespaces: secrets, Transform: kubeconfigsAlone},
		&quotav1alpha1.FederatedQuota{}: {Transform: entriesAlone},
	}}
}

// entriesAlone leaves out of a FederatedQuota what its clusters were granted and use, which is most of what one over
// many clusters takes. Rounds read it live; others want to know who has an entry, and in which state.
func entriesAlone(object any) (any, error) {
	if fq, ok := object.(*quotav1alpha1.FederatedQuota); ok {
		fq.ManagedFields = nil
		for i := range fq.Status.Clusters {
			c := &fq.Status.Clusters[i]
			*c = quotav1alpha1.ClusterStatus{Name: c.Name, UID: c.UID, Revision: c.Revision, State: c.State}
		}
	}
	return object, nil
}

// kubeconfigsAlone empties Secrets that hold other keys of a Cluster than the way to its API server.
func kubeconfigsAlone(object any) (any, error) {
	if s, ok := object.(*corev1.Secret); ok {
		s.ManagedFields = nil
		if _, purpose, err := secret.ParseSecretName(s.Name); err != nil || purpose != secret.Kubeconfig {
			s.Data = nil
		}
	}
	return object, nil
}
