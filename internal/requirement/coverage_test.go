package requirement_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/requirement"
)

func quota(scope corev1.ResourceQuotaSpec, names ...corev1.ResourceName) corev1.ResourceQuota {
	hard := corev1.ResourceList{}
	for _, name := range names {
		hard[name] = resource.MustParse("1")
	}
	return corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		Spec:       scope, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: hard},
	}
}

func selector(list ...corev1.ScopedResourceSelectorRequirement) corev1.ResourceQuotaSpec {
	return corev1.ResourceQuotaSpec{ScopeSelector: &corev1.ScopeSelector{MatchExpressions: list}}
}

func TestCoverage(t *testing.T) {
	classes := func(operator corev1.ScopeSelectorOperator, values ...string) corev1.ScopedResourceSelectorRequirement {
		return corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: values}
	}
	services := quota(selector(classes(corev1.ScopeSelectorOpIn, "services", "a")), "pods")
	foreign := *services.DeepCopy()
	foreign.Labels = nil
	pending := *services.DeepCopy()
	pending.Status = corev1.ResourceQuotaStatus{}
	uncounted := quota(corev1.ResourceQuotaSpec{}, gold)
	uncounted.Status.Used = nil
	for name, tc := range map[string]struct {
		quotas []corev1.ResourceQuota
		want   string
	}{
		"none":                        {},
		"a quota of all objects":      {quotas: []corev1.ResourceQuota{quota(corev1.ResourceQuotaSpec{}, "pods", "requests.cpu", "count/deployments.apps")}},
		"classes":                     {quotas: []corev1.ResourceQuota{services}, want: "PriorityClass:In:a,services"},
		"one that is not managed":     {quotas: []corev1.ResourceQuota{foreign}},
		"one that is not in force":    {quotas: []corev1.ResourceQuota{pending}},
		"a name that is not counted":  {quotas: []corev1.ResourceQuota{uncounted}},
		"any class, in either field":  {quotas: []corev1.ResourceQuota{quota(corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"PriorityClass"}}, "pods"), quota(selector(classes(corev1.ScopeSelectorOpExists)), "pods")}, want: "PriorityClass"},
		"no class":                    {quotas: []corev1.ResourceQuota{quota(selector(classes(corev1.ScopeSelectorOpDoesNotExist)), "pods")}, want: "PriorityClass:DoesNotExist"},
		"names":                       {quotas: []corev1.ResourceQuota{quota(corev1.ResourceQuotaSpec{}, gpu, gold, "pods")}, want: gold + " " + gpu},
		"several quotas, in an order": {quotas: []corev1.ResourceQuota{quota(corev1.ResourceQuotaSpec{}, gpu), services, services}, want: "PriorityClass:In:a,services; " + gpu},
		"scopes and names":            {quotas: []corev1.ResourceQuota{quota(corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{"NotTerminating"}, ScopeSelector: selector(classes(corev1.ScopeSelectorOpNotIn, "b")).ScopeSelector}, gpu, "pods")}, want: "NotTerminating PriorityClass:NotIn:b " + gpu},
	} {
		t.Run(name, func(t *testing.T) {
			if got := requirement.Coverage(tc.quotas); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
