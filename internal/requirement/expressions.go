package requirement

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// variables are what the validations of all requirements are made of. The API server computes one when it is first
// needed. Those of a pod are for requests of pods alone, and those of a claim for requests of volume claims.
var variables = []admissionregistrationv1.Variable{
	{Name: "pod", Expression: "request.resource.resource == 'pods'"},
	{Name: "claim", Expression: "request.resource.resource == 'persistentvolumeclaims'"},
	{Name: "creates", Expression: "request.operation == 'CREATE'"},
	{Name: "labels", Expression: "namespaceObject.metadata.?labels.orValue({})"},
	{
		Name:       "covered",
		Expression: "namespaceObject.metadata.?annotations.orValue({})[?'" + quotav1alpha1.CoveredAnnotation + "'].orValue('')",
	},
	// Each quota of the namespace as a list of words, of which the first letter of a scope is a capital.
	{
		Name:       "quotas",
		Expression: "variables.covered.split('" + betweenQuotas + "').map(q, q.split('" + betweenWords + "'))",
	},

	{Name: "containers", Expression: "object.spec.containers + object.spec.?initContainers.orValue([])"},
	{Name: "priorityClass", Expression: "object.spec.?priorityClassName.orValue('')"},
	{Name: "terminating", Expression: "object.spec.?activeDeadlineSeconds.orValue(-1) >= 0"},
	{Name: "wasTerminating", Expression: "oldObject.spec.?activeDeadlineSeconds.orValue(-1) >= 0"},
	// The API server knows the class of a new pod before it asks policies.
	{Name: "bestEffort", Expression: "object.?status.?qosClass.orValue('') == 'BestEffort'"},
	{Name: "affinities", Expression: "[object.spec.?affinity.?podAffinity, object.spec.?affinity.?podAntiAffinity]"},
	{Name: "crossNamespace", Expression: "variables.affinities.exists(a, " +
		"a.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).exists(t, " + crossesNamespaces("t") + ") || " +
		"a.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).exists(t, " +
		crossesNamespaces("t.podAffinityTerm") + "))"},

	{Name: "attributesClass", Expression: "object.spec.?volumeAttributesClassName.orValue('')"},
	{
		Name:       "wasAttributesClass",
		Expression: "variables.creates ? '' : oldObject.spec.?volumeAttributesClassName.orValue('')",
	},
	// An annotation of before there was the field goes before it, for quotas and for who makes the volume.
	{Name: "storageClass", Expression: storageClassOf("object")},
	{Name: "wasStorageClass", Expression: "variables.creates ? '' : " + storageClassOf("oldObject")},
	{Name: "grows", Expression: "!variables.creates && " +
		"quantity(object.spec.resources.requests['storage'])" +
		".isGreaterThan(quantity(oldObject.spec.resources.requests['storage']))"},
}

func storageClassOf(claim string) string {
	return claim + ".metadata.?annotations[?'" + corev1.BetaStorageClassAnnotation + "'].orValue(" +
		claim + ".spec.?storageClassName.orValue(''))"
}

func crossesNamespaces(term string) string {
	return fmt.Sprintf("(has(%s.namespaces) && %[1]s.namespaces.size() > 0) || has(%[1]s.namespaceSelector)", term)
}

// isDeadline says whether an update of a pod can bring it into a scope.
func isDeadline(scope corev1.ResourceQuotaScope) bool {
	return scope == corev1.ResourceQuotaScopeTerminating || scope == corev1.ResourceQuotaScopeNotTerminating
}

// entersScope returns whether a request brings an object into a scope. What is in it already is left alone, whatever
// else changes.
func entersScope(scope corev1.ScopedResourceSelectorRequirement) string {
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return "variables.claim && " + classMatches("variables.attributesClass", scope) +
			" && (variables.creates || variables.attributesClass != variables.wasAttributesClass)"
	case corev1.ResourceQuotaScopePriorityClass:
		return "variables.pod && variables.creates && " + classMatches("variables.priorityClass", scope)
	case corev1.ResourceQuotaScopeTerminating:
		return "variables.pod && variables.terminating && (variables.creates || !variables.wasTerminating)"
	case corev1.ResourceQuotaScopeNotTerminating:
		return "variables.pod && !variables.terminating && (variables.creates || variables.wasTerminating)"
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return "variables.pod && variables.creates && variables.crossNamespace"
	default:
		return "variables.pod && variables.creates && variables.bestEffort == " + fmt.Sprint(
			scope.ScopeName == corev1.ResourceQuotaScopeBestEffort,
		)
	}
}

