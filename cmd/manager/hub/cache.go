package hub

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
	"github.com/fedquota/fedquota/controllers/hub/webhookconfig"
)

// cached restricts what the hub manager caches: of Clusters and Secrets those of some namespaces, and of these the
// ones that belong to a Cluster. What it does not read of an object is left out: with perCluster, it reads what
// clusters have of FederatedQuotas.
func cached(clusters members.Namespaces, perCluster, machines bool) cache.Options {
	ofCluster, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	utilruntime.Must(err)
	objects, secrets := map[string]cache.Config{}, map[string]cache.Config{}
	for _, namespace := range clusters.All() {
		objects[namespace], secrets[namespace] = cache.Config{}, cache.Config{
			LabelSelector: labels.NewSelector().Add(*ofCluster),
		}
	}
	quotas := cache.ByObject{Transform: entriesAlone}
	if perCluster {
		quotas = cache.ByObject{}
	}
	ours := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", webhookconfig.ConfigurationName)}
	byObject := map[client.Object]cache.ByObject{
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: ours,
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   ours,
		&clusterv1.Cluster{}:            {Namespaces: objects},
		&corev1.Secret{}:                {Namespaces: secrets, Transform: kubeconfigsAlone},
		&quotav1alpha1.FederatedQuota{}: quotas,
		&corev1.Namespace{}:             {Transform: labelsAlone},
	}
	if machines {
		byObject[&clusterv1.MachineDeployment{}] = cache.ByObject{Namespaces: objects}
		byObject[&clusterv1.MachinePool{}] = cache.ByObject{Namespaces: objects}
	}
	return cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject}
}

// entriesAlone leaves out of a FederatedQuota what its clusters were granted and use, which is most of what one over
// many clusters takes. Rounds read it live; others want to know who has an entry, in which state, and where pods wait.
func entriesAlone(object any) (any, error) {
	if fq, ok := object.(*quotav1alpha1.FederatedQuota); ok {
		fq.ManagedFields = nil
		for i := range fq.Status.Clusters {
			c := &fq.Status.Clusters[i]
			*c = quotav1alpha1.ClusterStatus{
				Name: c.Name, UID: c.UID, Revision: c.Revision, State: c.State, Unscheduled: c.Unscheduled,
			}
		}
	}
	return object, nil
}

// labelsAlone leaves out of a namespace what people note on it.
func labelsAlone(object any) (any, error) {
	if n, ok := object.(*metav1.PartialObjectMetadata); ok {
		n.ManagedFields, n.Annotations = nil, nil
	}
	return object, nil
}

// kubeconfigsAlone empties Secrets that hold other keys of a Cluster than the way to its API server.
func kubeconfigsAlone(object any) (any, error) {
	if s, ok := object.(*corev1.Secret); ok {
		s.ManagedFields = nil
		if _, purpose, err := secret.ParseSecretName(s.Name); err != nil || purpose != secret.Kubeconfig {
			s.Data = nil
		}
	}
	return object, nil
}

// slim makes what caches of members hold small. It is one function for all kinds: what names a kind to a cache makes
// connections fail to members that lack it, which the agent is yet to be installed in.
func slim(object any) (any, error) {
	if n, ok := object.(*metav1.PartialObjectMetadata); ok { // a namespace, of which it matters that it is there
		n.ObjectMeta = metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name, ResourceVersion: n.ResourceVersion}
	}
	object, err := cache.TransformStripManagedFields()(object)
	if err != nil {
		return nil, err
	}
	return pack.Share(object)
}
