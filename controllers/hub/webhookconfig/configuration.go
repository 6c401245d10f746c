// Package webhookconfig keeps the configuration by which the API server of the hub calls the admission webhook of FederatedQuotas.
package webhookconfig

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fedquota/fedquota/controllers/backoff"
	"github.com/fedquota/fedquota/controllers/serving"
)

const (
	// ConfigurationName is the name of the ValidatingWebhookConfiguration that the hub manager keeps.
	ConfigurationName = "fedquota-hub"
	// SecretName is the name of the Secret with the certificate that the webhook is served with.
	SecretName = "fedquota-hub-webhook-cert"

	fieldOwner = "fedquota-hub"
)

// Reconciler keeps whom the API server trusts when it calls the webhook, and where that is.
type Reconciler struct {
	client.Client
	// Template is the webhook that the markers of package webhooks/hub describe, Path where it is served.
	Template admissionregistrationv1.ValidatingWebhook
	Path     string
	// Certificate is what the API server shall trust.
	Certificate *serving.Certificate
	// URL is where the API server reaches this process; the Service of the hub manager if empty.
	URL string
}

// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=fedquota-system,resources=secrets,resourceNames=fedquota-hub-webhook-cert,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=fedquota-hub,verbs=list;watch;patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	configuration := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: ConfigurationName}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("webhook-configuration").
		For(&admissionregistrationv1.ValidatingWebhookConfiguration{}).
		WatchesRawSource(source.Channel(r.Certificate.Changes(), configuration)).
		WithOptions(controller.Options{RateLimiter: backoff.RateLimiter()}).
		Complete(r)
}

// Reconcile writes the configuration if it is another one. It is installed with the hub manager, which may not create it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	stored := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := r.Get(ctx, req.NamespacedName, stored); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(r.Certificate.Authority()) == 0 {
		return ctrl.Result{}, nil // the certificate tells when there is one
	}
	webhook := *r.Template.DeepCopy()
	serving.Locate(&webhook.ClientConfig, r.Certificate, r.URL, r.Path)
	wanted := []admissionregistrationv1.ValidatingWebhook{webhook}
	if equality.Semantic.DeepEqual(stored.Webhooks, wanted) {
		return ctrl.Result{}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Writing where the webhook of FederatedQuotas is")
	return ctrl.Result{}, serving.Apply(ctx, r.Client, stored, wanted, fieldOwner)
}
