// Package stores looks at what the API servers of members hold: shares that no ledger knows, and stores that were put
// back to an earlier state.
package stores

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

// Watcher looks at the stores of members again and again. When one went back, the shares in the cache of that member's
// connection may never have been, and its watch is silent: they are read anew.
type Watcher struct {
	client.Client
	// Members connects to members.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
	// Clock says since when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to be looked at.
	Timeout time.Duration
	// Wake takes an event for each member whose store tells what rounds have not seen.
	Wake chan event.GenericEvent
	// PerCluster has it collect when each share reported last, too.
	PerCluster bool

	known stores
	// controller is whom the shares of members are watched for, and handler has it called.
	controller clustercache.SourceWatcher[ctrl.Request]
	handler    handler.EventHandler
	listen     sync.Mutex
	listening  listening
}

// stores is what is known of the stores of members.
type stores struct {
	members.Memory[store]

	mutex sync.Mutex
	// number is how many Clusters there were at the last looks.
	number int
	// since is when looking at the stores began.
	since time.Time
	// beat is when this process was last known to run, by the clock on the wall, which goes on while a machine sleeps.
	beat time.Time
}

// store is what is known of one.
type store struct {
	memory rollback.Memory
	// seen are the resourceVersions of the shares that rounds have read, from a cache for the most part, or created, and
	// lost those of the ones that the last look did not find. highest is the highest one ever seen.
	seen, lost map[types.NamespacedName]string
	highest    string
	// asked says whether it was asked, looked whether there was a look at it, and holds are the shares that the last one
	// found.
	asked, looked bool
	holds         sets.Set[types.NamespacedName]
	// whole is when all of its shares are to be looked at next, unless there is a reason before, and doubted says whether
	// the last glance has shown it to be behind.
	whole   time.Time
	doubted bool
	// epoch counts how often it went back.
	epoch int
	// times is when it was heard of.
	times times
}

// epochOf returns how often the store of a member went back.
func (s *stores) epochOf(member string) (epoch int) {
	s.With(member, func(known *store) { epoch = known.epoch })
	return epoch
}

// keep forgets the stores of all but these members: a cluster that comes back does so by a new connection.
func (s *stores) keep(names sets.Set[string]) {
	s.Keep(names)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.number = len(names)
}

// Saw notes what a round has read of a share, or created: its resourceVersion, or "" if there is none.
func (w *Watcher) Saw(member string, share types.NamespacedName, version string) {
	w.known.saw(member, share, version)
}

func (s *stores) saw(member string, share types.NamespacedName, version string) {
	s.With(member, func(known *store) {
		if version == "" {
			delete(known.seen, share)
			known.holds.Delete(share)
			return
		}
		if known.seen == nil {
			known.seen = map[types.NamespacedName]string{}
		}
		known.seen[share], known.highest = version, rollback.Higher(known.highest, version)
		if known.holds == nil {
			known.holds = sets.New[types.NamespacedName]()
		}
		known.holds.Insert(share)
	})
}

// seenOf returns what rounds have read of the shares of a member.
func (s *stores) seenOf(member string) (seen map[types.NamespacedName]string) {
	s.With(member, func(known *store) { seen = maps.Clone(known.seen) })
	return seen
}

// highestOf returns the highest resourceVersion that rounds have read of the shares of a member.
func (s *stores) highestOf(member string) (highest string) {
	s.With(member, func(known *store) { highest = known.highest })
	return highest
}

// seenBy returns what rounds have read of those shares of a member that are in a list, if the store had come that far
// when the highest resourceVersion was the given one. What has happened since the list may not show.
func (s *stores) seenBy(
	highest, member string, list *metav1.PartialObjectMetadataList,
) map[types.NamespacedName]string {
	seen := map[types.NamespacedName]string{}
	s.With(member, func(known *store) {
		for i := range list.Items {
			key := client.ObjectKeyFromObject(&list.Items[i])
			if version := known.seen[key]; version != "" && rollback.Higher(highest, version) == highest {
				seen[key] = version
			}
		}
	})
	return seen
}

// wholeDue says whether all shares of a member are to be looked at.
func (s *stores) wholeDue(member string, now time.Time) (due bool) {
	s.With(member, func(known *store) { due = !known.looked || !now.Before(known.whole) })
	return due
}

// nextWhole notes when all shares of a member are to be looked at next.
func (s *stores) nextWhole(member string, at time.Time) {
	s.With(member, func(known *store) { known.whole = at })
}

