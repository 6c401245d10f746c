package hub

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/rollback"
)

// storeInterval is how often the store of each member is looked at: 1,000 members make 200 reads of metadata per second.
const storeInterval = 5 * time.Second

// Watchdog returns what ends the hub manager when the store of the hub went back.
func Watchdog(cached client.Client, live client.Reader) *rollback.Watchdog {
	return &rollback.Watchdog{
		Live:    live,
		Kind:    quotav1alpha1.GroupVersion.WithKind("FederatedQuota"),
		Options: []client.ListOption{client.Limit(1)},
		Cached:  cached,
		Objects: &quotav1alpha1.FederatedQuotaList{},
	}
}

// stores knows the stores of members. When one went back, the shares in the cache of that member's connection may never have
// been, and its watch is silent: they are read anew.
type stores struct {
	mutex    sync.Mutex
	byMember map[string]*store
	// wentBack takes an event for each member whose store went back.
	wentBack chan event.GenericEvent
}

// store is what is known of one.
type store struct {
	memory rollback.Memory
	// seen are the resourceVersions of the shares that rounds have read, from a cache for the most part, and lost those of the
	// ones that the last look did not find.
	seen, lost map[types.NamespacedName]string
	// epoch counts how often it went back.
	epoch int
}

// epochOf returns how often the store of a member went back.
func (s *stores) epochOf(member string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.byMember[member]; known != nil {
		return known.epoch
	}
	return 0
}

// of returns the store of a member.
func (s *stores) of(member string) *store {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.byMember == nil {
		s.byMember = map[string]*store{}
	}
	if s.byMember[member] == nil {
		s.byMember[member] = &store{}
	}
	return s.byMember[member]
}

// keep forgets the stores of all but these members: a cluster that comes back does so by a new connection.
func (s *stores) keep(members []*member) {
	names := sets.New[string]()
	for _, m := range members {
		names.Insert(m.name)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	maps.DeleteFunc(s.byMember, func(name string, _ *store) bool { return !names.Has(name) })
}

// saw notes what a round has read of a share: its resourceVersion, or "" if there is none.
func (s *stores) saw(member string, share types.NamespacedName, version string) {
	known := s.of(member)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if version == "" {
		delete(known.seen, share)
		return
	}
	if known.seen == nil {
		known.seen = map[types.NamespacedName]string{}
	}
	known.seen[share] = version
}

// seenOf returns what rounds have read of the shares of a member.
func (s *stores) seenOf(member string) map[types.NamespacedName]string {
	known := s.of(member)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(known.seen)
}

// nextEpoch notes that the store of a member went back: what was seen of it is of the past.
func (s *stores) nextEpoch(member string) {
	known := s.of(member)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known.epoch, known.seen = known.epoch+1, nil
}

// behind says whether the store is behind what rounds have seen of it, or what it showed itself, before it listed all shares.
// A share that is gone may just have been deleted; one that rounds go on to see was forgotten.
func (s *store) behind(list *metav1.PartialObjectMetadataList, seen map[types.NamespacedName]string) bool {
	for share, version := range seen {
		s.memory.Expect(share, version)
	}
	behind := s.memory.Behind(list)
	for i := range list.Items {
		delete(seen, client.ObjectKeyFromObject(&list.Items[i]))
	}
	for share, version := range seen {
		behind = behind || s.lost[share] == version
	}
	s.lost = seen
	return behind
}

// watchStores looks at the stores of all members again and again.
func (r *QuotaReconciler) watchStores(ctx context.Context) error {
	wait.UntilWithContext(ctx, r.lookAtStores, storeInterval)
	return nil
}

// lookAtStores looks at the stores of all members once.
func (r *QuotaReconciler) lookAtStores(ctx context.Context) {
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Clusters")
		return
	}
	members := make([]*member, len(clusters.Items))
	for i := range clusters.Items {
		members[i] = &member{name: clusters.Items[i].Name, cluster: &clusters.Items[i]}
	}
	r.stores.keep(members)
	_ = forEach(members, func(m *member) error {
		r.lookAtStore(ctx, m)
		return nil
	})
}

// lookAtStore looks at the store of a member. One that does not answer says nothing.
func (r *QuotaReconciler) lookAtStore(ctx context.Context, m *member) {
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(m.cluster))
	if err != nil {
		return
	}
	seen := r.stores.seenOf(m.name)
	list, err := rollback.List(ctx, c, quotav1alpha1.GroupVersion.WithKind("QuotaShare"), r.memberTimeout)
	if err != nil || !r.stores.of(m.name).behind(list, seen) {
		return
	}
	r.stores.nextEpoch(m.name)
	ctrl.LoggerFrom(ctx).Info("The store of a member went back: reading its shares anew", "Cluster", m.name)
	select {
	case r.stores.wentBack <- event.GenericEvent{Object: m.cluster}:
	case <-ctx.Done():
	}
}

// shareWatcher watches the shares of a member, anew in each epoch of its store.
type shareWatcher struct {
	clustercache.Watcher

	epoch int
}

func (r *QuotaReconciler) shareWatcher(member string) clustercache.Watcher {
	epoch := r.stores.epochOf(member)
	return &shareWatcher{epoch: epoch, Watcher: clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:         fmt.Sprintf("quota-watchShares-%d", epoch),
		Watcher:      r.watcher,
		Kind:         &quotav1alpha1.QuotaShare{},
		EventHandler: &handler.EnqueueRequestForObject{},
	})}
}

// Watch drops what the connection has cached of an earlier epoch before it watches.
func (w *shareWatcher) Watch(shares cache.Cache) error {
	if w.epoch > 0 {
		if err := shares.RemoveInformer(context.Background(), w.Object()); err != nil {
			return err
		}
	}
	return w.Watcher.Watch(shares)
}
