// Package requirement is what members know of QuotaRequirements: which quotas cover a namespace, in a text that its
// agent writes there, and the policy that reads this text, which the hub writes. Both are pure.
package requirement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// What separates the quotas of a namespace in the text, the words of a quota, the parts of a scope with an operator,
// and its values. None of them can be in a name.
const (
	betweenQuotas = "; "
	betweenWords  = " "
	betweenParts  = ":"
	betweenValues = ","
)

// Coverage returns what the managed ResourceQuotas of a namespace cover that are in force, such as
// "PriorityClass:In:cluster-services; gold.storageclass.storage.k8s.io/requests.storage". A word with a capital is a
// scope, any other a resource. Resources that nobody can require are left out, and so are quotas that cover nothing
// else.
func Coverage(quotas []corev1.ResourceQuota) string {
	var texts []string
	for i := range quotas {
		if !nativequota.IsManaged(&quotas[i]) || len(quotas[i].Status.Hard) == 0 {
			continue
		}
		if words := append(scopesOf(&quotas[i].Spec), resourcesOf(&quotas[i])...); len(words) > 0 {
			texts = append(texts, strings.Join(words, betweenWords))
		}
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), betweenQuotas)
}

// scopesOf returns the words for the scopes of a quota.
func scopesOf(spec *corev1.ResourceQuotaSpec) []string {
	words := make([]string, 0, len(spec.Scopes))
	for _, scope := range spec.Scopes {
		words = append(words, string(scope))
	}
	if spec.ScopeSelector != nil {
		for _, e := range spec.ScopeSelector.MatchExpressions {
			words = append(words, scopeWord(e))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func scopeWord(e corev1.ScopedResourceSelectorRequirement) string {
	switch e.Operator {
	case corev1.ScopeSelectorOpExists:
		return string(e.ScopeName)
	case corev1.ScopeSelectorOpDoesNotExist:
		return string(e.ScopeName) + betweenParts + string(e.Operator)
	default:
		return string(
			e.ScopeName,
		) + betweenParts + string(
			e.Operator,
		) + betweenParts + strings.Join(
			slices.Sorted(slices.Values(e.Values)), betweenValues,
		)
	}
}

// resourcesOf returns the names that can be required and that the quota limits and counts.
func resourcesOf(quota *corev1.ResourceQuota) []string {
	var words []string
	for name := range quota.Status.Hard {
		_, counted := quota.Status.Used[name]
		if text := string(name); counted && strings.Contains(text, "/") && !strings.HasPrefix(text, "count/") {
			words = append(words, text)
		}
	}
	slices.Sort(words)
	return words
}