// held returns how many shares a member is known to hold.
func (s *stores) held(member string) (shares int) {
	s.With(member, func(known *store) { shares = len(known.holds) })
	return shares
}

// found notes which shares a look has found, and returns those that the look before did not find.
func (s *stores) found(member string, shares sets.Set[types.NamespacedName]) (fresh sets.Set[types.NamespacedName]) {
	s.With(member, func(known *store) {
		fresh = shares.Difference(known.holds)
		known.looked, known.holds = true, shares
	})
	return fresh
}

// size returns how many Clusters there are.
func (s *stores) size() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.number
}

// lookedAt says whether there was a look at the store of a member.
func (s *stores) lookedAt(member string) (looked bool) {
	s.With(member, func(known *store) { looked = known.looked })
	return looked
}

// ask notes that a member was asked what it holds, whether it has answered or not.
func (s *stores) ask(member string) { s.With(member, func(known *store) { known.asked = true }) }

// asked says whether a member was asked.
func (s *stores) asked(member string) (asked bool) {
	s.With(member, func(known *store) { asked = known.asked })
	return asked
}

// begin notes since when the stores are looked at.
func (s *stores) begin(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.since = now
}

// alive notes that this process runs.
func (s *stores) alive(now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.resume(now)
	s.beat = now.Round(0)
}

// resume begins anew if this process stood still.
func (s *stores) resume(now time.Time) {
	if s.beat.IsZero() || now.Round(0).Sub(s.beat) < pace.Standstill {
		return
	}
	s.since, s.beat = now, now.Round(0)
	s.Each(func(_ string, known *store) { known.asked, known.looked = false, false })
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

// nextEpoch notes that the store of a member went back: what was seen of it is of the past.
func (s *stores) nextEpoch(member string) {
	s.With(member, func(known *store) { known.epoch, known.seen, known.highest = known.epoch+1, nil, "" })
}

// shows says whether a glance shows the store to be behind what rounds have seen of it, or what it showed itself,
// before. The look at all that follows could no longer tell.
func (s *store) shows(
	part *metav1.PartialObjectMetadataList, seen map[types.NamespacedName]string, highest string,
) bool {
	s.memory.Reached(highest)
	for share, version := range seen {
		s.memory.Expect(share, version)
	}
	s.doubted = s.memory.BehindPart(part) || s.doubted
	return s.doubted
}

// behind says whether the store is behind what rounds have seen of it, or what it showed itself, before it listed all
// shares. A share that is gone may just have been deleted; one that rounds go on to see was forgotten.
func (s *store) behind(list *metav1.PartialObjectMetadataList, seen map[types.NamespacedName]string) bool {
	for share, version := range seen {
		s.memory.Expect(share, version)
	}
	behind := s.memory.Behind(list) || s.doubted
	s.doubted = false
	for i := range list.Items {
		delete(seen, client.ObjectKeyFromObject(&list.Items[i]))
	}
	for share, version := range seen {
		behind = behind || s.lost[share] == version
	}
	s.lost = seen
	return behind
}

// anew watches a kind of a member anew in each epoch of its store.
type anew struct {
	clustercache.Watcher

	epoch int
}

// Anew returns what watches a kind of a member, which nobody else watches, anew in each epoch of its store.
func (w *Watcher) Anew(member string, options clustercache.WatcherOptions) clustercache.Watcher {
	epoch := w.known.epochOf(member)
	options.Name = fmt.Sprintf("%s-%d", options.Name, epoch)
	return &anew{epoch: epoch, Watcher: clustercache.NewWatcher(options)}
}

// ShareWatcher returns what watches the shares of a member for whom Follow has named.
func (w *Watcher) ShareWatcher(member string) clustercache.Watcher {
	return w.Anew(member, clustercache.WatcherOptions{
		Name: "quota-watchShares", Watcher: w.controller, Kind: &quotav1alpha1.QuotaShare{},
		EventHandler: listener{EventHandler: w.handler, Watcher: w, member: member},
	})
}

// Watch drops what the connection has cached of an earlier epoch before it watches.
func (w *anew) Watch(cached cache.Cache) error {
	if w.epoch > 0 {
		if err := cached.RemoveInformer(context.Background(), w.Object()); err != nil {
			return err
		}
	}
	return w.Watcher.Watch(cached)
}
