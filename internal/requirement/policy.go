package requirement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// Name is that of the policy and of its binding in members: one for all QuotaRequirements, so that a role can name it.
const Name = "fedquota-requirement"

// Policy returns the policy by which a member enforces QuotaRequirements, in the order in which they are given.
func Policy(
	requirements []quotav1alpha1.QuotaRequirement, agentNamespace string,
) *admissionregistrationv1.ValidatingAdmissionPolicy {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy",
		},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules:     resourceRules(concernedBy(requirements)),
				NamespaceSelector: beyondSystem(agentNamespace),
			},
			Variables: variables,
		},
	}
	for i := range requirements {
		policy.Spec.Validations = append(policy.Spec.Validations, validations(&requirements[i])...)
	}
	return policy
}

// Binding returns the binding of the policy.
func Binding() *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
}

// beyondSystem selects the namespaces in which a requirement cannot stop what keeps a cluster alive.
func beyondSystem(agentNamespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease, agentNamespace},
	}}}
}

// concerned are the kinds of objects of which something is required. Updates of pods matter where they can bring one
// into a scope.
type concerned struct{ pods, updates, claims bool }

func concernedBy(requirements []quotav1alpha1.QuotaRequirement) (c concerned) {
	for i := range requirements {
		for _, scope := range requirements[i].Spec.MatchScopes {
			ofClaims := scope.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
			c.pods, c.claims, c.updates = c.pods || !ofClaims, c.claims || ofClaims, c.updates || isDeadline(scope.ScopeName)
		}
		for _, name := range requirements[i].Spec.Resources {
			_, _, ofClaims := storageClass(name)
			c.pods, c.claims = c.pods || !ofClaims, c.claims || ofClaims
		}
	}
	return c
}

// resourceRules returns what the policy looks at. Claims are looked at when they are updated, too, since that can have
// them consume more.
func resourceRules(c concerned) []admissionregistrationv1.NamedRuleWithOperations {
	var rules []admissionregistrationv1.NamedRuleWithOperations
	add := func(resource string, updates bool) {
		operations := []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
		if updates {
			operations = append(operations, admissionregistrationv1.Update)
		}
		rules = append(
			rules,
			admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: operations,
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource},
				},
			}},
		)
	}
	if c.pods {
		add("pods", c.updates)
	}
	if c.claims {
		add("persistentvolumeclaims", true)
	}
	return rules
}

// validations returns what one requirement demands, each with the words in which native quota refuses.
func validations(requirement *quotav1alpha1.QuotaRequirement) []admissionregistrationv1.Validation {
	var list []admissionregistrationv1.Validation
	add := func(consumes, covered, words string) {
		list = append(list, admissionregistrationv1.Validation{
			Expression: "!(" + consumes + ") || " + exempt(requirement.Spec.ExemptNamespaces) + covered,
			Reason:     new(metav1.StatusReasonForbidden),
			Message:    words + "; QuotaRequirement " + requirement.Name + " demands a FederatedQuota that covers it",
		})
	}
	for _, scope := range requirement.Spec.MatchScopes {
		native := corev1.ScopedResourceSelectorRequirement(scope)
		add(entersScope(native), coveredScope(native),
			fmt.Sprintf("insufficient quota to match these scopes: %v", []corev1.ScopedResourceSelectorRequirement{native}))
	}
	for _, name := range requirement.Spec.Resources {
		add(consumes(name), coveredResource(name), "insufficient quota to consume: "+string(name))
	}
	return list
}

// exempt returns the alternatives by which a namespace is exempt.
func exempt(set quotav1alpha1.NamespaceSet) string {
	text := ""
	if len(set.Names) > 0 {
		text += "request.namespace in " + literals(set.Names) + " || "
	}
	if set.Selector != nil {
		text += "(" + strings.Join(selects(set.Selector), " && ") + ") || "
	}
	return text
}

// selects returns what a label selector demands of variables.labels.
func selects(selector *metav1.LabelSelector) []string {
	var all []string
	for _, key := range sortedKeys(selector.MatchLabels) {
		all = append(
			all,
			fmt.Sprintf(
				"variables.labels[?%s].orValue('') == %s && %[1]s in variables.labels", literal(key),
				literal(selector.MatchLabels[key]),
			),
		)
	}
	for _, e := range selector.MatchExpressions {
		there := literal(e.Key) + " in variables.labels"
		in := there + " && variables.labels[" + literal(e.Key) + "] in " + literals(e.Values)
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			all = append(all, in)
		case metav1.LabelSelectorOpNotIn:
			all = append(all, "!("+in+")")
		case metav1.LabelSelectorOpExists:
			all = append(all, there)
		case metav1.LabelSelectorOpDoesNotExist:
			all = append(all, "!("+there+")")
		}
	}
	return all
}

func sortedKeys(labels map[string]string) []string {
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// literal returns a string as CEL writes it. What comes here has passed a pattern or is the key of a label: it is
// ASCII.
func literal(text string) string { return strconv.QuoteToASCII(text) }

func literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = literal(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
