package members

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the cluster inventory says of a Secret with the way to the cluster of a ClusterProfile.
const (
	// ProfileLabel names the ClusterProfile, and ConsumerLabel whom the Secret is for.
	ProfileLabel  = "x-k8s.io/cluster-profile"
	ConsumerLabel = "x-k8s.io/cluster-inventory-consumer"
	// Consumer is the name that fedquota has there.
	Consumer = "fedquota"
	// ProfileDataName is the key of the kubeconfig.
	ProfileDataName = "Config"
)

// ErrSeveralSecrets is that a ClusterProfile has more than one Secret for fedquota.
var ErrSeveralSecrets = errors.New("of the Secrets for " + Consumer + " one alone may name the ClusterProfile")

// ProfileSecret returns the Secret for fedquota with the way to the cluster of a ClusterProfile.
func ProfileSecret(ctx context.Context, reader client.Reader, profile client.ObjectKey) (*corev1.Secret, error) {
	var list corev1.SecretList
	err := reader.List(
		ctx, &list, client.InNamespace(profile.Namespace),
		client.MatchingLabels{ProfileLabel: profile.Name, ConsumerLabel: Consumer},
	)
	switch {
	case err != nil:
		return nil, fmt.Errorf("listing the Secrets of ClusterProfile %s: %w", profile, err)
	case len(list.Items) == 0:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), profile.Name)
	case len(list.Items) > 1:
		return nil, ErrSeveralSecrets
	}
	return &list.Items[0], nil
}
