package hub

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/rollback"
	"github.com/fedquota/fedquota/internal/pace"
)

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

// watchStores looks at the stores of all members again and again, and soon at those that there was no look at.
func (r *QuotaReconciler) watchStores(ctx context.Context) error {
	r.stores.begin(r.Clock.Now())
	go wait.UntilWithContext(ctx, func(context.Context) { r.stores.alive(r.Clock.Now()) }, pace.FirstLookInterval)
	var last time.Time
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all := r.Clock.Since(last) >= pace.LookInterval
		if all {
			last = r.Clock.Now()
		}
		age := r.stores.age(r.Clock.Now())
		r.lookAtStores(ctx, func(member string) bool { return all || age < pace.Looking && !r.stores.lookedAt(member) })
	}, pace.FirstLookInterval)
	return nil
}

// lookAtStores looks at the stores of those members that are due.
func (r *QuotaReconciler) lookAtStores(ctx context.Context, due func(member string) bool) {
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters")
		return
	}
	names, looked := sets.New[string](), []*clusterv1.Cluster{}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		names.Insert(cluster.Name)
		if due(cluster.Name) {
			looked = append(looked, cluster)
		}
	}
	r.stores.keep(names)
	_ = forEach(looked, func(cluster *clusterv1.Cluster) error {
		r.lookAtStore(ctx, cluster)
		return nil
	})
}

// lookAtStore looks at the store of a member. One that does not answer says nothing.
func (r *QuotaReconciler) lookAtStore(ctx context.Context, cluster *clusterv1.Cluster) {
	c, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return
	}
	seen := r.stores.seenOf(cluster.Name)
	list, err := rollback.List(ctx, c, quotav1alpha1.GroupVersion.WithKind("QuotaShare"), r.memberTimeout)
	if err != nil && !isAbsentKind(err) {
		return
	}
	shares := sets.New[types.NamespacedName]()
	for i := range list.Items {
		shares.Insert(client.ObjectKeyFromObject(&list.Items[i]))
	}
	stranger := r.unknown(ctx, cluster.Name, r.stores.found(cluster.Name, shares))
	if stranger != "" {
		ctrl.LoggerFrom(ctx).Info("A member holds a share that no ledger knows", "Cluster", cluster.Name, "QuotaShare", stranger)
	}
	wentBack := r.stores.of(cluster.Name).behind(list, seen)
	if wentBack {
		r.stores.nextEpoch(cluster.Name)
		ctrl.LoggerFrom(ctx).Info("The store of a member went back: reading its shares anew", "Cluster", cluster.Name)
	}
	if stranger == "" && !wentBack {
		return
	}
	select {
	case r.stores.wake <- event.GenericEvent{Object: cluster}:
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
	if age >= pace.Looking {
		return found
	}
	for i := range clusters {
		key := client.ObjectKeyFromObject(&clusters[i])
		if found.looked.Has(key.Name) && !found.holders.Has(key.Name) {
			continue
		}
		if _, err := r.Members.GetUncachedClient(ctx, key); err == nil || age < pace.Connecting && r.connects(ctx, &clusters[i]) {
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
