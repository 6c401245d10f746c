// Package webhookconfig keeps the configurations by which the API server of the hub calls the admission webhooks of
// FederatedQuotas.
package webhookconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/controllers/serving"
)

const (
	// ConfigurationName is the name of the two configurations of webhooks that the hub manager keeps.
	ConfigurationName = "fedquota-hub"
	// SecretName is the name of the Secret with the certificate that the webhooks are served with.
	SecretName = "fedquota-hub-webhook-cert"

	fieldOwner = client.FieldOwner("fedquota-hub")
)

// Reconciler keeps whom the API server trusts when it calls the webhooks of the hub manager, and where these are.
type Reconciler struct {
	client.Client
	// Templates are the webhooks that the markers of package webhooks/hub describe.
	Templates Templates
	// Certificate is what the API server shall trust.
	Certificate *serving.Certificate
	// URL is where the API server reaches this process; the Service of the hub manager if empty.
	URL string
}

// Templates are the webhooks of the hub manager.
type Templates struct {
	Validating []admissionregistrationv1.ValidatingWebhook
	Mutating   admissionregistrationv1.MutatingWebhook
}

// NewTemplates returns the webhooks that controller-gen made of the markers, behind the Service in
// the hub manager's namespace.
func NewTemplates(manifests []byte, namespace string) (Templates, error) {
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for _, configuration := range []any{&mutating, &validating} {
		if err := decoder.Decode(configuration); err != nil {
			return Templates{}, fmt.Errorf("reading the webhooks of the hub: %w", err)
		}
	}
	if len(validating.Webhooks) == 0 || len(mutating.Webhooks) != 1 {
		return Templates{}, fmt.Errorf(
			"%d and %d webhooks of the hub, want some that validate and one that changes", len(validating.Webhooks),
			len(mutating.Webhooks),
		)
	}
	templates := Templates{Validating: validating.Webhooks, Mutating: mutating.Webhooks[0]}
	configs := []*admissionregistrationv1.WebhookClientConfig{&templates.Mutating.ClientConfig}
	for i := range templates.Validating {
		configs = append(configs, &templates.Validating[i].ClientConfig)
	}
	for _, config := range configs {
		config.Service.Namespace, config.Service.Port = namespace, new(int32(443))
	}
	return templates, nil
}

// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,resourceNames=fedquota-hub-webhook-cert,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=fedquota-hub,verbs=list;watch;patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	configuration := requests.Always(client.ObjectKey{Name: ConfigurationName})
	return ctrl.NewControllerManagedBy(mgr).
		Named("webhook-configuration").
		For(&admissionregistrationv1.ValidatingWebhookConfiguration{}).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, configuration).
		WatchesRawSource(source.Channel(r.Certificate.Changes(), configuration)).
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

// Reconcile writes the configurations if they are other ones. They are installed with the hub manager, which may not
// create them.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if len(r.Certificate.Authority()) == 0 {
		return ctrl.Result{}, nil // the certificate tells when there is one
	}
	return ctrl.Result{}, errors.Join(r.validating(ctx, req.NamespacedName), r.mutating(ctx, req.NamespacedName))
}

func (r *Reconciler) validating(ctx context.Context, key client.ObjectKey) error {
	stored := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := r.Get(ctx, key, stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	var wanted []admissionregistrationv1.ValidatingWebhook
	for i := range r.Templates.Validating {
		webhook := *r.Templates.Validating[i].DeepCopy()
		serving.Locate(&webhook.ClientConfig, r.Certificate, r.URL)
		wanted = append(wanted, webhook)
	}
	if equality.Semantic.DeepEqual(stored.Webhooks, wanted) {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Writing where the webhooks are that validate FederatedQuotas and QuotaRequirements")
	return r.Patch(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   serving.TypeMeta("ValidatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name}, Webhooks: wanted,
	}, patches.Applied{}, client.ForceOwnership, fieldOwner)
}

func (r *Reconciler) mutating(ctx context.Context, key client.ObjectKey) error {
	stored := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Get(ctx, key, stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	webhook := *r.Templates.Mutating.DeepCopy()
	serving.Locate(&webhook.ClientConfig, r.Certificate, r.URL)
	wanted := []admissionregistrationv1.MutatingWebhook{webhook}
	if equality.Semantic.DeepEqual(stored.Webhooks, wanted) {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Writing where the webhook is that quotes quantities of FederatedQuotas")
	return r.Patch(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   serving.TypeMeta("MutatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name}, Webhooks: wanted,
	}, patches.Applied{}, client.ForceOwnership, fieldOwner)
}
