package fleet_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// testClusterCache sees Cluster API's own cluster cache connect to the members by what the hub has on them.
func testClusterCache(t *testing.T, f *fleet.Fleet) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	ctrl.SetLogger(logr.Discard())
	// A queue of priorities may hang as it shuts down (kubernetes-sigs/controller-runtime#3538).
	manager, err := ctrl.NewManager(f.Hub.Config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{UsePriorityQueue: new(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := clustercache.SetupWithManager(t.Context(), manager, clustercache.Options{
		SecretClient: manager.GetClient(),
		Client:       clustercache.ClientOptions{UserAgent: "test"},
	}, controller.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	for _, member := range f.Members {
		waitConnected(t, cache, client.ObjectKey{Namespace: "clusters", Name: member.Name})
	}
	clusters := &clusterv1.ClusterList{}
	if err := manager.GetClient().List(ctx, clusters, client.MatchingLabels{"tier": "prod"}); err != nil {
		t.Fatal(err)
	}
	if len(clusters.Items) != 1 || clusters.Items[0].Name != "east" {
		t.Errorf("got clusters %v with the label of east", clusters.Items)
	}
}

// waitConnected waits until the cluster cache can read something in a member.
func waitConnected(t *testing.T, cache clustercache.ClusterCache, cluster client.ObjectKey) {
	t.Helper()
	eventually(t, "connection to "+cluster.Name, func(ctx context.Context) (bool, error) {
		remote, err := cache.GetClient(ctx, cluster)
		if errors.Is(err, clustercache.ErrClusterNotConnected) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, remote.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})
	})
}
