package nativequota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// TestResizesThatWait has a pod be charged for what it is to have as long as its node may give it that, and for what it
// has once the kubelet says that the node never can: so does native quota whenever it counts.
func TestResizesThatWait(t *testing.T) {
	cpus := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
	}
	hard := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("100")}
	for reason, want := range map[string]string{"": "90", corev1.PodReasonDeferred: "90", corev1.PodReasonInfeasible: "1"} {
		t.Run(reason, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: cpus("90")}}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "main", AllocatedResources: cpus("1"), Resources: &corev1.ResourceRequirements{Requests: cpus("1")},
			}}
			if reason != "" {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason}}
			}
			charge := nativequota.Charge{Resource: nativequota.Pods, Object: pod}
			got := charge.To(&corev1.ResourceQuotaSpec{Hard: hard}, hard)
			if diff := cmp.Diff(corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(want)}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
