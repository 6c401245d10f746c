package top

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// refusals counts what quotas have refused since the command began, as far as controllers tell of it by events: those
// of this cluster if it is a member, or of all members.
type refusals struct {
	env       *cli.Env
	namespace string
	clusters  members.Namespaces
	ways      sync.Map

	lock sync.Mutex
	// heard says that a cluster has been read, and told how often each event of it had been repeated then.
	heard  bool
	told   map[string]map[types.UID]int32
	counts map[limit]int
}

func newRefusals(env *cli.Env, namespace string, clusters members.Namespaces) *refusals {
	return &refusals{
		env: env, namespace: namespace, clusters: clusters,
		told: map[string]map[types.UID]int32{}, counts: map[limit]int{},
	}
}

// follow looks until the context ends. A member that does not answer keeps nobody from drawing.
func (r *refusals) follow(ctx context.Context, c client.Client, interval time.Duration) {
	for {
		r.look(ctx, c)
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// look reads the events of all clusters. One that cannot be read tells nothing.
func (r *refusals) look(ctx context.Context, c client.Client) {
	clusters, err := r.clusters.List(ctx, c)
	if apimeta.IsNoMatchError(err) {
		r.read(ctx, "", c)
		return
	}
	_ = members.ForEach(clusters, func(cluster members.Cluster) error {
		way, known := r.ways.Load(cluster.UID)
		if !known {
			member, err := r.env.Member(ctx, c, client.ObjectKeyFromObject(cluster))
			if err != nil {
				return err
			}
			way, _ = r.ways.LoadOrStore(cluster.UID, member)
		}
		r.read(ctx, string(cluster.UID), way.(client.Client))
		return nil
	})
}

func (r *refusals) read(ctx context.Context, cluster string, c client.Client) {
	ctx, cancel := context.WithTimeout(ctx, cli.MemberTimeout)
	defer cancel()
	var list corev1.EventList
	failed := client.MatchingFields{"reason": "FailedCreate"}
	if err := c.List(ctx, &list, client.InNamespace(r.namespace), failed); err == nil {
		r.take(cluster, list.Items)
	}
}

// take counts what events of a cluster tell beyond what they told before. What they tell at first is from before the
// command began.
func (r *refusals) take(cluster string, events []corev1.Event) {
	r.lock.Lock()
	defer r.lock.Unlock()
	before, begun := r.told[cluster]
	now := map[types.UID]int32{}
	for i := range events {
		e := &events[i]
		times := max(e.Count, 1)
		if e.Series != nil {
			times = max(times, e.Series.Count)
		}
		now[e.UID] = times
		if more := times - before[e.UID]; begun && more > 0 {
			quota, names := refusedOf(e.Message)
			for _, name := range names {
				r.counts[limit{e.Namespace, quota, "", name}] += int(more)
			}
		}
	}
	r.told[cluster], r.heard = now, true
}

// of returns how many were refused, and whether anybody could be asked.
func (r *refusals) of(l *view.Line) (count int, known bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.counts[limit{l.Namespace, l.Name, "", l.Resource}], r.heard
}

var exceeded = regexp.MustCompile(`exceeded quota: ([^,\s]+), requested: (\S+), used: `)

// refusedOf reads out of a refusal which quota refused, and for which resources.
func refusedOf(message string) (quota string, names []corev1.ResourceName) {
	found := exceeded.FindStringSubmatch(message)
	if found == nil {
		return "", nil
	}
	for pair := range strings.SplitSeq(found[2], ",") {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, corev1.ResourceName(name))
	}
	return found[1], names
}
