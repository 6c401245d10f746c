package members

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespaces are where the Clusters are on the hub. A Cluster of the home namespace is called by its name, one of a
// further namespace by that and its name: two of them never have one name.
type Namespaces struct {
	Home    string
	Further []string
}

// Cluster is a Cluster by what budgets, ledgers and people call it.
type Cluster struct {
	*clusterv1.Cluster

	// Name takes the place of the object's own.
	Name string
}

// All returns the namespaces.
func (n Namespaces) All() []string { return append([]string{n.Home}, n.Further...) }

// Has says whether a Cluster would be in one of the namespaces.
func (n Namespaces) Has(key client.ObjectKey) bool { return slices.Contains(n.All(), key.Namespace) }

// String names the namespaces for a message.
func (n Namespaces) String() string {
	if len(n.Further) == 0 {
		return "namespace " + n.Home
	}
	return "namespaces " + strings.Join(n.All(), ", ")
}

// Validate says why these are no namespaces that Clusters could be told apart in.
func (n Namespaces) Validate() error {
	for i, namespace := range n.All() {
		if namespace == "" || strings.Contains(namespace, "/") {
			return fmt.Errorf("%q is no name of a namespace", namespace)
		}
		if slices.Contains(n.All()[:i], namespace) {
			return fmt.Errorf("namespace %s is named twice", namespace)
		}
	}
	return nil
}

// Name returns what a Cluster is called.
func (n Namespaces) Name(key client.ObjectKey) string {
	if key.Namespace == n.Home {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// Key returns where the Cluster is that is called so.
func (n Namespaces) Key(name string) client.ObjectKey {
	if namespace, rest, further := strings.Cut(name, "/"); further {
		return client.ObjectKey{Namespace: namespace, Name: rest}
	}
	return client.ObjectKey{Namespace: n.Home, Name: name}
}

// Of returns a Cluster by what it is called.
func (n Namespaces) Of(cluster *clusterv1.Cluster) Cluster {
	return Cluster{Cluster: cluster, Name: n.Name(client.ObjectKeyFromObject(cluster))}
}

// List returns the Clusters of all namespaces.
func (n Namespaces) List(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]Cluster, error) {
	var clusters []Cluster
	for _, namespace := range n.All() {
		var list clusterv1.ClusterList
		if err := reader.List(ctx, &list, append(options, client.InNamespace(namespace))...); err != nil {
			return nil, fmt.Errorf("listing Clusters in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			clusters = append(clusters, n.Of(&list.Items[i]))
		}
	}
	return clusters, nil
}
