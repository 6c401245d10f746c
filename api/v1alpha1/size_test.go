package v1alpha1_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// etcd takes 1.5 MiB; the rest is room for what the API server adds and for fleets beyond the plan.
const (
	mostClusters = 1000
	mostBytes    = 1 << 20
)

// eight are resources as a team orders them, with the most that one cluster may have of each.
var eight = map[corev1.ResourceName]resource.Quantity{
	"limits.cpu":              resource.MustParse("1200"),
	"limits.memory":           resource.MustParse("4800Gi"),
	"persistentvolumeclaims":  resource.MustParse("400"),
	"pods":                    resource.MustParse("5000"),
	"requests.cpu":            resource.MustParse("800"),
	"requests.memory":         resource.MustParse("3200Gi"),
	"requests.nvidia.com/gpu": resource.MustParse("64"),
	"requests.storage":        resource.MustParse("40Ti"),
}

// somewhat returns an amount up to each of eight, as uneven as the requests of pods add up to.
func somewhat(random *rand.Rand) map[corev1.ResourceName]resource.Quantity {
	amounts := make(map[corev1.ResourceName]resource.Quantity, len(eight))
	for name, most := range eight {
		var q *resource.Quantity
		switch {
		case most.Format == resource.BinarySI:
			const mebibyte = 1 << 20
			q = resource.NewQuantity(random.Int64N(most.Value()/mebibyte)*mebibyte, resource.BinarySI)
		case name == corev1.ResourceRequestsCPU || name == corev1.ResourceLimitsCPU:
			q = resource.NewMilliQuantity(random.Int64N(most.MilliValue()), resource.DecimalSI)
		default:
			q = resource.NewQuantity(random.Int64N(most.Value()), resource.DecimalSI)
		}
		amounts[name] = *q
	}
	return amounts
}

// largest returns a status with every field of every cluster set, as if limits moved in the whole fleet at once.
func largest() quotav1alpha1.FederatedQuotaStatus {
	random := rand.New(rand.NewPCG(1, 2))
	status := quotav1alpha1.FederatedQuotaStatus{
		Hard: eight, Granted: eight, Used: eight, Demand: eight, Free: eight,
		Settled:  fmt.Sprintf("0/%d", mostClusters),
		Revision: 1_000_000,
	}
	since := metav1.NewTime(time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC))
	for i := range mostClusters {
		status.Clusters = append(status.Clusters, quotav1alpha1.ClusterStatus{
			Name:     quotav1alpha1.ClusterName(fmt.Sprintf("prod-eu-central-1-workload-%04d", i)),
			Revision: 1_000_000 + int64(i),
			Granted:  somewhat(random),
			Target:   somewhat(random),
			Used:     somewhat(random),
			Demand:   somewhat(random),
			State:    quotav1alpha1.ClusterSettling,
			Since:    &since,
		})
	}
	return status
}

func TestTheLargestStatusFitsIntoEtcd(t *testing.T) {
	c := newClient(t)
	quota := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "large-"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      eight,
			Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{}},
		},
	}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = largest()
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	if size := storedBytes(t, quota); size > mostBytes {
		t.Errorf("%d clusters with %d resources take %d bytes, more than %d", mostClusters, len(eight), size, mostBytes)
	} else {
		t.Logf("%d clusters with %d resources take %d bytes, of %d", mostClusters, len(eight), size, mostBytes)
	}
}

// storedBytes returns the size of the object as the API server sends it, which is what it stores but for a few bytes.
func storedBytes(t *testing.T, quota client.Object) int {
	t.Helper()
	config := rest.CopyConfig(server)
	config.GroupVersion = &quotav1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := raw.Get().Namespace(quota.GetNamespace()).Resource("federatedquotas").Name(quota.GetName()).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(content)
}
