package scaleout

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// config is how to reach the API server that TestMain started, if its programs are at hand.
var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{
		ClusterAPI: []string{"clusters", "machinedeployments"},
		Files:      []string{apiserver.CRD("federatedquotas"), apiserver.CRD("quotapools")},
	}, func(env *envtest.Environment) error {
		config = env.Config
		return nil
	}))
}

// hub is a hub of its own namespace, with the Cluster east in it, whose agent reports demand of a FederatedQuota.
type hub struct {
	*testing.T
	client.Client

	namespace string
	clock     *clocktesting.FakeClock
	recorder  *events.FakeRecorder
	member    client.Client
	r         *Reconciler
}

func newHub(t *testing.T) *hub {
	t.Helper()
	if config == nil {
		t.Skip(fleet.AssetsVariable + " is not set")
	}
	c, err := client.New(config, client.Options{Scheme: schemes.All()})
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{
		T: t, Client: c, clock: clocktesting.NewFakeClock(time.Now()), recorder: events.NewFakeRecorder(100),
		member: fake.NewClientBuilder().WithScheme(schemes.All()).Build(),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hub-"}}
	h.create(namespace)
	h.namespace = namespace.Name
	h.create(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "east"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "east", Port: 1}},
	})
	h.r = h.reconciler(c)
	return h
}

// reconciler returns one that reads what is live from a reader.
func (h *hub) reconciler(live client.Reader) *Reconciler {
	at := client.ObjectKey{Namespace: h.namespace, Name: "east"}
	r := &Reconciler{
		Client: h.Client, Live: live, Members: clustercache.NewFakeClusterCache(h.member, at),
		Clusters: members.Namespaces{Home: h.namespace}, Clock: h.clock, Recorder: h.recorder,
		Patience: DefaultPatience(15 * time.Minute), Timeout: time.Minute,
	}
	return r.of(quotas)
}

func (h *hub) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *hub) create(object client.Object) {
	h.Helper()
	h.must(h.Create(h.Context(), object))
}

// workers makes a MachineDeployment with machines of 4 cpus.
func (h *hub) workers(most string) {
	h.Helper()
	labels := map[string]string{"group": "workers"}
	h.create(&clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "workers", Annotations: map[string]string{
			clusterv1.AutoscalerMinSizeAnnotation: "0", clusterv1.AutoscalerMaxSizeAnnotation: most,
			quotav1alpha1.ScaleOutAnnotation:                   "true",
			"capacity.cluster-autoscaler.kubernetes.io/cpu":    "4",
			"capacity.cluster-autoscaler.kubernetes.io/memory": "16Gi",
		}},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: "east", Replicas: new(int32(0)), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: "east", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("none")},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "a.b", Kind: "K", Name: "n"},
				},
			},
		},
	})
}

// annotate has the MachineDeployment permit something else.
func (h *hub) annotate(permits string) {
	h.Helper()
	d := &clusterv1.MachineDeployment{}
	h.must(h.Get(h.Context(), client.ObjectKey{Namespace: h.namespace, Name: "workers"}, d))
	d.Annotations[quotav1alpha1.ScaleOutAnnotation] = permits
	h.must(h.Update(h.Context(), d))
}

// replicas returns how many machines are wanted.
func (h *hub) replicas() int32 {
	h.Helper()
	d := &clusterv1.MachineDeployment{}
	h.must(h.Get(h.Context(), client.ObjectKey{Namespace: h.namespace, Name: "workers"}, d))
	return *d.Spec.Replicas
}

func cpus(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(amount)}
}

// capacity has a budget follow nodes, and ask for more.
func following() *quotav1alpha1.Capacity {
	return &quotav1alpha1.Capacity{ScaleOut: &quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}}}
}

// quota makes a FederatedQuota of 4 cpus of nodes, all used, of which east asks for a pod of 2 more.
func (h *hub) quota(change func(*quotav1alpha1.FederatedQuota)) client.ObjectKey {
	h.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: cpus("100"), Capacity: following(),
			Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east"}},
		},
	}
	change(fq)
	h.create(fq)
	fq.Status.Hard, fq.Status.Used, fq.Status.Demand = cpus("4"), cpus("4"), cpus("2")
	fq.Status.ObservedGeneration = fq.Generation
	fq.Status.Clusters = []quotav1alpha1.ClusterStatus{{Name: "east", Revision: 1}}
	h.must(h.Status().Update(h.Context(), fq))
	h.must(h.member.Create(h.Context(), &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: fq.Namespace, Name: fq.Name},
		Status: quotav1alpha1.QuotaShareStatus{
			Used: cpus("4"), DemandByShape: []quotav1alpha1.DemandShape{{Amounts: cpus("2"), Unit: cpus("2")}},
		},
	}))
	return client.ObjectKeyFromObject(fq)
}

func (h *hub) read(key client.ObjectKey) *quotav1alpha1.FederatedQuota {
	h.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	h.must(h.Get(h.Context(), key, fq))
	return fq
}
