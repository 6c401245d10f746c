package hub

import (
	"context"
	"errors"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/manager/setup"
	manifests "github.com/fedquota/fedquota/config/webhook"
	"github.com/fedquota/fedquota/controllers/hub/agents"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/capacity"
	"github.com/fedquota/fedquota/controllers/hub/exporter"
	"github.com/fedquota/fedquota/controllers/hub/heartbeat"
	"github.com/fedquota/fedquota/controllers/hub/join"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	"github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/hub/quota"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/controllers/hub/requirement"
	"github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/controllers/hub/stores"
	"github.com/fedquota/fedquota/controllers/hub/tenant"
	"github.com/fedquota/fedquota/controllers/hub/webhookconfig"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/controllers/served"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/hub"
)

// parts are what the hub manager is put together from, in the order of setUp.
type parts struct {
	*options

	mgr     ctrl.Manager
	webhook *setup.Webhook
	// namespace is where the hub manager runs.
	namespace string
	// manifests are those of the agent, none if the hub manager does not install it.
	manifests []*unstructured.Unstructured
	// each are the options of each controller.
	each controller.Options

	profiles    *join.Profiles
	accounts    *members.Accounts
	connections clustercache.ClusterCache
	stores      *stores.Watcher
	records     *recorder.Recorder
	quotas      *quota.Reconciler
}

// setUp adds all that the hub manager runs to the manager.
func (p *parts) setUp(ctx context.Context) error {
	return setup.All(
		setup.Step{Name: "the watch over the store", Do: p.watchOverStore},
		setup.Step{Name: "connections to members", Do: func() error { return p.connect(ctx) }},
		setup.Step{Name: "the looks at stores", Do: p.lookAtStores},
		setup.Step{Name: "the records", Do: p.keepRecords},
		setup.Step{Name: "the quota controller", Do: p.reconcileQuotas},
		setup.Step{Name: "the pool controller", Do: p.reconcilePools},
		setup.Step{Name: "the reports of capacity", Do: p.followNodes},
		setup.Step{Name: "the adding of nodes", Do: p.addNodes},
		setup.Step{Name: "the installation of agents", Do: p.installAgents},
		setup.Step{Name: "the requirements of quotas", Do: p.requireQuotas},
		setup.Step{Name: "the joining by Secrets and ClusterProfiles", Do: p.join},
		setup.Step{Name: "the heartbeat", Do: p.beat},
		setup.Step{Name: "the webhook", Do: p.serve},
	)
}

// watchOverStore ends the hub manager when the store of the hub went back.
func (p *parts) watchOverStore() error {
	return p.mgr.Add(&rollback.Watchdog{
		Live:    p.mgr.GetAPIReader(),
		Kind:    quotav1alpha1.GroupVersion.WithKind("FederatedQuota"),
		Options: []client.ListOption{client.Limit(1)},
		Cached:  p.mgr.GetClient(),
		Objects: &quotav1alpha1.FederatedQuotaList{},
	})
}

// connect sets up the connections to members.
func (p *parts) connect(ctx context.Context) (err error) {
	p.profiles = &join.Profiles{Reader: p.mgr.GetClient(), Namespaces: p.clusters.All()}
	p.accounts = &members.Accounts{
		Secrets: p.profiles, Namespace: p.agentNamespace,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Scheme: p.mgr.GetScheme(),
	}
	kubeconfigs := members.Kubeconfigs{Reader: p.profiles, Accounts: p.accounts}
	if err := kubeconfigs.Register(); err != nil {
		return err
	}
	p.connections, err = clustercache.SetupWithManager(ctx, p.mgr, clustercache.Options{
		SecretClient: kubeconfigs,
		// No limit of queries, as for the hub: API servers know best who has to wait.
		Client: clustercache.ClientOptions{UserAgent: userAgent, QPS: -1},
		Cache:  clustercache.CacheOptions{DefaultTransform: slim},
	}, controller.Options{MaxConcurrentReconciles: p.options.connections})
	return err
}

