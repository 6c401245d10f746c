package live

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/amount"
)

// of4 is a budget of 4 cpus.
var of4 = amount.List{corev1.ResourceRequestsCPU: 4_000}

func cpus(value string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
}

// east is a Cluster, and workers its MachineDeployment with a machine of 4 cpus.
func east() (*clusterv1.Cluster, *clusterv1.MachineDeployment) {
	workers := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers", Annotations: map[string]string{
			clusterv1.AutoscalerMinSizeAnnotation: "0", clusterv1.AutoscalerMaxSizeAnnotation: "5",
			quotav1alpha1.ScaleOutAnnotation:                   "true",
			"capacity.cluster-autoscaler.kubernetes.io/cpu":    "4",
			"capacity.cluster-autoscaler.kubernetes.io/memory": "16Gi",
		}},
		Spec: clusterv1.MachineDeploymentSpec{ClusterName: "east", Replicas: new(int32(1))},
	}
	workers.Status.ReadyReplicas = new(int32(1))
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east"}}, workers
}

// asks returns a FederatedQuota, and its share in east, which uses 4 cpus and asks for a pod of 2 more.
func asks() (*quotav1alpha1.FederatedQuota, *quotav1alpha1.QuotaShare) {
	about := metav1.ObjectMeta{Namespace: "vision", Name: "compute"}
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: about, Spec: quotav1alpha1.FederatedQuotaSpec{
		Hard: cpus("100"), Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east"}},
	}}
	fq.Status.Used, fq.Status.Demand = cpus("4"), cpus("2")
	fq.Status.Clusters = []quotav1alpha1.ClusterStatus{{Name: "east"}}
	return fq, &quotav1alpha1.QuotaShare{ObjectMeta: about, Status: quotav1alpha1.QuotaShareStatus{
		Used: cpus("4"), DemandByShape: []quotav1alpha1.DemandShape{{Amounts: cpus("2"), Unit: cpus("2")}},
	}}
}

const wouldScale = "would scale MachineDeployment default/workers of Cluster east from 1 to 2 replicas"

// noMoreNodes is a CapacityQuota of the one node that is there.
func noMoreNodes() *unstructured.Unstructured {
	q := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"limits": map[string]any{"resources": map[string]any{"nodes": "1"}}},
		"status": map[string]any{"used": map[string]any{"resources": map[string]any{"nodes": "1"}}},
	}}
	q.SetAPIVersion("autoscaling.x-k8s.io/v1beta1")
	q.SetKind("CapacityQuota")
	q.SetName("total")
	return q
}

// TestScaleOut says what a budget of 4 cpus would add for a request for 2 more.
func TestScaleOut(t *testing.T) {
	cluster, workers := east()
	fq, share := asks()
	fq.Spec.Capacity = &quotav1alpha1.Capacity{}
	member := fake.NewClientBuilder().WithScheme(schemes.All()).Build()
	f := &Fleet{
		Clusters: []members.Cluster{{Cluster: cluster, Name: "east"}}, Members: map[string]*Member{"east": {Share: share, Client: member}},
		options: Options{Clusters: members.Namespaces{Home: "default"}}, now: time.Now(),
	}
	hub := fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster, workers).Build()
	for _, c := range []struct {
		rule *quotav1alpha1.ScaleOut
		want string
	}{
		{nil, ""},
		{&quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}}, wouldScale},
		{&quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}, "no MachineDeployment of it is selected"},
	} {
		fq.Spec.Capacity.ScaleOut = c.rule
		got, hint := f.ScaleOut(t.Context(), hub, fq, of4)
		if hint != "" || !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("got %q, %q", got, hint)
		}
	}
	if err := member.Create(t.Context(), noMoreNodes()); err != nil {
		t.Fatal(err)
	}
	fq.Spec.Capacity.ScaleOut = &quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}}
	if got, _ := f.ScaleOut(t.Context(), hub, fq, of4); !strings.Contains(got, "CapacityQuota total allows 1 of nodes") {
		t.Errorf("where a CapacityQuota leaves no room, got %q", got)
	}
}

// TestScaleOutOfPool says the same of a pool, by what a namespace below it asks for, where its cluster can be
// read.
func TestScaleOutOfPool(t *testing.T) {
	cluster, workers := east()
	fq, share := asks()
	way := clientcmdapi.NewConfig()
	way.Clusters["east"], way.AuthInfos["me"] = &clientcmdapi.Cluster{Server: "https://east"}, &clientcmdapi.AuthInfo{}
	way.Contexts["east"], way.CurrentContext = &clientcmdapi.Context{Cluster: "east", AuthInfo: "me"}, "east"
	kubeconfig, err := clientcmd.Write(*way)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig},
	}
	hub := fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster, workers, secret).Build()
	member := fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(share).Build()
	reached := func(*rest.Config) (client.WithWatch, error) { return member, nil }
	bounded := func(*rest.Config) (client.WithWatch, error) {
		return fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(share, noMoreNodes()).Build(), nil
	}
	unreached := func(*rest.Config) (client.WithWatch, error) { return nil, errors.New("no way") }
	asking := &quotav1alpha1.QuotaPool{Spec: quotav1alpha1.QuotaPoolSpec{
		Hard: cpus("100"), Capacity: &quotav1alpha1.PoolCapacity{Capacity: quotav1alpha1.Capacity{
			ScaleOut: &quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}},
		}},
	}}
	asking.Status.Used, asking.Status.Demand = cpus("4"), cpus("2")
	silent := asking.DeepCopy()
	silent.Spec.Capacity.ScaleOut = nil
	for _, c := range []struct {
		pool       *quotav1alpha1.QuotaPool
		connect    func(*rest.Config) (client.WithWatch, error)
		want, hint string
	}{
		{asking, reached, wouldScale, ""},
		{asking, bounded, "CapacityQuota total allows 1 of nodes, 1 are there", ""},
		{asking, unreached, "nothing is asked for that needs more nodes", "could not be read counts for no nodes: east"},
		{silent, reached, "", ""},
	} {
		env := &cli.Env{Clock: clocktesting.NewFakePassiveClock(time.Now()), Connect: c.connect}
		got, hint := ScaleOutOfPool(t.Context(), env, hub, c.pool, []*quotav1alpha1.FederatedQuota{fq}, of4,
			&Options{Clusters: members.Namespaces{Home: "default"}})
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") || !strings.Contains(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("got %q, %q", got, hint)
		}
	}
}
