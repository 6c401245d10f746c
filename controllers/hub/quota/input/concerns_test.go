package input

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

func TestConcerns(t *testing.T) {
	cluster := members.Namespaces{}.Of(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "west", Labels: map[string]string{"tier": "prod"}}})
	learned := quotav1alpha1.ClusterStatus{Name: "east", Revision: 3}
	for name, c := range map[string]struct {
		change func(*quotav1alpha1.FederatedQuota)
		want   bool
	}{
		"another cluster's": {change: func(*quotav1alpha1.FederatedQuota) {}},
		"an entry": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) {
			fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{Name: "west"})
		}},
		"selected": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Placement.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
		}},
		"named": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Placement.Clusters = []quotav1alpha1.ClusterName{"west"}
		}},
		"a rule of its own": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Distribution.Rules = []quotav1alpha1.DistributionRule{{Clusters: []quotav1alpha1.ClusterName{"west"}}}
		}},
		"destroyed": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Removal.Destroyed = []quotav1alpha1.ClusterName{"west"}
		}},
		"nobody was read": {want: true, change: func(fq *quotav1alpha1.FederatedQuota) { fq.Status.Clusters[0].Revision = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			fq := &quotav1alpha1.FederatedQuota{}
			fq.Status.Clusters = []quotav1alpha1.ClusterStatus{learned}
			c.change(fq)
			if got := Concerns(fq, cluster); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