// lookAtStores looks at what members hold.
func (p *parts) lookAtStores() error {
	p.stores = &stores.Watcher{
		Client: p.mgr.GetClient(), Members: p.connections, Clusters: p.clusters,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Wake: make(chan event.GenericEvent),
		PerCluster: p.metricsPerCluster,
	}
	return errors.Join(p.mgr.Add(p.stores), exporter.Add(p.mgr, p.stores))
}

// keepRecords keeps what becomes of budgets, unless nobody wants that. It is stored once the hub serves the kind.
func (p *parts) keepRecords() error {
	if p.recordMonths == 0 {
		return nil
	}
	p.records = &recorder.Recorder{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clock: clock.RealClock{},
		Interval: p.recordInterval, Months: p.recordMonths, PoolsIn: p.namespace,
	}
	return served.Once(p.mgr, func() error { return p.mgr.Add(p.records) }, recorder.Kind)
}

// reconcileQuotas makes the rounds of FederatedQuotas.
func (p *parts) reconcileQuotas() error {
	p.quotas = &quota.Reconciler{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Members: p.connections, Stores: p.stores,
		Clusters: p.clusters, AgentNamespace: p.agentNamespace, Needs: &pool.Needs{}, Trees: &trees.Trees{},
		Records: p.records,
		Namespaces: &namespaces.Watcher{
			Members: p.connections, Stores: p.stores, Clock: clock.RealClock{}, Timeout: pace.MemberTimeout,
		},
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Recorder: p.mgr.GetEventRecorder(userAgent),
		Limits: &quota.Limits{PerCluster: p.metricsPerCluster},
	}
	if err := p.quotas.SetupWithManager(p.mgr, p.each); err != nil {
		return err
	}
	quotas := exporter.Quotas{Reader: p.mgr.GetClient(), PerCluster: p.metricsPerCluster}
	return errors.Join(exporter.Add(p.mgr, quotas), exporter.Add(p.mgr, p.quotas.Limits))
}

// reconcilePools makes the rounds of QuotaPools, once the hub serves them, and keeps the FederatedQuotas of tenants.
// FederatedQuotas follow pools from then on.
func (p *parts) reconcilePools() error {
	reconciler := &pool.Reconciler{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Needs: p.quotas.Needs, Trees: p.quotas.Trees,
		Records: p.records, Clusters: p.clusters, Members: p.connections,
		Clock: clock.RealClock{}, Recorder: p.mgr.GetEventRecorder(userAgent),
		Tenants: &tenant.Reconciler{
			Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), AgentNamespace: p.agentNamespace,
		},
	}
	return reconciler.SetupWithManager(p.mgr, p.each, func() error {
		return errors.Join(p.quotas.WatchPools(p.mgr), exporter.Add(p.mgr, exporter.Pools{Reader: p.mgr.GetClient()}))
	})
}

// followNodes keeps what the nodes of members can run, once the hub serves that kind. Budgets follow it from then on.
func (p *parts) followNodes() error {
	return served.Once(p.mgr, func() error {
		reconciler := &capacity.Reconciler{
			Client: p.mgr.GetClient(), Members: p.connections, AgentNamespace: p.agentNamespace, Timeout: pace.MemberTimeout,
			Recorder: p.mgr.GetEventRecorder(userAgent), Clock: clock.RealClock{},
		}
		if err := reconciler.SetupWithManager(p.mgr, p.each); err != nil {
			return err
		}
		if err := p.followMachines(reconciler); err != nil {
			return err
		}
		if err := p.quotas.WatchCapacity(p.mgr); err != nil {
			return err
		}
		return exporter.Add(p.mgr, exporter.Nodes{Reader: p.mgr.GetClient(), NameOf: p.clusters.Name})
	}, capacity.Kind)
}

// addNodes adds nodes for budgets that ask for that, if the hub manager may.
func (p *parts) addNodes() error {
	if !p.scaleOut {
		return nil
	}
	return (&scaleout.Reconciler{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Members: p.connections, Clusters: p.clusters,
		Clock: clock.RealClock{}, Recorder: p.mgr.GetEventRecorder(userAgent),
		Patience: scaleout.DefaultPatience(p.nodeProvisionTime), Timeout: pace.MemberTimeout,
	}).SetupWithManager(p.mgr, p.each)
}

