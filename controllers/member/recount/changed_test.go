package recount

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestUsageThatIsChangedOnItsWay has a policy of the cluster change the usage that is written: it is written once, and
// not for as long as the policy is there.
func TestUsageThatIsChangedOnItsWay(t *testing.T) {
	pods := func(count string) corev1.ResourceList {
		return corev1.ResourceList{"pods": resource.MustParse(count)}
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "compute", Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		Spec:       corev1.ResourceQuotaSpec{Hard: pods("5")},
		Status:     corev1.ResourceQuotaStatus{Hard: pods("5"), Used: pods("0")},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}}
	writes := 0
	c := fake.NewClientBuilder().WithObjects(quota, pod).WithStatusSubresource(quota).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			if writes++; writes > 1 {
				return errors.New("it is written again and again")
			}
			o.(*corev1.ResourceQuota).Status.Used = pods("0")
			return nil
		},
	}).Build()
	r := &Reconciler{Client: c, Live: c, Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0))}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(quota)}); err != nil || writes != 1 {
		t.Errorf("after %d writes: %v", writes, err)
	}
}
