package share

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/share/managed"
)

// enforcing returns a share of so many pods, and its ResourceQuota that enforces it.
func enforcing(pods, used string) (*quotav1alpha1.QuotaShare, *corev1.ResourceQuota) {
	share := &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Revision: 3, Hard: podsOnly(pods)}}
	quota := managed.New(share, share.Spec.Hard)
	quota.ResourceVersion = "1"
	quota.Status.Hard, quota.Status.Used = podsOnly(pods), podsOnly(used)
	return share, quota
}

// TestCalm has usage that may wait for the next report, and such that somebody waits for.
func TestCalm(t *testing.T) {
	tests := map[string]struct {
		change func(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota)
		want   bool
	}{
		"within the limit": {want: true},
		"somebody asks for more": {change: func(s *quotav1alpha1.QuotaShare, _ *corev1.ResourceQuota) {
			s.Status.Demand = podsOnly("1")
		}},
		"the limit follows usage down": {change: func(s *quotav1alpha1.QuotaShare, _ *corev1.ResourceQuota) {
			s.Spec.Hard = podsOnly("2")
		}},
		"a new revision": {change: func(s *quotav1alpha1.QuotaShare, _ *corev1.ResourceQuota) { s.Spec.Revision++ }},
		"the limit is not in force": {change: func(_ *quotav1alpha1.QuotaShare, q *corev1.ResourceQuota) {
			q.Status.Hard = podsOnly("4")
		}},
		"above the limit": {change: func(_ *quotav1alpha1.QuotaShare, q *corev1.ResourceQuota) { q.Status.Used = podsOnly("6") }},
		"the share goes": {change: func(s *quotav1alpha1.QuotaShare, _ *corev1.ResourceQuota) {
			s.DeletionTimestamp = new(metav1.Now())
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			share, quota := enforcing("5", "3")
			if tc.change != nil {
				tc.change(share, quota)
			}
			if got := calm(share, quota); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestSameButUsed tells a charge from all other changes of a ResourceQuota.
func TestSameButUsed(t *testing.T) {
	tests := map[string]struct {
		change func(quota *corev1.ResourceQuota)
		want   bool
	}{
		"a charge":    {change: func(q *corev1.ResourceQuota) { q.Status.Used = podsOnly("4") }, want: true},
		"a limit":     {change: func(q *corev1.ResourceQuota) { q.Spec.Hard = podsOnly("4") }},
		"in force":    {change: func(q *corev1.ResourceQuota) { q.Status.Hard = podsOnly("4") }},
		"a revision":  {change: func(q *corev1.ResourceQuota) { q.Annotations[quotav1alpha1.RevisionAnnotation] = "4" }},
		"the label":   {change: func(q *corev1.ResourceQuota) { q.Labels = nil }},
		"first count": {change: func(q *corev1.ResourceQuota) { q.Status.Used["secrets"] = resource.MustParse("1") }},
		"a resync":    {change: func(q *corev1.ResourceQuota) { q.ResourceVersion = "1" }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, before := enforcing("5", "3")
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			tc.change(after)
			if got := sameButUsed(before, after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func podsOnly(count string) corev1.ResourceList {
	if count == "" {
		return nil
	}
	return corev1.ResourceList{"pods": resource.MustParse(count)}
}
