package member_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/coverage"
)

// TestCoverage has the agent note what covers a namespace, by its own account: at first, when the ResourceQuota comes
// into force, when somebody has created the namespace with a note, and when the ResourceQuota is gone.
func TestCoverage(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "covered-", Annotations: map[string]string{quotav1alpha1.CoveredAnnotation: "PriorityClass", "kept": "a"},
	}}
	must(t, as(t, admin).Create(t.Context(), namespace))
	reconciler := &coverage.Reconciler{Client: readable{Client: as(t, agent), reader: as(t, admin)}}
	notes := func(want string) {
		t.Helper()
		_, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: namespace.Name}})
		must(t, err)
		stored := &corev1.Namespace{}
		must(t, as(t, admin).Get(t.Context(), client.ObjectKeyFromObject(namespace), stored))
		got, there := stored.Annotations[quotav1alpha1.CoveredAnnotation]
		if got != want || there != (want != "") || stored.Annotations["kept"] != "a" {
			t.Errorf("annotations %v, want %q", stored.Annotations, want)
		}
	}
	notes("")
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace.Name, Name: "services", Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"},
			Annotations: map[string]string{quotav1alpha1.RevisionAnnotation: "1"},
		},
		Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")},
			ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
				{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"cluster-services"}},
			}},
		},
	}
	must(t, as(t, agent).Create(t.Context(), q))
	notes("") // it limits nothing yet
	q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	must(t, as(t, admin).Status().Update(t.Context(), q))
	notes("PriorityClass:In:cluster-services")
	notes("PriorityClass:In:cluster-services")
	must(t, as(t, agent).Delete(t.Context(), q))
	notes("")
}

// readable writes as the agent, and reads as the agent's cache would.
type readable struct {
	client.Client

	reader client.Reader
}

func (r readable) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return r.reader.Get(ctx, key, object, options...)
}
