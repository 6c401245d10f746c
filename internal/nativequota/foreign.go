package nativequota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// ForeignRisk says what ResourceQuotas that the agent does not manage mean to the budget.
const ForeignRisk = "Each refuses requests by itself, whatever the budget has left. " +
	"And where requests meet, the API server may let one " +
	"through that one of two ResourceQuotas has refused, and count it nowhere (kubernetes/kubernetes#141904). Remove them where they " +
	"are made, or name them in spec.existingQuotas.accepted of the FederatedQuota"

// origin is how to tell who makes a ResourceQuota, and what to do there.
type origin struct {
	// key is a label or an annotation that the maker sets. Its value takes the place of %s.
	key    string
	advice string
}

// origins are those of tools that make a ResourceQuota again when it is deleted.
var origins = []origin{
	{
		quotav1alpha1.ReleasedAnnotation,
		"fedquota has released it, and this budget does not limit all that it does: delete it",
	},
	{"generate.kyverno.io/policy-name", "Kyverno policy %s makes it: exclude the namespace in its rule"},
	{"resourcequota.management.cattle.io/default-resource-quota", "Rancher makes it: take the quota off the project"},
	{"hnc.x-k8s.io/inherited-from", "HNC copies it from namespace %s: exclude this namespace there"},
	{"capsule.clastix.io/tenant", "Capsule tenant %s makes it: take it out of its resourceQuotas"},
	{"argocd.argoproj.io/tracking-id", "Argo CD application %s applies it: take it out there"},
	{"argocd.argoproj.io/instance", "Argo CD application %s applies it: take it out there"},
	{"helm.toolkit.fluxcd.io/name", "Flux HelmRelease %s applies it: take it out there"},
	{"kustomize.toolkit.fluxcd.io/name", "Flux Kustomization %s applies it: take it out there"},
	{"meta.helm.sh/release-name", "Helm release %s has it: take it out there"},
}

// gkeQuota is the name of the ResourceQuota that GKE keeps in every namespace of some clusters.
const gkeQuota = "gke-resource-quotas"

// Foreign names a ResourceQuota that the agent does not manage. As far as it shows who makes it, the name comes with
// that, and with what to do there.
func Foreign(quota *corev1.ResourceQuota) string {
	if advice := adviceOn(quota); advice != "" {
		return fmt.Sprintf("%s (%s)", quota.Name, advice)
	}
	return quota.Name
}

func adviceOn(quota *corev1.ResourceQuota) string {
	if quota.Name == gkeQuota {
		return "GKE keeps it in every namespace: accept it"
	}
	for _, o := range origins {
		value, found := quota.Annotations[o.key]
		if !found {
			value, found = quota.Labels[o.key]
		}
		if found {
			who, _, _ := strings.Cut(value, ":") // a tracking id goes on with the object
			return strings.Replace(o.advice, "%s", cmp.Or(who, "unknown"), 1)
		}
	}
	if owner := metav1.GetControllerOf(quota); owner != nil {
		return fmt.Sprintf("%s %s owns it: change that", owner.Kind, owner.Name)
	}
	if writer := writerOf(quota); writer != "" {
		return "written by " + writer
	}
	return ""
}

// writerOf returns who has written the limits of a ResourceQuota last, as field managers state it.
func writerOf(quota *corev1.ResourceQuota) string {
	i := slices.IndexFunc(quota.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Subresource == "" })
	if i < 0 {
		return ""
	}
	return quota.ManagedFields[i].Manager
}
