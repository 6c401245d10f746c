package stores

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

// Survey is what looks have found of one share at an instant.
type Survey struct {
	// Holders are the members that hold it, and looked those of which it is known whether they do.
	Holders, looked sets.Set[string]
	// Expected are the members of which it will soon be known whether they do, or what it says.
	Expected sets.Set[string]
}

// survey returns what looks have found of a share.
func (s *stores) survey(share types.NamespacedName) Survey {
	found := Survey{Holders: sets.New[string](), looked: sets.New[string](), Expected: sets.New[string]()}
	s.Each(func(member string, known *store) {
		if known.looked {
			found.looked.Insert(member)
		}
		if known.holds.Has(share) {
			found.Holders.Insert(member)
		}
	})
	return found
}

// Start looks at the stores of all members again and again, and soon at those that there was no look at.
func (w *Watcher) Start(ctx context.Context) error {
	w.Begin()
	go wait.UntilWithContext(ctx, func(context.Context) { w.Alive() }, pace.FirstLookInterval)
	var last time.Time
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all := w.Clock.Since(last) >= pace.LookInterval
		if all {
			last = w.Clock.Now()
		}
		age := w.known.age(w.Clock.Now())
		w.Look(ctx, func(member string) bool {
			return all || age < pace.LookingAt(w.known.size()) && !w.known.lookedAt(member)
		})
	}, pace.FirstLookInterval)
	return nil
}

// Begin notes that looking begins now.
func (w *Watcher) Begin() { w.BeginAt(w.Clock.Now()) }

// BeginAt notes when looking began.
func (w *Watcher) BeginAt(since time.Time) { w.known.begin(since) }

// Steady returns since when this process has looked at stores without standing still.
func (w *Watcher) Steady() time.Time {
	now := w.Clock.Now()
	return now.Add(-w.known.age(now))
}

// Alive notes that this process runs.
func (w *Watcher) Alive() { w.known.alive(w.Clock.Now()) }

// Look looks at the stores of those members that are due.
func (w *Watcher) Look(ctx context.Context, due func(member string) bool) {
	clusters, err := w.Clusters.List(ctx, w, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters")
		return
	}
	names, looked := sets.New[string](), []*members.Cluster{}
	for i := range clusters {
		cluster := &clusters[i]
		names.Insert(cluster.Name)
		if due(cluster.Name) {
			looked = append(looked, cluster)
		}
	}
	w.known.keep(names)
	_ = members.ForEach(looked, func(cluster *members.Cluster) error {
		w.look(ctx, cluster)
		return nil
	})
}

// look looks at the store of a member, at all of its shares now and then and whenever a glance is not as expected. One
// that does not answer says nothing.
func (w *Watcher) look(ctx context.Context, cluster *members.Cluster) {
	c, err := w.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return
	}
	defer w.known.ask(cluster.Name)
	now := w.Clock.Now()
	if w.known.wholeDue(cluster.Name, now) || w.glance(ctx, c, cluster.Name) {
		w.lookAtAll(ctx, c, cluster, now)
	}
}

// glance asks for one share, which tells the version of the store and how many shares it holds. It says whether all are
// to be looked at.
func (w *Watcher) glance(ctx context.Context, c client.Client, member string) (suspicious bool) {
	held, highest := w.known.held(member), w.known.highestOf(member)
	list, err := w.list(ctx, c, member, client.Limit(1))
	if err != nil {
		return members.IsAbsentKind(err) && held > 0
	}
	return len(list.Items)+int(ptr.Deref(list.RemainingItemCount, 0)) != held ||
		list.Continue != "" && list.RemainingItemCount == nil ||
		w.known.Of(member).shows(list, w.known.seenBy(highest, member, list), highest)
}

// list lists the metadata of shares of a member, and notes that it has answered.
func (w *Watcher) list(
	ctx context.Context, c client.Client, member string, options ...client.ListOption,
) (*metav1.PartialObjectMetadataList, error) {
	list, err := rollback.List(ctx, c, shareKind, w.Timeout, options...)
	if err == nil {
		w.known.answered(member, w.Clock.Now())
	}
	return list, err
}

