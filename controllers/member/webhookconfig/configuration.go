// Package webhookconfig keeps the configuration by which API servers call the agent's admission webhook.
package webhookconfig

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/predicates"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/controllers/serving"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

const (
	// ConfigurationName is the name of the ValidatingWebhookConfiguration that the agent keeps.
	ConfigurationName = "fedquota-agent"
	// SecretName is the name of the Secret with the certificate that the webhook is served with.
	SecretName = "fedquota-webhook-cert"
	// Path is where the webhook is served, as the markers of package admission say.
	Path = "/admit"

	// domain ends the names of all webhooks.
	domain     = "fedquota.io"
	fieldOwner = client.FieldOwner("fedquota-agent")
)

// Reconciler keeps the rules by which API servers call the webhook: those kinds that some share counts, in
// those namespaces that have such a share, and nothing else.
type Reconciler struct {
	client.Client
	// Template is the webhook that the markers of this package describe.
	Template admissionregistrationv1.ValidatingWebhook
	// Certificate is what API servers shall trust.
	Certificate *serving.Certificate
	// URL is where API servers reach this process; the Service of the agent if empty.
	URL string
}

// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,resourceNames=fedquota-webhook-cert,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=fedquota-agent,verbs=list;watch;patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	configuration := requests.Always(client.ObjectKey{Name: ConfigurationName})
	return ctrl.NewControllerManagedBy(mgr).
		Named("webhook-configuration").
		For(&admissionregistrationv1.ValidatingWebhookConfiguration{}).
		Watches(&quotav1alpha1.QuotaShare{}, configuration, builder.WithPredicates(
			predicates.Changed(func(share *quotav1alpha1.QuotaShare) any { return share.Spec }))).
		WatchesRawSource(source.Channel(r.Certificate.Changes(), configuration)).
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

// Ask has API servers ask the webhook about all shares that are cached, as far as that can be done now: what fails is
// tried again by Reconcile.
func (r *Reconciler) Ask(ctx context.Context) {
	if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: ConfigurationName}}); err != nil {
		ctrl.LoggerFrom(ctx).Info("A share comes before the rules of the webhook", "err", err.Error())
	}
}