// classMatches returns whether a class is as a scope demands. No class has an empty name.
func classMatches(class string, scope corev1.ScopedResourceSelectorRequirement) string {
	switch scope.Operator {
	case corev1.ScopeSelectorOpIn:
		return class + " in " + literals(scope.Values)
	case corev1.ScopeSelectorOpNotIn:
		return "!(" + class + " in " + literals(scope.Values) + ")"
	case corev1.ScopeSelectorOpDoesNotExist:
		return class + " == ''"
	default:
		return class + " != ''"
	}
}

// coveredScope returns whether a quota covers the scope: it has the same one, and matches the object by it. So does
// native quota decide.
func coveredScope(scope corev1.ScopedResourceSelectorRequirement) string {
	word := "w == '" + string(scope.ScopeName) + "'"
	if class := classOf(scope.ScopeName); class != "" {
		word = wordMatchesClass(scope.ScopeName, class)
	}
	return "variables.quotas.exists(q, q.exists(w, " + word + "))"
}

// classOf returns the variable with the class of an object that a scope is about, or nothing.
func classOf(scope corev1.ResourceQuotaScope) string {
	switch scope {
	case corev1.ResourceQuotaScopePriorityClass:
		return "variables.priorityClass"
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return "variables.attributesClass"
	default:
		return ""
	}
}

// wordMatchesClass returns whether the word w is a scope of classes that a class matches.
func wordMatchesClass(scope corev1.ResourceQuotaScope, class string) string {
	values := "w.split(':')[2].split(',')"
	return strings.NewReplacer("SCOPE", string(scope), "CLASS", class, "VALUES", values).Replace(
		"(w == 'SCOPE' ? CLASS != '' : w == 'SCOPE:DoesNotExist' ? CLASS == '' : " +
			"w.startsWith('SCOPE:In:') ? CLASS in VALUES : w.startsWith('SCOPE:NotIn:') && !(CLASS in VALUES))")
}

// coveredResource returns whether a quota that counts the object limits the resource.
func coveredResource(name quotav1alpha1.RequiredResource) string {
	counts := wordMatchesClass(corev1.ResourceQuotaScopeVolumeAttributesClass, "variables.attributesClass")
	if _, _, ofClaims := storageClass(name); !ofClaims {
		counts = "(w == 'Terminating' ? variables.terminating : w == 'NotTerminating' ? !variables.terminating : " +
			"w == 'BestEffort' ? variables.bestEffort : w == 'NotBestEffort' ? !variables.bestEffort : " +
			"w == 'CrossNamespacePodAffinity' ? variables.crossNamespace : " +
			wordMatchesClass(corev1.ResourceQuotaScopePriorityClass, "variables.priorityClass") + ")"
	}
	return "variables.quotas.exists(q, " + literal(
		string(name),
	) + " in q && q.all(w, !w.matches('^[A-Z]') || " + counts + "))"
}

// consumes returns whether a request has an object consume more of a resource.
func consumes(name quotav1alpha1.RequiredResource) string {
	if class, counted, ofClaims := storageClass(name); ofClaims {
		enters := "variables.creates || variables.storageClass != variables.wasStorageClass"
		if counted == corev1.ResourceRequestsStorage {
			enters += " || variables.grows"
		}
		return "variables.claim && variables.storageClass == " + literal(class) + " && (" + enters + ")"
	}
	extended := literal(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix))
	return "variables.pod && variables.creates && variables.containers.exists(c, " +
		"quantity(c.?resources.?requests[?" + extended + "].orValue('0')).isGreaterThan(quantity('0')))"
}

// storageClass returns the class and the name within it, if a name is of a storage class.
func storageClass(name quotav1alpha1.RequiredResource) (class string, counted corev1.ResourceName, ok bool) {
	class, within, ok := strings.Cut(string(name), ".storageclass.storage.k8s.io/")
	return class, corev1.ResourceName(within), ok
}
