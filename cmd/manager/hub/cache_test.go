package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestCachedSecrets sees that the hub keeps the way to each cluster, and none of its other keys.
func TestCachedSecrets(t *testing.T) {
	for name, kept := range map[string]bool{
		"east-kubeconfig": true, "east-1-kubeconfig": true, "east-ca": false, "east-etcd": false, "east-sa": false, "east-proxy": false, "kubeconfig": false, "east": false,
	} {
		object, err := kubeconfigsAlone(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{}}}, Data: map[string][]byte{"value": []byte("secret")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if secret := object.(*corev1.Secret); (len(secret.Data) > 0) != kept || len(secret.ManagedFields) > 0 {
			t.Errorf("of %s are cached: %d keys, %d managers", name, len(secret.Data), len(secret.ManagedFields))
		}
	}
}

// TestCachedEntries has cached FederatedQuotas say who has an entry, and in which state, and not how much.
func TestCachedEntries(t *testing.T) {
	amounts := map[corev1.ResourceName]resource.Quantity{"pods": resource.MustParse("1")}
	entry := quotav1alpha1.ClusterStatus{Name: "east", UID: "1", Revision: 7, State: quotav1alpha1.ClusterSettled}
	whole := entry
	whole.Granted, whole.Target, whole.Used, whole.Demand, whole.Message = amounts, amounts, amounts, amounts, "because"
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "compute", ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       quotav1alpha1.FederatedQuotaSpec{Hard: amounts},
		Status:     quotav1alpha1.FederatedQuotaStatus{Clusters: []quotav1alpha1.ClusterStatus{whole}, BudgetStatus: quotav1alpha1.BudgetStatus{Revision: 7, Granted: amounts}},
	}
	want := fq.DeepCopy()
	want.ManagedFields, want.Status.Clusters = nil, []quotav1alpha1.ClusterStatus{entry}
	got, err := entriesAlone(fq)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
