package nativequota_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/nativequota"
)

func TestForeign(t *testing.T) {
	type m = map[string]string
	for name, tc := range map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"nobody says": {want: "q"},
		"kyverno":     {meta: metav1.ObjectMeta{Labels: m{"generate.kyverno.io/policy-name": "add-quota"}}, want: "q (Kyverno policy add-quota makes it: exclude the namespace in its rule)"},
		"gke":         {meta: metav1.ObjectMeta{Name: "gke-resource-quotas"}, want: "gke-resource-quotas (GKE keeps it in every namespace: accept it)"},
		"rancher": {
			meta: metav1.ObjectMeta{Labels: m{"resourcequota.management.cattle.io/default-resource-quota": "true"}},
			want: "q (Rancher makes it: take the quota off the project)",
		},
		"argo cd": {
			meta: metav1.ObjectMeta{Annotations: m{"argocd.argoproj.io/tracking-id": "tenants:/ResourceQuota:team-a/q"}},
			want: "q (Argo CD application tenants applies it: take it out there)",
		},
		"flux": {meta: metav1.ObjectMeta{Labels: m{"kustomize.toolkit.fluxcd.io/name": "apps"}}, want: "q (Flux Kustomization apps applies it: take it out there)"},
		"an owner": {
			meta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Tenant", Name: "oil", Controller: new(true)}}},
			want: "q (Tenant oil owns it: change that)",
		},
		"a writer": {
			meta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", Subresource: "status"}, {Manager: "terraform"}}},
			want: "q (written by terraform)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			quota := &corev1.ResourceQuota{ObjectMeta: tc.meta}
			if quota.Name == "" {
				quota.Name = "q"
			}
			if got := nativequota.Foreign(quota); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
