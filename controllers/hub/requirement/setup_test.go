package requirement

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestOtherCluster has Clusters change: budgets mark each one again and again, which asks nothing of members.
func TestOtherCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*clusterv1.Cluster)
		want   bool
	}{
		"nothing":        {change: func(*clusterv1.Cluster) {}},
		"a marker":       {change: func(c *clusterv1.Cluster) { c.Annotations[quotav1alpha1.MemberAnnotation] = "7" }},
		"another label":  {change: func(c *clusterv1.Cluster) { c.Labels = map[string]string{"tier": "batch"} }, want: true},
		"another spec":   {change: func(c *clusterv1.Cluster) { c.Generation++ }, want: true},
		"it goes":        {change: func(c *clusterv1.Cluster) { c.DeletionTimestamp = new(metav1.Now()) }, want: true},
		"it is replaced": {change: func(c *clusterv1.Cluster) { c.UID = "other" }, want: true},
		"said to be destroyed": {
			change: func(c *clusterv1.Cluster) { c.Annotations[quotav1alpha1.DestroyedAnnotation] = "burnt down" }, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east", UID: "1", Annotations: map[string]string{quotav1alpha1.MemberAnnotation: "6"}}}
			after := before.DeepCopy()
			tc.change(after)
			if got := otherCluster.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("lets it through: %t, want %t", got, tc.want)
			}
		})
	}
}
