package admission

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// TestMappedClasses judges a claim of devices by the extended resource that their class stands for, and leaves it to
// native quota where that is not known.
func TestMappedClasses(t *testing.T) {
	claim, made := devices(), devices()
	made.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	stands := map[string]string{"gpu": "example.com/gpu", "nic": ""}
	for name, tc := range map[string]struct {
		classes map[string]string
		claim   *resourcev1.ResourceClaim
		name    corev1.ResourceName
		denied  string
	}{
		"by the resource":          {classes: stands, claim: claim, name: "requests.example.com/gpu", denied: "requested: requests.example.com/gpu=3"},
		"by its class":             {classes: stands, claim: claim, name: "requests.deviceclass.resource.kubernetes.io/gpu", denied: "requested: requests.deviceclass.resource.kubernetes.io/gpu=3"},
		"of another resource":      {classes: stands, claim: claim, name: "requests.example.com/nic"},
		"made by the scheduler":    {classes: stands, claim: made, name: "requests.example.com/gpu"},
		"of a class like others":   {classes: map[string]string{}, claim: claim, name: "requests.example.com/gpu"},
		"when nobody knows it now": {claim: claim, name: "requests.example.com/gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "0")
				s.classes = tc.classes
				quota := s.quota.DeepCopy()
				quota.Status.Hard = corev1.ResourceList{tc.name: resource.MustParse("2")}
				quota.Status.Used, quota.Spec.Hard = corev1.ResourceList{tc.name: resource.MustParse("0")}, quota.Status.Hard
				s.quota, s.live = quota, quota
				s.gate.SetQuota(quota)
				got := s.gate.Admit(t.Context(), Request{
					Namespace: key.Namespace, DryRun: true, Charge: nativequota.Charge{Resource: nativequota.ResourceClaims, Object: tc.claim},
				})
				if (tc.denied == "") != (got == "") || !strings.Contains(got, tc.denied) {
					t.Errorf("got %q, want %q", got, tc.denied)
				}
			})
		})
	}
}
