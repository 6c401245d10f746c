package agent

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member/webhookconfig"
)

// keepWriters leaves of the managed fields of a ResourceQuota who has written it, which says whom to ask about it.
func keepWriters(object any) (any, error) {
	if quota, ok := object.(*corev1.ResourceQuota); ok {
		for i, field := range quota.ManagedFields {
			quota.ManagedFields[i] = metav1.ManagedFieldsEntry{Manager: field.Manager, Subresource: field.Subresource}
		}
	}
	return object, nil
}

// cached restricts what the agent caches.
func cached(namespace string) cache.Options {
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
		&corev1.ResourceQuota{}: {Transform: keepWriters},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {
			Field: fields.OneTermEqualSelector("metadata.name", webhookconfig.ConfigurationName),
		},
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{namespace: {
			FieldSelector: fields.OneTermEqualSelector("metadata.name", quotav1alpha1.HubLease),
		}}},
	}}
}
