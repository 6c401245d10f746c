package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/simulate"
)

const (
	// firstRetry is how long a pod's owner waits after the first refusal; each wait is twice the one before. So does the
	// controller of ReplicaSets.
	firstRetry = 5 * time.Millisecond
	// patience is how long an owner goes on.
	patience = time.Minute
)

// player plays a load: every pod is an owner of its own, that creates it, retries, and deletes it after its life.
type player struct {
	namespace string
	requests  []simulate.Request
	start     time.Time
	clients   []client.WithWatch // by member
	pods      []pod              // by request

	mutex sync.Mutex
	took  []time.Duration // of every request
}

// pod is what became of one.
type pod struct {
	arrived  time.Time // when it was asked for first
	admitted time.Time // zero if it never was
}

func (p pod) admittedWithin(d time.Duration) bool {
	return !p.admitted.IsZero() && p.admitted.Sub(p.arrived) <= d
}

func newPlayer(namespace string, requests []simulate.Request, start time.Time) *player {
	return &player{namespace: namespace, requests: requests, start: start, pods: make([]pod, len(requests))}
}

// play returns when every pod has been deleted or given up.
func (p *player) play(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, request := range p.requests {
		group.Go(func() error {
			if err := sleep(ctx, time.Until(p.start.Add(request.At))); err != nil {
				return err
			}
			return p.live(ctx, i, &request)
		})
	}
	return group.Wait()
}

// live takes one pod through its life.
func (p *player) live(ctx context.Context, i int, request *simulate.Request) error {
	c := p.clients[request.Member]
	object := rig.Pod(p.namespace, fmt.Sprintf("pod-%d", i), fmt.Sprintf("%dm", request.Size))
	p.pods[i].arrived = time.Now()
	for retry := firstRetry; ; retry *= 2 {
		switch err := p.create(ctx, c, object.DeepCopy()); {
		case err == nil:
			p.pods[i].admitted = time.Now()
			if err := sleep(ctx, request.Life); err != nil {
				return err
			}
			return client.IgnoreNotFound(c.Delete(ctx, object))
		case !refused(err):
			return err
		}
		if time.Since(p.pods[i].arrived)+retry > patience {
			return nil
		}
		if err := sleep(ctx, retry); err != nil {
			return err
		}
	}
}

// refused says whether an owner would try again: after a refusal, and where writers of the same quota got into each
// other's way.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err)
}

func (p *player) create(ctx context.Context, c client.Client, object client.Object) error {
	began := time.Now()
	err := c.Create(ctx, object)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.took = append(p.took, time.Since(began))
	return err
}

func (p *player) answers() answers {
	return answers{
		Requests: len(p.took), P50: rig.Millis(rig.Percentile(p.took, 50)), P99: rig.Millis(rig.Percentile(p.took, 99)),
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
