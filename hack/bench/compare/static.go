package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// retryAfter is how long the writer of a member's ResourceQuota waits after a failure.
const retryAfter = 100 * time.Millisecond

// static is a ResourceQuota in each member that somebody writes, into all members at once: as a script does, or what
// applies manifests from a repository.
type static struct {
	*world

	clients map[string]client.Client

	mutex sync.Mutex
	stop  context.CancelFunc // what still tries to write the last split
}

func startStatic(ctx context.Context, w *world) (way, error) {
	options, err := w.options()
	if err != nil {
		return nil, err
	}
	if err := w.bare(ctx, options); err != nil {
		return nil, err
	}
	return newStatic(w)
}

// startPool is the same with one member, which has the whole budget.
func startPool(ctx context.Context, w *world) (way, error) {
	w.members = []string{"pooled"}
	return startStatic(ctx, w)
}

func newStatic(w *world) (*static, error) {
	s := &static{world: w, clients: map[string]client.Client{}, stop: func() {}}
	for _, m := range w.members {
		config := rest.CopyConfig(w.Member(m).Config)
		config.Host, config.Timeout = w.proxied(m), time.Second
		var err error
		if s.clients[m], err = client.New(config, client.Options{Scheme: schemes.All()}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parts are those of the members that there are: one pool has all.
func (s *static) parts(all split) []int64 {
	if len(s.members) == 1 {
		return []int64{all.budget}
	}
	return all.parts()
}

func (s *static) create(ctx context.Context, all split) error {
	var group errgroup.Group
	for i, part := range s.parts(all) {
		group.Go(func() error { return s.Native(ctx, s.members[i], namespace, milli(part)) })
	}
	return group.Wait()
}

// change writes each member until it succeeds or the split changes again.
func (s *static) change(ctx context.Context, all split) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.stop()
	ctx, s.stop = context.WithCancel(ctx)
	for i, part := range s.parts(all) {
		go s.write(ctx, s.members[i], part)
	}
	return nil
}

func (s *static) write(ctx context.Context, member string, part int64) {
	key := client.ObjectKey{Namespace: namespace, Name: rig.QuotaName}
	for ctx.Err() == nil {
		quota := &corev1.ResourceQuota{}
		if s.clients[member].Get(ctx, key, quota) == nil {
			quota.Spec.Hard = amount(part)
			if s.clients[member].Update(ctx, quota) == nil {
				return
			}
		}
		_ = rig.Sleep(ctx, retryAfter)
	}
}
