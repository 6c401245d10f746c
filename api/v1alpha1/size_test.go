package v1alpha1_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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

// etcd takes 1.5 MiB; the rest is room for messages, longer names and more resources.
const (
	mostClusters = 1000
	mostBytes    = 1<<20 + 1<<16
)

// eight are the resources of a large team, with the most that it has of each in one cluster.
var eight = map[corev1.ResourceName]resource.Quantity{
	"limits.cpu":              resource.MustParse("400"),
	"limits.memory":           resource.MustParse("1600Gi"),
	"persistentvolumeclaims":  resource.MustParse("200"),
	"pods":                    resource.MustParse("2000"),
	"requests.cpu":            resource.MustParse("200"),
	"requests.memory":         resource.MustParse("800Gi"),
	"requests.nvidia.com/gpu": resource.MustParse("32"),
	"requests.storage":        resource.MustParse("20Ti"),
}

// steps are what the requests of pods add up in: 10 thousandths of a CPU, a mebibyte of memory, a gibibyte of storage.
var steps = map[corev1.ResourceName]resource.Quantity{
	"limits.cpu":       resource.MustParse("10m"),
	"limits.memory":    resource.MustParse("1Mi"),
	"requests.cpu":     resource.MustParse("10m"),
	"requests.memory":  resource.MustParse("1Mi"),
	"requests.storage": resource.MustParse("1Gi"),
}

// somewhat returns an amount up to each of eight.
func somewhat(random *rand.Rand) map[corev1.ResourceName]resource.Quantity {
	amounts := make(map[corev1.ResourceName]resource.Quantity, len(eight))
	for _, name := range slices.Sorted(maps.Keys(eight)) {
		most := eight[name]
		step, ok := steps[name]
		if !ok {
			step = resource.MustParse("1")
		}
		count := random.Int64N(1 + int64(most.AsApproximateFloat64()/step.AsApproximateFloat64()))
		step.Mul(count)
		amounts[name] = step
	}
	return amounts
}

// largest returns a status with every field of every cluster set, as if limits moved in the whole fleet at once.
func largest() quotav1alpha1.FederatedQuotaStatus {
	random := rand.New(rand.NewPCG(1, 2))
	status := quotav1alpha1.FederatedQuotaStatus{
		BudgetStatus: quotav1alpha1.BudgetStatus{
			Hard: eight, Granted: eight, Used: eight, Demand: eight, Free: eight,
			Settled:  fmt.Sprintf("0/%d", mostClusters),
			Revision: 1_000_000,
		},
	}
	since := metav1.NewTime(time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC))
	for i := range mostClusters {
		status.Clusters = append(status.Clusters, quotav1alpha1.ClusterStatus{
			Name:     quotav1alpha1.ClusterName(fmt.Sprintf("prod-eu-central-1-%04d", i)),
			UID:      fmt.Sprintf("6f2c1f5e-0b7a-4c55-9b0e-1d2f3a4b%04d", i),
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
	size := storedBytes(t, quota)
	t.Logf("%d clusters with %d resources take %d bytes", mostClusters, len(eight), size)
	if size > mostBytes {
		t.Errorf("%d bytes are more than %d: compact the ledger", size, mostBytes)
	}
}

// TestStatusHasRoomForWhatLeaves stores as many entries and names as the hub manager keeps at most while clusters or
// names leave.
func TestStatusHasRoomForWhatLeaves(t *testing.T) {
	c := newClient(t)
	quota := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "full-"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      eight,
			Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{}},
		},
	}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * mostClusters {
		quota.Status.Clusters = append(quota.Status.Clusters, quotav1alpha1.ClusterStatus{Name: quotav1alpha1.ClusterName(fmt.Sprintf("c%d", i))})
	}
	granted := map[corev1.ResourceName]resource.Quantity{}
	for i := range 64 {
		granted[corev1.ResourceName(fmt.Sprintf("count/c%d", i))] = resource.MustParse("1")
	}
	quota.Status.Clusters[0].Granted = granted
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Error(err)
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
