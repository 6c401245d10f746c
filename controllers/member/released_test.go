package member

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestReleased leaves a ResourceQuota behind, and takes it over again only if it is of the same scopes.
func TestReleased(t *testing.T) {
	share := &quotav1alpha1.QuotaShare{}
	share.Spec.Revision, share.Spec.Hard = 7, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("5")}
	quota := newQuota(share)
	quota.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}
	if released(share, quota) {
		t.Error("a managed ResourceQuota counts as released")
	}

	patch, err := releasePatch(quota)
	quota = patched(t, quota, patch, err)
	limit := quota.Spec.Hard[corev1.ResourcePods]
	if managed(quota) || revisionOf(quota) != 0 || limit.Value() != 3 {
		t.Errorf("left behind with labels %v, annotations %v, limit %s", quota.Labels, quota.Annotations, limit.String())
	}
	if !released(share, quota) {
		t.Error("what was left behind does not count as released")
	}
	scoped := share.DeepCopy()
	scoped.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	if released(scoped, quota) {
		t.Error("one of other scopes is taken over")
	}

	patch, err = specPatch(quota, 9, limits(share, quota))
	quota = patched(t, quota, patch, err)
	limit = quota.Spec.Hard[corev1.ResourcePods]
	if !managed(quota) || revisionOf(quota) != 9 || limit.Value() != 5 || released(share, quota) {
		t.Errorf("taken over with labels %v, annotations %v, limit %s", quota.Labels, quota.Annotations, limit.String())
	}
}

// patched applies a merge patch.
func patched(t *testing.T, quota *corev1.ResourceQuota, patch client.Patch, err error) *corev1.ResourceQuota {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := patch.Data(quota)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(quota)
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		t.Fatal(err)
	}
	result := &corev1.ResourceQuota{}
	if err := json.Unmarshal(after, result); err != nil {
		t.Fatal(err)
	}
	return result
}
