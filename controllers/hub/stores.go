package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
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

const (
	// storeInterval is how often the store of each member is looked at: 1,000 members make 200 reads of metadata per second.
	storeInterval = 5 * time.Second
	// firstLook is how often there is a search for stores that were never looked at, for which raises wait.
	firstLook = 250 * time.Millisecond
	// connecting is how long raises wait for the first connection to a Cluster, and looking for the first look at what one holds to which
	// there is a connection, both since this hub manager leads.
	connecting = 5 * time.Second
	looking    = 30 * time.Second
)

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
	// wake takes an event for each member whose store tells what rounds have not seen.
	wake chan event.GenericEvent
	// since is when looking at the stores began.
	since time.Time
	// beat is when this process was last known to run, by the clock on the wall, which goes on while a machine sleeps.
	beat time.Time
}

// store is what is known of one.
type store struct {
	memory rollback.Memory
	// seen are the resourceVersions of the shares that rounds have read, from a cache for the most part, and lost those of the
	// ones that the last look did not find.
	seen, lost map[types.NamespacedName]string
	// looked says whether there was a look at it, and holds are the shares that the last one found.
	looked bool
	holds  sets.Set[types.NamespacedName]
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
		known.holds.Delete(share)
		return
	}
	if known.seen == nil {
		known.seen = map[types.NamespacedName]string{}
	}
	known.seen[share] = version
	if known.holds == nil {
		known.holds = sets.New[types.NamespacedName]()
	}
	known.holds.Insert(share)
}

// seenOf returns what rounds have read of the shares of a member.
func (s *stores) seenOf(member string) map[types.NamespacedName]string {
	known := s.of(member)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(known.seen)
}

// found notes which shares a look has found, and returns those that the look before did not find.
func (s *stores) found(member string, shares sets.Set[types.NamespacedName]) sets.Set[types.NamespacedName] {
	known := s.of(member)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	fresh := shares.Difference(known.holds)
	known.looked, known.holds = true, shares
	return fresh
}

// lookedAt says whether there was a look at the store of a member.
func (s *stores) lookedAt(member string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.byMember[member]
	return known != nil && known.looked
}

// begin notes since when the stores are looked at.
func (s *stores) begin(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.since = now
}

// standstill is how long this process may be silent before what it knows of the stores counts as old. Meanwhile another hub manager may
// have led, and the hub been restored to before that.
const standstill = 3 * time.Second

// alive notes that this process runs.
func (s *stores) alive(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.resume(now)
	s.beat = now.Round(0)
}

// resume begins anew if this process stood still.
func (s *stores) resume(now time.Time) {
	if s.beat.IsZero() || now.Round(0).Sub(s.beat) < standstill {
		return
	}
	s.since, s.beat = now, now.Round(0)
	for _, known := range s.byMember {
		known.looked = false
	}
}

// age returns for how long the stores have been looked at.
func (s *stores) age(now time.Time) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.resume(now)
	if s.since.IsZero() {
		return 0
	}
	return now.Sub(s.since)
}

// survey is what looks have found of one share at an instant.
type survey struct {
	// holders are the members that hold it, and looked those of which it is known whether they do.
	holders, looked sets.Set[string]
	// expected are the members of which it will soon be known whether they do, or what it says.
	expected sets.Set[string]
}

// survey returns what looks have found of a share.
func (s *stores) survey(share types.NamespacedName) survey {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := survey{holders: sets.New[string](), looked: sets.New[string](), expected: sets.New[string]()}
	for member, known := range s.byMember {
		if known.looked {
			found.looked.Insert(member)
		}
		if known.holds.Has(share) {
			found.holders.Insert(member)
		}
	}
	return found
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

// watchStores looks at the stores of all members again and again, and soon at those that there was no look at.
func (r *QuotaReconciler) watchStores(ctx context.Context) error {
	r.stores.begin(r.Clock.Now())
	go wait.UntilWithContext(ctx, func(context.Context) { r.stores.alive(r.Clock.Now()) }, firstLook)
	var last time.Time
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all := r.Clock.Since(last) >= storeInterval
		if all {
			last = r.Clock.Now()
		}
		age := r.stores.age(r.Clock.Now())
		r.lookAtStores(ctx, func(member string) bool { return all || age < looking && !r.stores.lookedAt(member) })
	}, firstLook)
	return nil
}

// lookAtStores looks at the stores of those members that are due.
func (r *QuotaReconciler) lookAtStores(ctx context.Context, due func(member string) bool) {
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters")
		return
	}
	members := make([]*member, len(clusters.Items))
	for i := range clusters.Items {
		members[i] = &member{name: clusters.Items[i].Name, cluster: &clusters.Items[i]}
	}
	r.stores.keep(members)
	_ = forEach(slices.DeleteFunc(members, func(m *member) bool { return !due(m.name) }), func(m *member) error {
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
	if err != nil && !isAbsentKind(err) {
		return
	}
	shares := sets.New[types.NamespacedName]()
	for i := range list.Items {
		shares.Insert(client.ObjectKeyFromObject(&list.Items[i]))
	}
	stranger := r.unknown(ctx, m.name, r.stores.found(m.name, shares))
	if stranger != "" {
		ctrl.LoggerFrom(ctx).Info("A member holds a share that no ledger knows", "Cluster", m.name, "QuotaShare", stranger)
	}
	wentBack := r.stores.of(m.name).behind(list, seen)
	if wentBack {
		r.stores.nextEpoch(m.name)
		ctrl.LoggerFrom(ctx).Info("The store of a member went back: reading its shares anew", "Cluster", m.name)
	}
	if stranger == "" && !wentBack {
		return
	}
	select {
	case r.stores.wake <- event.GenericEvent{Object: m.cluster}:
	case <-ctx.Done():
	}
}

// unknown returns a share that the ledger of its FederatedQuota does not know, if there is one among those that a member holds.
func (r *QuotaReconciler) unknown(ctx context.Context, member string, shares sets.Set[types.NamespacedName]) string {
	for share := range shares {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := r.Get(ctx, share, fq); err != nil {
			continue // nobody's, or not in the cache yet: its first round sees it
		}
		known := func(c quotav1alpha1.ClusterStatus) bool { return string(c.Name) == member }
		if !slices.ContainsFunc(fq.Status.Clusters, known) {
			return share.String()
		}
	}
	return ""
}

// survey returns what looks have found of a share, and who is about to say so: this hub manager may lead for a moment only.
func (r *QuotaReconciler) survey(ctx context.Context, share types.NamespacedName, clusters []clusterv1.Cluster) survey {
	age, found := r.stores.age(r.Clock.Now()), r.stores.survey(share)
	if age >= looking {
		return found
	}
	for i := range clusters {
		key := client.ObjectKeyFromObject(&clusters[i])
		if found.looked.Has(key.Name) && !found.holders.Has(key.Name) {
			continue
		}
		if _, err := r.Members.GetUncachedClient(ctx, key); err == nil || age < connecting && r.connects(ctx, &clusters[i]) {
			found.expected.Insert(key.Name)
		}
	}
	return found
}

// connects says whether the first connection to a Cluster is yet to be made: Cluster API makes none before there are machines.
func (r *QuotaReconciler) connects(ctx context.Context, cluster *clusterv1.Cluster) bool {
	return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) &&
		r.Members.GetHealthCheckingState(ctx, client.ObjectKeyFromObject(cluster)).LastProbeTime.IsZero()
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
