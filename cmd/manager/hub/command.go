// Package hub is the program of the management cluster: its command, and the controllers that it runs.
package hub

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/fedquota/fedquota/cmd/manager/setup"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/bundle"
)

// userAgent is the user agent of the hub manager, and the name of its lease.
const userAgent = "fedquota-hub"

// options are the flags of the hub manager.
type options struct {
	clusters                 members.Namespaces
	agentNamespace           string
	installAgents            bool
	agentImage               string
	agentPriorityClass       string
	scaleOut                 bool
	nodeProvisionTime        time.Duration
	concurrency, connections int
	metricsPerCluster        bool
	recordInterval           time.Duration
	recordMonths             int
	// machines says that the hub serves MachineDeployments and MachinePools.
	machines bool
}

const (
	mostMonths                  = 120
	leastInterval, mostInterval = time.Second, 24 * time.Hour
)

// bind registers the flags.
func (o *options) bind(flags *pflag.FlagSet, image string) {
	flags.StringVar(&o.clusters.Home, "cluster-namespace", "default",
		"Namespace of the Clusters and of their kubeconfig Secrets.")
	flags.StringSliceVar(&o.clusters.Further, "further-cluster-namespaces", nil,
		"Further such namespaces. A Cluster NAME in one of them is called NAMESPACE/NAME wherever Clusters are named.")
	flags.StringVar(&o.agentNamespace, "agent-namespace", setup.SystemNamespace,
		"Namespace of the agents in members, and of the Lease there that the hub manager renews.")
	flags.BoolVar(&o.installAgents, "install-agents", true,
		"Install the agent in each Cluster that a FederatedQuota selects, and heal it there.")
	flags.StringVar(&o.agentImage, "agent-image", image, "Image of the agents that the hub manager installs.")
	flags.StringVar(&o.agentPriorityClass, "agent-priority-class", bundle.PriorityClass,
		"PriorityClass of the agents that the hub manager installs. Any other than that has to be in each member.")
	flags.BoolVar(&o.scaleOut, "scale-out", false,
		"Add nodes for budgets with capacity.scaleOut, by Cluster API's MachineDeployments. It needs the rights of config/scaleout.")
	flags.DurationVar(&o.nodeProvisionTime, "max-node-provision-time", 15*time.Minute,
		"How long a node may take to come that was added by --scale-out.")
	flags.IntVar(&o.concurrency, "concurrency", 10, "How many FederatedQuotas are reconciled at once.")
	flags.IntVar(
		&o.connections, "clustercache-concurrency", 100,
		"How many Clusters are connected or probed at once. One that does not answer takes up a place for seconds, again and again.",
	)
	flags.IntVar(&o.recordMonths, "record-months", 13,
		"How many months QuotaRecords are kept beside that of the present month. 0: none are written.")
	flags.DurationVar(&o.recordInterval, "record-interval", time.Hour,
		"The time between two writes of the QuotaRecord of a FederatedQuota. What a hub manager that crashed had not written counts with what was known last.")
	flags.BoolVar(&o.metricsPerCluster, "metrics-per-cluster", false,
		"Export what each cluster has of each FederatedQuota, too: four series for each cluster and resource name of each, and one for each cluster.")
}

// NewCommand returns the command that runs the hub manager. The image is that of the agents, unless a flag names
// another one.
func NewCommand(image string) *cobra.Command {
	var common setup.Options
	var own options
	var webhook setup.Webhook
	command := &cobra.Command{
		Use:   "hub",
		Short: "Run the hub manager",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := own.validate(); err != nil {
				return err
			}
			manifests, err := own.agent()
			if err != nil {
				return err
			}
			if own.machines, err = servesMachines(); err != nil {
				return fmt.Errorf("asking whether Cluster API's machines are served: %w", err)
			}
			objects := cached(own.clusters, own.metricsPerCluster, own.machines)
			mgr, err := common.NewManager(userAgent, objects, webhook.Server())
			if err != nil {
				return err
			}
			p := &parts{
				options: &own, mgr: mgr, webhook: &webhook, namespace: common.Namespace, manifests: manifests,
				each: controller.Options{MaxConcurrentReconciles: own.concurrency, RateLimiter: backoff.RateLimiter()},
			}
			if err := p.setUp(command.Context()); err != nil {
				return err
			}
			return mgr.Start(command.Context())
		},
	}
	common.Bind(command)
	own.bind(command.Flags(), image)
	webhook.Bind(command.Flags())
	return command
}

// validate says which flag cannot be acted on.
func (o *options) validate() error {
	if err := o.clusters.Validate(); err != nil {
		return fmt.Errorf("--cluster-namespace, --further-cluster-namespaces: %w", err)
	}
	if o.concurrency < 1 || o.connections < 1 {
		return fmt.Errorf("--concurrency %d, --clustercache-concurrency %d: must be 1 or more", o.concurrency, o.connections)
	}
	if o.nodeProvisionTime <= 0 {
		return fmt.Errorf("--max-node-provision-time %s: must be more than 0", o.nodeProvisionTime)
	}
	if o.recordMonths < 0 || o.recordMonths > mostMonths {
		return fmt.Errorf("--record-months %d: must be 0, which writes none, to %d", o.recordMonths, mostMonths)
	}
	if o.recordInterval < leastInterval || o.recordInterval > mostInterval {
		return fmt.Errorf("--record-interval %s: must be %s to %s", o.recordInterval, leastInterval, mostInterval)
	}
	return nil
}

// agent returns the manifests of the agent, none if the hub manager does not install it.
func (o *options) agent() ([]*unstructured.Unstructured, error) {
	if !o.installAgents {
		return nil, nil
	}
	objects, err := bundle.Objects(bundle.Options{
		Image: o.agentImage, Namespace: o.agentNamespace, PriorityClass: o.agentPriorityClass, ScaleOut: o.scaleOut,
	})
	if err != nil {
		return nil, fmt.Errorf("--install-agents: %w", err)
	}
	return objects, nil
}

// servesMachines says whether the hub serves MachineDeployments and MachinePools. One without Cluster API does not, and
// no manager can be made that restricts what it caches of them.
func servesMachines() (bool, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return false, err
	}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	list, err := api.ServerResourcesForGroupVersion(clusterv1.GroupVersion.String())
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	kinds := sets.New[string]()
	for _, resource := range list.APIResources {
		kinds.Insert(resource.Kind)
	}
	return kinds.HasAll("MachineDeployment", "MachinePool"), nil
}
