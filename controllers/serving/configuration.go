package serving

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TypeMeta is that of a kind of configurations, which an apply has to state.
func TypeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}