// followMachines follows Cluster API's machines. Where the hub does not serve them, the manager ends once it does: the
// next one can restrict what it caches of them.
func (p *parts) followMachines(reconciler *capacity.Reconciler) error {
	if p.machines {
		return reconciler.WatchGroups(p.mgr)
	}
	return served.Once(p.mgr, func() error {
		return errors.New("the hub serves Cluster API's machines now: ending, to begin anew with them")
	}, capacity.Groups...)
}

// applies returns a controller of objects in members. Those who listen to wake hear of each Cluster of which there is
// news.
func (p *parts) applies(wake chan event.GenericEvent) *applied.Controller {
	return &applied.Controller{
		Client: p.mgr.GetClient(), Members: p.connections, Clusters: p.clusters,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout, Wake: wake,
	}
}

// installAgents installs the agents in members, unless others do.
func (p *parts) installAgents() error {
	if len(p.manifests) == 0 {
		return nil
	}
	installer := agents.NewInstaller(p.applies(p.stores.Wake), p.manifests)
	installer.Bootstrap = p.accounts.Bootstrap
	p.quotas.Trouble = installer.Trouble
	return installer.SetupWithManager(p.mgr, p.each)
}

// requireQuotas has members enforce QuotaRequirements.
func (p *parts) requireQuotas() error {
	enforcer := requirement.NewEnforcer(p.applies(make(chan event.GenericEvent)), p.agentNamespace)
	if err := enforcer.SetupWithManager(p.mgr, p.each); err != nil {
		return err
	}
	reconciler := &requirement.Reconciler{Client: p.mgr.GetClient(), Enforcer: enforcer, Clock: clock.RealClock{}}
	return reconciler.SetupWithManager(p.mgr, p.each)
}

// join makes Clusters of Secrets and of ClusterProfiles.
func (p *parts) join() error {
	joiner := &join.Reconciler{Client: p.mgr.GetClient(), Recorder: p.mgr.GetEventRecorder(userAgent)}
	if err := joiner.SetupWithManager(p.mgr, p.each); err != nil {
		return err
	}
	return p.profiles.SetupWithManager(p.mgr, joiner, p.each)
}

// beat renews the hub's Lease in members.
func (p *parts) beat() error {
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	return p.mgr.Add(&heartbeat.Heartbeat{
		Client: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Members: p.connections,
		Clusters: p.clusters, AgentNamespace: p.agentNamespace, Identity: identity,
		Clock: clock.RealClock{}, Timeout: pace.MemberTimeout,
	})
}

// serve adds the webhooks to the manager, if there are any.
func (p *parts) serve() error {
	if p.webhook.Port == 0 {
		return nil
	}
	if err := p.webhook.KeepCertificate(p.mgr, p.namespace, "fedquota-hub", webhookconfig.SecretName); err != nil {
		return err
	}
	templates, err := webhookconfig.NewTemplates(manifests.Manifests, p.namespace)
	if err != nil {
		return err
	}
	configuration := &webhookconfig.Reconciler{
		Client: p.mgr.GetClient(), Templates: templates, Certificate: &p.webhook.Certificate, URL: p.webhook.URL,
	}
	if err := configuration.SetupWithManager(p.mgr); err != nil {
		return err
	}
	hub.Quoter{}.SetupWithManager(p.mgr)
	(&hub.Validator{
		Reader: p.mgr.GetClient(), Live: p.mgr.GetAPIReader(), Clusters: p.clusters, AgentNamespace: p.agentNamespace,
		Serves: hub.ServesOf(p.connections, p.clusters), ScalesOut: p.scaleOut,
	}).SetupWithManager(p.mgr)
	(&hub.RequirementValidator{Reader: p.mgr.GetClient(), Clusters: p.clusters}).SetupWithManager(p.mgr)
	(&hub.PoolValidator{
		Reader: p.mgr.GetClient(), Clusters: p.clusters, AgentNamespace: p.agentNamespace, ScalesOut: p.scaleOut,
	}).SetupWithManager(p.mgr)
	return nil
}
