package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/hub/members"
)

// MemberTimeout is how long a member may take to be read.
const MemberTimeout = 5 * time.Second

// Member returns a client of a member, by the kubeconfig that the hub has of its Cluster.
func (e *Env) Member(ctx context.Context, hub client.Client, cluster client.ObjectKey) (client.WithWatch, error) {
	config, err := WayTo(ctx, hub, cluster)
	if err != nil {
		return nil, err
	}
	config.Timeout = MemberTimeout
	return e.Connect(config)
}

// WayTo returns the way to a member, as the hub has it.
func WayTo(ctx context.Context, hub client.Client, cluster client.ObjectKey) (*rest.Config, error) {
	way := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
	data := secret.KubeconfigDataName
	err := hub.Get(ctx, key, way)
	if apierrors.IsNotFound(err) {
		if of, missing := members.ProfileSecret(ctx, hub, cluster); missing == nil {
			way, data, err = of, members.ProfileDataName, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the way to cluster %s: %w", cluster.Name, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(way.Data[data])
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig in Secret %s: %w", client.ObjectKeyFromObject(way), err)
	}
	return tuned(config), nil
}
