package predicates_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fedquota/fedquota/controllers/predicates"
)

func TestChanged(t *testing.T) {
	changed := predicates.Changed(func(quota *corev1.ResourceQuota) any { return quota.Spec })
	pods := func(limit string) corev1.ResourceList { return corev1.ResourceList{"pods": resource.MustParse(limit)} }
	for name, tc := range map[string]struct {
		change func(*corev1.ResourceQuota)
		want   bool
	}{
		"the status":                            {change: func(q *corev1.ResourceQuota) { q.Status.Hard = pods("5") }},
		"an annotation":                         {change: func(q *corev1.ResourceQuota) { q.Annotations = map[string]string{"a": "b"} }},
		"the generation":                        {change: func(q *corev1.ResourceQuota) { q.Generation++ }, want: true},
		"the spec, at a generation seen before": {change: func(q *corev1.ResourceQuota) { q.Spec.Hard = pods("5") }, want: true},
		"the same limit in other words":         {change: func(q *corev1.ResourceQuota) { q.Spec.Hard = pods("3000m") }},
		"deletion, at a generation seen before": {change: func(q *corev1.ResourceQuota) { q.DeletionTimestamp = new(metav1.Now()) }, want: true},
		"a finalizer":                           {change: func(q *corev1.ResourceQuota) { q.Finalizers = []string{"a/b"} }, want: true},
		"another of its name":                   {change: func(q *corev1.ResourceQuota) { q.UID = "other" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: corev1.ResourceQuotaSpec{Hard: pods("3")}}
			after := before.DeepCopy()
			tc.change(after)
			if got := changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
