package fleet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// AssetsVariable names the environment variable with the default of Options.Assets.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// MemberAssetsVariable names the environment variable with the default of ControlPlaneOptions.Assets of members: a list
// of folders as in PATH, of which members take one after the other, and then the first one again.
const MemberAssetsVariable = "FEDQUOTA_MEMBER_ASSETS"

// HubName is the name of the hub's control plane and of its folder.
const HubName = "hub"

const (
	programsName = "programs"
	loopback     = "127.0.0.1"

	serviceAccountController = "serviceaccount-controller"
)

// Options says which fleet to start.
type Options struct {
	// Dir is the folder of the fleet. It is made if need be; a fleet that was started there before is ended and its
	// files are removed. Any other folder that is not empty is refused. Required.
	Dir string
	// Assets is the folder with the programs etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
	// Defaults to the environment variable KUBEBUILDER_ASSETS.
	Assets string
	// Hub says how the hub runs. Its name is ignored, and so are its labels unless it is a member of itself.
	Hub ControlPlaneOptions
	// Members says how each member runs.
	Members []ControlPlaneOptions
	// CRDPaths are files and folders of CustomResourceDefinitions for the hub, those of Cluster API among them
	// (see ClusterAPICRDs). Without any, the hub is bare: it is told of no members.
	CRDPaths []string
	// ClusterNamespace is the hub's namespace of the members' Cluster objects. Defaults to "default".
	ClusterNamespace string
	// Address is what all control planes listen on, and where the hub finds members. One that is not a loopback address is
	// the endpoint of the Service kubernetes, too, so that pods reach their API server. Defaults to 127.0.0.1.
	Address string
	// HubIsMember has the hub know itself as a member, by its own name.
	HubIsMember bool
	// Detach lets the fleet outlive the process that starts it, until Down ends it.
	Detach bool
	// Progress is told each step, by one goroutine at a time. Optional.
	Progress func(step string)
}

// ControlPlaneOptions says how one control plane runs.
type ControlPlaneOptions struct {
	// Name is the name of the control plane, of its folder and of its Cluster object.
	Name string
	// Labels are the labels of its Cluster object.
	Labels map[string]string
	// Assets is the folder with its programs, of another version than the fleet's. Defaults to Options.Assets, and to
	// the environment variable FEDQUOTA_MEMBER_ASSETS for members.
	Assets string
	// APIServerArgs are added to the arguments of each API server.
	APIServerArgs []string
	// SecondAPIServer runs a second API server on the same etcd.
	SecondAPIServer bool
	// Controllers are those that kube-controller-manager runs. Defaults to MemberControllers, and to HubControllers
	// on the hub.
	Controllers []string
	// ResourceQuotaSyncPeriod is how often the quota controller recounts everything. Defaults to Kubernetes' own.
	ResourceQuotaSyncPeriod time.Duration
	// ControllerManagerArgs are added to the arguments of kube-controller-manager.
	ControllerManagerArgs []string
	// Scheduler runs kube-scheduler, for nodes that somebody else brings.
	Scheduler bool
	// Nodes, if set, runs kube-scheduler and nodes without machines on which pods run as far as the API can tell.
	Nodes *Nodes
}

// Nodes says which nodes KWOK plays.
type Nodes struct {
	// KWOK is the path of the program kwok.
	KWOK string
	// Stages are the files, with their whole paths, that tell KWOK what happens to nodes and pods (see KWOKStages).
	Stages []string
	// Count is the number of nodes.
	Count int
	// Capacity is what each node has. Defaults to 32 CPUs, 256Gi of memory and 110 pods.
	Capacity corev1.ResourceList
	// Labels are the labels of each node.
	Labels map[string]string
}

// HubControllers are the controllers of a hub: what namespaces, service accounts, roles and owners need.
func HubControllers() []string {
	return []string{
		"clusterrole-aggregation-controller",
		"garbage-collector-controller",
		"namespace-controller",
		"root-ca-certificate-publisher-controller",
		serviceAccountController,
		"serviceaccount-token-controller",
		"validatingadmissionpolicy-status-controller",
	}
}

// MemberControllers are the controllers of a member: a hub's, those of quotas and workloads, and those of nodes.
func MemberControllers() []string {
	return append(HubControllers(),
		"cronjob-controller",
		"daemonset-controller",
		"deployment-controller",
		"job-controller",
		"node-lifecycle-controller",
		"persistentvolumeclaim-protection-controller",
		"pod-garbage-collector-controller",
		"replicaset-controller",
		"replicationcontroller-controller",
		"resourcequota-controller",
		"statefulset-controller",
	)
}

// complete returns the options with their defaults, or what is wrong with them.
func (o Options) complete() (Options, error) {
	o.Hub.Name = HubName
	if o.Assets == "" {
		o.Assets = os.Getenv(AssetsVariable)
	}
	if o.ClusterNamespace == "" {
		o.ClusterNamespace = metav1.NamespaceDefault
	}
	if o.Address == "" {
		o.Address = loopback
	}
	if o.Hub.Controllers == nil {
		o.Hub.Controllers = HubControllers()
	}
	o.Members = withAssets(o.Members, filepath.SplitList(os.Getenv(MemberAssetsVariable)))
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("no folder given (Options.Dir)"))
	}
	if o.Assets == "" {
		errs = append(errs, fmt.Errorf("no folder with the control plane's programs given (Options.Assets or %s)", AssetsVariable))
	}
	if net.ParseIP(o.Address) == nil {
		errs = append(errs, fmt.Errorf("no address of this machine: %q (Options.Address)", o.Address))
	}
	return o, errors.Join(append(errs, checkNames(o.Members))...)
}

// withAssets gives members that name no folder of programs one of the given ones, in turn.
func withAssets(members []ControlPlaneOptions, folders []string) []ControlPlaneOptions {
	members = slices.Clone(members)
	for i := range members {
		if members[i].Assets == "" && len(folders) > 0 {
			members[i].Assets = folders[i%len(folders)]
		}
	}
	return members
}

// checkNames says which members have names that cannot be.
func checkNames(members []ControlPlaneOptions) error {
	var errs []error
	taken := sets.New(HubName, programsName)
	for _, m := range members {
		for _, problem := range validation.IsDNS1123Label(m.Name) {
			errs = append(errs, fmt.Errorf("member %q: %s", m.Name, problem))
		}
		if taken.Has(m.Name) {
			errs = append(errs, fmt.Errorf("member %q: the name is taken", m.Name))
		}
		taken.Insert(m.Name)
	}
	return errors.Join(errs...)
}