var shareKind = quotav1alpha1.GroupVersion.WithKind("QuotaShare")

// lookAtAll looks at all shares of a member.
func (w *Watcher) lookAtAll(ctx context.Context, c client.Client, cluster *members.Cluster, now time.Time) {
	seen := w.known.seenOf(cluster.Name)
	list, err := w.list(ctx, c, cluster.Name)
	if err != nil && !members.IsAbsentKind(err) {
		return
	}
	if err == nil && !w.known.lookedAt(cluster.Name) {
		w.fill(ctx, cluster)
	}
	shares := sets.New[types.NamespacedName]()
	for i := range list.Items {
		shares.Insert(client.ObjectKeyFromObject(&list.Items[i]))
	}
	stranger := w.unknown(ctx, cluster.Name, w.known.found(cluster.Name, shares))
	if stranger != "" {
		ctrl.LoggerFrom(ctx).Info("A member holds a share that no ledger knows", "Cluster", cluster.Name, "QuotaShare",
			stranger)
	}
	wentBack := w.known.Of(cluster.Name).behind(list, seen)
	if wentBack {
		w.known.nextEpoch(cluster.Name)
		ctrl.LoggerFrom(ctx).Info("The store of a member went back: reading its shares anew", "Cluster", cluster.Name)
	}
	w.known.nextWhole(cluster.Name, now.Add(wait.Jitter(pace.WholeLookInterval(w.known.size(), shares.Len()), jitter)))
	if stranger != "" || wentBack {
		w.wake(ctx, cluster.Cluster)
	}
}

// wake tells rounds that the store of a member shows what they have not seen.
func (w *Watcher) wake(ctx context.Context, cluster *clusterv1.Cluster) {
	select {
	case w.Wake <- event.GenericEvent{Object: cluster}:
	case <-ctx.Done():
	}
}

// jitter spreads the looks at all shares of a member.
const jitter = 0.2

// unknown returns a share that the ledger of its FederatedQuota does not know, if there is one among those that a
// member holds.
func (w *Watcher) unknown(ctx context.Context, member string, shares sets.Set[types.NamespacedName]) string {
	for share := range shares {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := w.Get(ctx, share, fq, client.UnsafeDisableDeepCopy); err != nil {
			continue // nobody's, or not in the cache yet: its first round sees it
		}
		known := func(c quotav1alpha1.ClusterStatus) bool { return string(c.Name) == member }
		if !slices.ContainsFunc(fq.Status.Clusters, known) {
			return share.String()
		}
	}
	return ""
}

// Survey returns what looks have found of a share, and which members is about to say so: this hub manager may lead for
// a moment only.
func (w *Watcher) Survey(ctx context.Context, share types.NamespacedName, clusters []members.Cluster) Survey {
	age, found := w.known.age(w.Clock.Now()), w.known.survey(share)
	if age >= pace.LookingAt(len(clusters)) {
		return found
	}
	for i := range clusters {
		name := clusters[i].Name
		if found.looked.Has(name) && !found.Holders.Has(name) {
			continue
		}
		if w.speaksSoon(ctx, clusters[i].Cluster, age < pace.ConnectingTo(len(clusters))) {
			found.Expected.Insert(name)
		}
	}
	return found
}

// speaksSoon says whether there is a connection to a Cluster, or will be.
func (w *Watcher) speaksSoon(ctx context.Context, cluster *clusterv1.Cluster, connecting bool) bool {
	_, err := w.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	return err == nil || connecting && w.connects(ctx, cluster)
}

// connects says whether the first connection to a Cluster is yet to be made: Cluster API makes none before there are
// machines.
func (w *Watcher) connects(ctx context.Context, cluster *clusterv1.Cluster) bool {
	return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) &&
		w.Members.GetHealthCheckingState(ctx, client.ObjectKeyFromObject(cluster)).LastProbeTime.IsZero()
}
