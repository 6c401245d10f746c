package recount

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestFell has usage change in ways that leave out a pod, and in others.
func TestFell(t *testing.T) {
	used := func(pods, services string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse(pods), corev1.ResourceServices: resource.MustParse(services),
		}}}
	}
	claims := func(storage string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{
			"gold.storageclass.storage.k8s.io/requests.storage": resource.MustParse(storage),
		}}}
	}
	tests := map[string]struct {
		before, after *corev1.ResourceQuota
		want          bool
	}{
		"fewer pods":        {before: used("2", "1"), after: used("1", "1"), want: true},
		"as many pods":      {before: used("2", "1"), after: used("2", "1")},
		"more pods":         {before: used("2", "1"), after: used("3", "1")},
		"fewer services":    {before: used("2", "1"), after: used("2", "0")},
		"counted for once":  {before: &corev1.ResourceQuota{}, after: used("2", "1")},
		"fewer claims":      {before: claims("2"), after: claims("1"), want: true},
		"not counted again": {before: used("2", "1"), after: &corev1.ResourceQuota{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fell(tt.before, tt.after); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
