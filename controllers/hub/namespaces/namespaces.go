// Package namespaces knows which namespaces members have, by one watch of their metadata in each member in which a
// budget misses its own. The alternative is to ask for each of them again and again.
package namespaces

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/stores"
	"github.com/fedquota/fedquota/internal/pace"
)

// Watcher watches the namespaces of members, where it may.
type Watcher struct {
	// Members connects to members.
	Members clustercache.ClusterCache
	// Stores tells when the store of a member went back, so that what a watch has shown is of the past.
	Stores *stores.Watcher
	// Clock says since when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to be read.
	Timeout time.Duration

	known      members.Memory[rights]
	controller clustercache.SourceWatcher[ctrl.Request]
	handler    handler.EventHandler
}

// rights are whether the hub may watch the namespaces of a member, as it was found last. An agent's manifests of an
// earlier version do not give that right, and an informer without it makes all who read wait.
type rights struct {
	asked   time.Time
	granted bool
}

// Metadata returns a namespace to read the metadata of.
func Metadata() *metav1.PartialObjectMetadata {
	n := &metav1.PartialObjectMetadata{}
	n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return n
}

// Follow has the namespaces of members watched for a controller, which is called as the handler says.
func (w *Watcher) Follow(controller clustercache.SourceWatcher[ctrl.Request], handler handler.EventHandler) {
	w.controller, w.handler = controller, handler
}

// Has says whether a member has a namespace, as a watch shows that; known is false where none can. It may be behind.
func (w *Watcher) Has(ctx context.Context, cluster *members.Cluster, namespace string) (has, known bool) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	key := client.ObjectKeyFromObject(cluster)
	if !w.allowed(ctx, cluster.Name, key) || w.Members.Watch(ctx, key, w.watcher(cluster.Name)) != nil {
		return false, false
	}
	reader, err := w.Members.GetReader(ctx, key)
	if err != nil {
		return false, false
	}
	err = reader.Get(ctx, client.ObjectKey{Name: namespace}, Metadata(), client.UnsafeDisableDeepCopy)
	return err == nil, client.IgnoreNotFound(err) == nil
}

// allowed says whether the hub may watch the namespaces of a member. It asks again now and then.
func (w *Watcher) allowed(ctx context.Context, member string, key client.ObjectKey) bool {
	now := w.Clock.Now()
	if found, ok := w.known.Get(member); ok && now.Sub(found.asked) < pace.RightsInterval {
		return found.granted
	}
	c, err := w.Members.GetUncachedClient(ctx, key)
	if err != nil {
		return false
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	err = c.List(ctx, list, client.Limit(1))
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("The hub may not watch namespaces: install the agent's manifests", "Cluster", member)
	}
	w.known.With(member, func(found *rights) { *found = rights{asked: now, granted: err == nil} })
	return err == nil
}

// watcher returns what watches the namespaces of a member.
func (w *Watcher) watcher(member string) clustercache.Watcher {
	return w.Stores.Anew(member, clustercache.WatcherOptions{
		Name: "quota-watchNamespaces", Watcher: w.controller, Kind: Metadata(), EventHandler: w.handler,
	})
}