// Reconcile writes the rules if they are not what the shares need.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	stored := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := r.Get(ctx, req.NamespacedName, stored); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // installed with the agent
	}
	if len(r.Certificate.Authority()) == 0 {
		return ctrl.Result{}, nil // other replicas may serve with what is trusted; the certificate tells when there is one
	}
	var shares quotav1alpha1.QuotaShareList
	if err := r.List(ctx, &shares, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	wanted := r.webhooks(shares.Items)
	if equality.Semantic.DeepEqual(stored.Webhooks, wanted) {
		return ctrl.Result{}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Writing the rules of the webhook", "webhooks", len(wanted))
	return ctrl.Result{}, r.Patch(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   serving.TypeMeta("ValidatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name}, Webhooks: wanted,
	}, patches.Applied{}, client.ForceOwnership, fieldOwner)
}

// asked are the namespaces in which API servers call a webhook, and the longest hold there.
type asked struct {
	namespaces sets.Set[string]
	longest    time.Duration
}

// with adds the namespace of a share.
func (a asked) with(share *quotav1alpha1.QuotaShare) asked {
	if a.namespaces == nil {
		a.namespaces = sets.New[string]()
	}
	a.namespaces.Insert(share.Namespace)
	a.longest = max(a.longest, pace.HoldOf(share.Spec.Admission))
	return a
}

// webhooks returns one webhook per resource that some share counts, for the namespaces of those shares, and one for
// pods that come into a scope.
func (r *Reconciler) webhooks(shares []quotav1alpha1.QuotaShare) []admissionregistrationv1.ValidatingWebhook {
	byResource, deadlines := map[schema.GroupResource]asked{}, asked{}
	for i := range shares {
		for _, resource := range countedBy(&shares[i]) {
			byResource[resource] = byResource[resource].with(&shares[i])
			if resource == nativequota.Pods && nativequota.GoesByDeadline(shares[i].Spec.Scopes, shares[i].Spec.ScopeSelector) {
				deadlines = deadlines.with(&shares[i])
			}
		}
	}
	var webhooks []admissionregistrationv1.ValidatingWebhook
	for resource, in := range byResource {
		webhooks = append(webhooks, r.webhook(resource, in))
	}
	if deadlines.namespaces.Len() > 0 {
		webhooks = append(webhooks, r.deadlines(deadlines))
	}
	slices.SortFunc(
		webhooks, func(a, b admissionregistrationv1.ValidatingWebhook) int { return cmp.Compare(a.Name, b.Name) },
	)
	return webhooks
}

// countedBy returns the resources whose requests a share may hold. A name that no resource can have is left out: API
// servers would refuse the rules of all shares for it.
func countedBy(share *quotav1alpha1.QuotaShare) []schema.GroupResource {
	if share.Spec.Admission.Mode == quotav1alpha1.AdmissionOff || !share.DeletionTimestamp.IsZero() {
		return nil
	}
	var resources []schema.GroupResource
	for name := range share.Spec.Hard {
		if nativequota.ChargesExtended(name) {
			resources = append(resources, nativequota.ResourceClaims)
		}
		if resource, ok := nativequota.Resource(name); ok && len(validation.IsDNS1123Subdomain(webhookName(resource))) == 0 {
			resources = append(resources, resource)
		}
	}
	return resources
}

// webhookName returns the name of the webhook for a resource.
func webhookName(resource schema.GroupResource) string { return resource.String() + "." + domain }

// timeout returns how many seconds API servers wait for an answer, which takes as long as the longest hold, a moment
// more at times. An agent that hangs delays every request for so long.
func timeout(longest time.Duration) *int32 {
	const margin, most = 2, 30 // most is what API servers take
	return new(int32(min(math.Ceil(longest.Seconds())+margin, most)))
}

// deadlines returns the webhook for pods whose deadline comes or goes by an update, which takes them from one scope to
// another. API servers ask about no other update of pods: those are many.
func (r *Reconciler) deadlines(in asked) admissionregistrationv1.ValidatingWebhook {
	webhook := r.webhook(nativequota.Pods, in)
	webhook.Name = "deadlines." + webhookName(nativequota.Pods)
	webhook.Rules = rulesFor(nil, nativequota.Pods)
	webhook.Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
	webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "deadline", Expression: "has(object.spec.activeDeadlineSeconds) != has(oldObject.spec.activeDeadlineSeconds)",
	}}
	return webhook
}

// webhook returns the webhook for one resource.
func (r *Reconciler) webhook(resource schema.GroupResource, in asked) admissionregistrationv1.ValidatingWebhook {
	webhook := *r.Template.DeepCopy()
	webhook.Name = webhookName(resource)
	webhook.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: sets.List(in.namespaces),
	}}}
	webhook.ObjectSelector = &metav1.LabelSelector{}
	webhook.TimeoutSeconds = timeout(in.longest)
	webhook.Rules = rulesFor(r.Template.Rules, resource)
	serving.Locate(&webhook.ClientConfig, r.Certificate, r.URL)
	return webhook
}

// rulesFor returns the rules for a resource: those of the template, or its creation.
func rulesFor(
	template []admissionregistrationv1.RuleWithOperations, resource schema.GroupResource,
) []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for _, rule := range template {
		bare, _, _ := strings.Cut(rule.Resources[0], "/")
		if rule.APIGroups[0] == resource.Group && bare == resource.Resource {
			rules = append(rules, *rule.DeepCopy())
		}
	}
	if len(rules) == 0 {
		rules = []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{resource.Group}, APIVersions: []string{"*"}, Resources: []string{resource.Resource},
			},
		}}
	}
	for i := range rules {
		scope := admissionregistrationv1.NamespacedScope
		rules[i].Scope = &scope
	}
	return rules
}
