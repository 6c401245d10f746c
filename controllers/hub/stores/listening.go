package stores

import (
	"context"
	"time"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pace"
)

// listening is whether this hub manager still waits for members to say what they hold, as it was found last.
type listening struct {
	over bool
	// at is when it was found, and since when the looks began that it was found of.
	at, since time.Time
}

// Listening says whether members are about to say what they hold, for which decisions would wait. It is over once each
// was asked, or could not be connected to; Clusters that come later do not bring it back. A hub manager that is busy
// takes no member for silent by that.
func (w *Watcher) Listening(ctx context.Context) bool {
	w.listen.Lock()
	defer w.listen.Unlock()
	now := w.Clock.Now()
	age := w.known.age(now)
	since := now.Add(-age)
	last := w.listening
	if last.since.Equal(since) && (last.over || now.Sub(last.at) < pace.FirstLookInterval) {
		return !last.over
	}
	w.listening = listening{over: !w.waits(ctx, age), at: now, since: since}
	return !w.listening.over
}

// waits says whether a member is about to be asked what it holds.
func (w *Watcher) waits(ctx context.Context, age time.Duration) bool {
	clusters, err := w.Clusters.List(ctx, w, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters")
		return false
	}
	if age >= pace.LookingAt(len(clusters)) {
		return false
	}
	for i := range clusters {
		if cluster := &clusters[i]; !w.known.asked(cluster.Name) && w.speaksSoon(ctx, cluster.Cluster, true) {
			return true
		}
	}
	return false
}

// Follow has the shares of members watched for a controller, which is called as the handler says, as soon as a member
// is looked at first, before any round asks for them.
func (w *Watcher) Follow(controller clustercache.SourceWatcher[ctrl.Request], handler handler.EventHandler) {
	w.controller, w.handler = controller, handler
}

// fill begins to watch the shares of a member, and waits until they are cached. Where that fails rounds find out.
func (w *Watcher) fill(ctx context.Context, cluster *members.Cluster) {
	if w.controller == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	key := client.ObjectKeyFromObject(cluster)
	if err := w.Members.Watch(ctx, key, w.ShareWatcher(cluster.Name)); err != nil {
		return
	}
	if reader, err := w.Members.GetReader(ctx, key); err == nil {
		_ = reader.Get(ctx, key, &quotav1alpha1.QuotaShare{}, client.UnsafeDisableDeepCopy) // it waits for the cache
	}
}
