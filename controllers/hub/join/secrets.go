package join

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// secrets is the source of kubeconfig Secrets with a label. They are named and labelled as Cluster API does.
type secrets struct{ client.Reader }

// wish implements Source.
func (r secrets) wish(ctx context.Context, key client.ObjectKey) (*wish, error) {
	s := &corev1.Secret{}
	if err := r.Get(ctx, key, s); err != nil || !asks(s) || !s.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	name := s.Labels[clusterv1.ClusterNameLabel]
	w := &wish{
		of: s, name: name, labels: maps.Clone(s.Labels), secret: s.Name, problem: problemOf(s, secret.KubeconfigDataName),
	}
	delete(w.labels, clusterv1.ClusterNameLabel)
	if want := secret.Name(name, secret.Kubeconfig); s.Name != want {
		w.problem = fmt.Sprintf("metadata.name: must be %s, since the label %s is %q", want, clusterv1.ClusterNameLabel, name)
	}
	return w, nil
}

// asks says whether a Secret asks for a Cluster, or a Cluster was made of one that did.
func asks(object client.Object) bool { return object.GetLabels()[quotav1alpha1.JoinLabel] == "true" }
