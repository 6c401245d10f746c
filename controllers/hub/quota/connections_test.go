package quota

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// connections stand in for the cluster cache: they hand out clients of real API servers, without a cache between.
type connections struct {
	mutex  sync.Mutex
	byName map[string]*connection
}

type connection struct {
	client client.Client
	// cache is what is read through the cache, the client if it is nil.
	cache client.Reader
	// err is returned instead of the client, readErr instead of what is read through the cache.
	err, readErr error
	health       clustercache.HealthCheckingState
	// watches are the names of all watches there were.
	watches []string
}

func (c *connections) to(cluster client.ObjectKey) (*connection, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if connection := c.byName[cluster.Name]; connection != nil {
		return connection, connection.err
	}
	return &connection{}, clustercache.ErrClusterNotConnected
}

func (c *connections) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	connection, err := c.to(cluster)
	return connection.client, err
}

func (c *connections) GetReader(_ context.Context, cluster client.ObjectKey) (client.Reader, error) {
	connection, err := c.to(cluster)
	if connection.cache != nil {
		return connection.cache, err
	}
	return connection.client, errors.Join(err, connection.readErr)
}

func (c *connections) GetUncachedClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	connection, err := c.to(cluster)
	return connection.client, err
}

func (c *connections) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	return nil, errors.New("nobody needs it")
}

func (c *connections) Watch(_ context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error {
	connection, err := c.to(cluster)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !slices.Contains(connection.watches, watcher.Name()) {
		connection.watches = append(connection.watches, watcher.Name())
	}
	return err
}

func (c *connections) GetHealthCheckingState(_ context.Context, cluster client.ObjectKey) clustercache.HealthCheckingState {
	connection, _ := c.to(cluster)
	return connection.health
}

func (c *connections) GetClusterSource(string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return nil
}
