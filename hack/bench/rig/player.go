package rig

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/hack/bench/simulate"
)

// firstRetry is how long a pod's owner waits after the first refusal; each wait is twice the one before. So does the
// controller of ReplicaSets.
const firstRetry = 5 * time.Millisecond

// Player plays a load: every pod is an owner of its own, that creates it, retries, and deletes it after its life.
type Player struct {
	Namespace string
	Requests  []simulate.Request
	Start     time.Time
	Clients   []client.WithWatch // by member
	// Patience is how long an owner goes on.
	Patience time.Duration
	// Budget is what all pods may use together, in thousandths of a CPU: by it a refusal is judged.
	Budget int64
	Pods   []Played // by request

	running atomic.Int64 // of all pods, in thousandths of a CPU: those that are asked for, run, or are not deleted yet

	mutex sync.Mutex
	took  []time.Duration // of every request
}

// Played is what became of one pod.
type Played struct {
	Arrived  time.Time // when it was asked for first
	Admitted time.Time // zero if it never was
	// InVain says that the first request was refused, and that the budget had room for it from its beginning to its end.
	InVain bool
}

// AdmittedWithin says whether the pod was admitted within a time of the first request.
func (p Played) AdmittedWithin(d time.Duration) bool {
	return !p.Admitted.IsZero() && p.Admitted.Sub(p.Arrived) <= d
}

// Answers are those to all requests; times are in milliseconds.
type Answers struct {
	Requests int `json:"requests"`
	P50, P99 float64
}

// NewPlayer returns a player whose owners go on for a minute.
func NewPlayer(namespace string, requests []simulate.Request, start time.Time) *Player {
	return &Player{
		Namespace: namespace, Requests: requests, Start: start, Patience: time.Minute, Pods: make([]Played, len(requests)),
	}
}

// Play returns when every pod has been deleted or given up.
func (p *Player) Play(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, request := range p.Requests {
		group.Go(func() error {
			if err := Sleep(ctx, time.Until(p.Start.Add(request.At))); err != nil {
				return err
			}
			return p.live(ctx, i, &request)
		})
	}
	return group.Wait()
}

// live takes one pod through its life.
func (p *Player) live(ctx context.Context, i int, request *simulate.Request) error {
	c, played := p.Clients[request.Member], &p.Pods[i]
	object := Pod(p.Namespace, fmt.Sprintf("pod-%d", i), fmt.Sprintf("%dm", request.Size))
	played.Arrived = time.Now()
	for retry := firstRetry; ; retry *= 2 {
		room, err := p.create(ctx, c, object.DeepCopy(), request.Size)
		switch {
		case err == nil:
			played.Admitted = time.Now()
			if err := Sleep(ctx, request.Life); err != nil {
				return err
			}
			err := c.Delete(ctx, object)
			p.running.Add(-request.Size)
			return client.IgnoreNotFound(err)
		case !Refused(err):
			return err
		}
		played.InVain = played.InVain || room && retry == firstRetry
		if time.Since(played.Arrived)+retry > p.Patience {
			return nil
		}
		if err := Sleep(ctx, retry); err != nil {
			return err
		}
	}
}

// Refused says whether an owner would try again: after a refusal, and where writers of the same quota got into each
// other's way.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err)
}

// create asks for a pod once, and says whether the budget had room for it before and after.
func (p *Player) create(ctx context.Context, c client.Client, object client.Object, size int64) (room bool, err error) {
	before := p.running.Add(size)
	began := time.Now()
	err = c.Create(ctx, object)
	took := time.Since(began)
	room = max(before, p.running.Load()) <= p.Budget
	if err != nil {
		p.running.Add(-size)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.took = append(p.took, took)
	return room, err
}

// Answers are those that the player has had.
func (p *Player) Answers() Answers {
	return Answers{
		Requests: len(p.took), P50: Millis(Percentile(p.took, 50)), P99: Millis(Percentile(p.took, 99)),
	}
}

// Sleep returns after a time, or when the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
