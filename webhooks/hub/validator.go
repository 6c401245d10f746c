package hub

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
)

// Validator refuses a FederatedQuota that the hub manager would not act upon, in the words that its condition would
// have.
type Validator struct {
	// Reader reads FederatedQuotas, QuotaPools and Clusters.
	Reader client.Reader
	// Live reads a QuotaPool and a namespace past the cache. Without it, whom a pool allows is not checked.
	Live client.Reader
	// Clusters says where the Clusters are, AgentNamespace where the agents are in members.
	Clusters       members.Namespaces
	AgentNamespace string
	// Serves says whether a Cluster serves a resource, as far as this process can know. Without it nobody is warned of
	// that.
	Serves Serves
	// ScalesOut says that the hub manager adds nodes for budgets that ask for that.
	ScalesOut bool
}

// Path is where the webhook is served, as its marker says.
const Path = "/validate-federatedquota"

// SetupWithManager has the manager serve the webhook.
func (v *Validator) SetupWithManager(mgr ctrl.Manager) {
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: v.handler(mgr.GetScheme())})
}

// handler answers the reviews of API servers, by what is in them.
func (v *Validator) handler(scheme *runtime.Scheme) admission.Handler {
	return checked{admission.WithValidator(scheme, v).Handler}
}

// ValidateCreate refuses what cannot be acted on.
func (v *Validator) ValidateCreate(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (admission.Warnings, error) {
	around, err := v.lookAround(ctx, fq.Namespace)
	if err != nil {
		return blind(err), nil
	}
	problems := append(v.problems(fq, around), v.admitted(ctx, nil, fq)...)
	if err := refusal("FederatedQuota", fq.Name, problems); err != nil {
		return nil, err
	}
	return v.warnings(ctx, nil, fq, around), nil
}

// ValidateUpdate refuses what cannot be acted on, unless that was so before: who repairs a spec does it in the order he
// likes. An update that leaves the spec as it is, or of an object that goes, is never refused.
func (v *Validator) ValidateUpdate(
	ctx context.Context, before, fq *quotav1alpha1.FederatedQuota,
) (admission.Warnings, error) {
	if !fq.DeletionTimestamp.IsZero() || equality.Semantic.DeepEqual(before.Spec, fq.Spec) {
		return nil, nil
	}
	around, err := v.lookAround(ctx, fq.Namespace)
	if err != nil {
		return blind(err), nil
	}
	added, kept := split(v.problems(before, around), v.problems(fq, around))
	added = append(added, v.admitted(ctx, before, fq)...)
	if err := refusal("FederatedQuota", fq.Name, added); err != nil {
		return kept, err
	}
	return append(kept, v.warnings(ctx, before, fq, around)...), nil
}

// ValidateDelete refuses nothing, and says what stays.
func (v *Validator) ValidateDelete(_ context.Context, fq *quotav1alpha1.FederatedQuota) (admission.Warnings, error) {
	return leftovers(fq), nil
}

// surroundings are what a FederatedQuota is judged among.
type surroundings struct {
	clusters []members.Cluster
	siblings []quotav1alpha1.FederatedQuota
}

// lookAround reads what a FederatedQuota of a namespace is judged among.
func (v *Validator) lookAround(ctx context.Context, namespace string) (*surroundings, error) {
	clusters, err := v.Clusters.List(ctx, v.Reader)
	if err != nil {
		return nil, err
	}
	var siblings quotav1alpha1.FederatedQuotaList
	if err := v.Reader.List(ctx, &siblings, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas in namespace %s: %w", namespace, err)
	}
	return &surroundings{clusters: clusters, siblings: siblings.Items}, nil
}

// blind says that nothing was checked. The hub manager checks everything again.
func blind(err error) admission.Warnings {
	return admission.Warnings{"not checked, see the condition Ready of the object: " + err.Error()}
}

// problems returns what keeps the hub manager from acting upon a FederatedQuota.
func (v *Validator) problems(fq *quotav1alpha1.FederatedQuota, around *surroundings) field.ErrorList {
	problems := input.Problems(fq, around.clusters, v.AgentNamespace)
	if len(problems) > 0 {
		return problems
	}
	if overlap := input.Overlap(fq, around.clusters, around.siblings); overlap != "" {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "placement"), overlap)}
	}
	return nil
}

// split parts the problems of a spec into those that the one before it did not have, and warnings of those that it had.
func split(before, now field.ErrorList) (added field.ErrorList, kept admission.Warnings) {
	known := sets.New[string]()
	for _, problem := range before {
		known.Insert(problem.Error())
	}
	for _, problem := range now {
		if known.Has(problem.Error()) {
			kept = append(kept, "not acted upon, as before: "+problem.Error())
		} else {
			added = append(added, problem)
		}
	}
	return added, kept
}

// refusal returns what the API server answers about problems, as it does about those that it finds itself; nil without
// any.
func refusal(kind, name string, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(quotav1alpha1.GroupVersion.WithKind(kind).GroupKind(), name, problems)
}
