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

// NewTemplate returns the webhook that controller-gen made of the markers: one, with the rules of all, behind the Service in
// the manager's namespace.
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

// Locate tells API servers whom to trust, and where the webhook is: at a path below a URL, or behind the Service of the template
// without one.
func Locate(to *admissionregistrationv1.WebhookClientConfig, certificate *Certificate, url, path string) {
	to.CABundle = certificate.Authority()
	if url != "" {
		at := strings.TrimSuffix(url, "/") + path
		to.Service, to.URL = nil, &at
	}
}

// Apply writes the webhooks of a stored configuration.
func Apply(ctx context.Context, c client.Client, stored *admissionregistrationv1.ValidatingWebhookConfiguration,
	webhooks []admissionregistrationv1.ValidatingWebhook, owner client.FieldOwner,
) error {
	data, err := json.Marshal(&admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: stored.Name},
		Webhooks:   webhooks,
	})
	if err != nil {
		return fmt.Errorf("encoding the rules of the webhook: %w", err)
	}
	return c.Patch(ctx, stored, client.RawPatch(types.ApplyPatchType, data), client.ForceOwnership, owner)
}
