package hub

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/validate"
)

// RequirementValidator refuses a QuotaRequirement that no cluster would enforce, in the words that its condition would
// have.
type RequirementValidator struct {
	// Reader reads Clusters.
	Reader client.Reader
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
}

// RequirementPath is where the webhook is served, as its marker says.
const RequirementPath = "/validate-quotarequirement"

// SetupWithManager has the manager serve the webhook.
func (v *RequirementValidator) SetupWithManager(mgr ctrl.Manager) {
	mgr.GetWebhookServer().Register(RequirementPath, admission.WithValidator(mgr.GetScheme(), v))
}

// ValidateCreate refuses what cannot be acted on.
func (v *RequirementValidator) ValidateCreate(
	ctx context.Context, r *quotav1alpha1.QuotaRequirement,
) (admission.Warnings, error) {
	if err := refusal("QuotaRequirement", r.Name, validate.Requirement(&r.Spec)); err != nil {
		return nil, err
	}
	return v.warnings(ctx, r), nil
}

// ValidateUpdate refuses what cannot be acted on, unless that was so before.
func (v *RequirementValidator) ValidateUpdate(
	ctx context.Context, before, r *quotav1alpha1.QuotaRequirement,
) (admission.Warnings, error) {
	if !r.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, r.Spec) {
		return nil, nil
	}
	added, _ := split(validate.Requirement(&before.Spec), validate.Requirement(&r.Spec))
	if err := refusal("QuotaRequirement", r.Name, added); err != nil {
		return nil, err
	}
	return v.warnings(ctx, r), nil
}

// ValidateDelete refuses nothing.
func (v *RequirementValidator) ValidateDelete(
	context.Context, *quotav1alpha1.QuotaRequirement,
) (admission.Warnings, error) {
	return nil, nil
}

// warnings says what a user may not expect.
func (v *RequirementValidator) warnings(ctx context.Context, r *quotav1alpha1.QuotaRequirement) admission.Warnings {
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.ClusterSelector)
	if err != nil {
		return nil
	}
	selected := func(c members.Cluster) bool { return selector.Matches(labels.Set(c.Labels)) }
	clusters, err := v.Clusters.List(ctx, v.Reader)
	if err != nil || slices.ContainsFunc(clusters, selected) {
		return nil
	}
	return admission.Warnings{
		"spec.clusterSelector: selects no Cluster in " + v.Clusters.String() + " now: nothing is required anywhere"}
}
