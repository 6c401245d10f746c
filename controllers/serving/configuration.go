package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// NewTemplate returns the webhook that controller-gen made of the markers: one, with the rules of all, behind the
// Service in the manager's namespace.
func NewTemplate(manifest []byte, namespace string) (admissionregistrationv1.ValidatingWebhook, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(manifest, configuration); err != nil {
		return admissionregistrationv1.ValidatingWebhook{}, fmt.Errorf("reading the rules of the webhook: %w", err)
	}
	var template admissionregistrationv1.ValidatingWebhook
	for i, webhook := range configuration.Webhooks {
		if i > 0 {
			webhook.Rules = append(template.Rules, webhook.Rules...)
		}
		template = webhook
	}
	if service := template.ClientConfig.Service; service != nil {
		service.Namespace, service.Port = namespace, new(int32(443))
	}
	return template, nil
}

// Locate tells API servers whom to trust, and where the webhook is: behind the Service of the template, or at the same
// path below a URL.
func Locate(to *admissionregistrationv1.WebhookClientConfig, certificate *Certificate, url string) {
	to.CABundle = certificate.Authority()
	if url != "" {
		at := strings.TrimSuffix(url, "/") + *to.Service.Path
		to.Service, to.URL = nil, &at
	}
}

// Apply writes the webhooks of a stored configuration.
func Apply(ctx context.Context, c client.Client, stored *admissionregistrationv1.ValidatingWebhookConfiguration,
	webhooks []admissionregistrationv1.ValidatingWebhook, owner client.FieldOwner,
) error {
	return apply(ctx, c, stored, &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   typeMeta("ValidatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name},
		Webhooks:   webhooks,
	}, owner)
}

// ApplyMutating writes the webhooks of a stored configuration of webhooks that change objects.
func ApplyMutating(ctx context.Context, c client.Client, stored *admissionregistrationv1.MutatingWebhookConfiguration,
	webhooks []admissionregistrationv1.MutatingWebhook, owner client.FieldOwner,
) error {
	return apply(ctx, c, stored, &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   typeMeta("MutatingWebhookConfiguration"),
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name},
		Webhooks:   webhooks,
	}, owner)
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}

func apply(ctx context.Context, c client.Client, stored, wanted client.Object, owner client.FieldOwner) error {
	data, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("encoding the rules of the webhook: %w", err)
	}
	return c.Patch(ctx, stored, client.RawPatch(types.ApplyPatchType, data), client.ForceOwnership, owner)
}
