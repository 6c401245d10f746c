package live

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
)

// TestScaleOut says what a budget of 4 cpus would add for a request for 2 more.
func TestScaleOut(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cpus := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
	}
	group := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers", Annotations: map[string]string{
			clusterv1.AutoscalerMinSizeAnnotation: "0", clusterv1.AutoscalerMaxSizeAnnotation: "5",
			quotav1alpha1.ScaleOutAnnotation:                   "true",
			"capacity.cluster-autoscaler.kubernetes.io/cpu":    "4",
			"capacity.cluster-autoscaler.kubernetes.io/memory": "16Gi",
		}},
		Spec: clusterv1.MachineDeploymentSpec{ClusterName: "east", Replicas: new(int32(1))},
	}
	group.Status.ReadyReplicas = new(int32(1))
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east"}}
	share := &quotav1alpha1.QuotaShare{Status: quotav1alpha1.QuotaShareStatus{
		Used: cpus("4"), DemandByShape: []quotav1alpha1.DemandShape{{Amounts: cpus("2"), Unit: cpus("2")}},
	}}
	f := &Fleet{
		Clusters: []members.Cluster{{Cluster: cluster, Name: "east"}}, Members: map[string]*Member{"east": {Share: share}},
		options: Options{Clusters: members.Namespaces{Home: "default"}}, now: time.Now(),
	}
	fq := &quotav1alpha1.FederatedQuota{Spec: quotav1alpha1.FederatedQuotaSpec{
		Hard: cpus("100"), Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east"}},
		Capacity: &quotav1alpha1.Capacity{},
	}}
	fq.Status.Used, fq.Status.Demand = cpus("4"), cpus("2")
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, group).Build()
	for _, c := range []struct {
		rule *quotav1alpha1.ScaleOut
		want string
	}{
		{nil, ""},
		{&quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}}, "would scale MachineDeployment default/workers of Cluster east from 1 to 2 replicas"},
		{&quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}, "no MachineDeployment of it is selected"},
	} {
		fq.Spec.Capacity.ScaleOut = c.rule
		got, err := f.ScaleOut(t.Context(), hub, fq, amount.List{corev1.ResourceRequestsCPU: 4_000})
		if err != nil || !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}
