package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/hack/bench/workload"
	"github.com/fedquota/fedquota/internal/observer"
)

// cell is one load on fleet and pool.
type cell struct {
	Load     float64     `json:"load"`
	Budget   int64       `json:"budgetMilliCPU"`
	Pods     int         `json:"pods"` // that are counted
	Admitted []admitted  `json:"admitted"`
	Fleet    rig.Answers `json:"fleet"`
	Pooled   rig.Answers `json:"pooled"`
	// Writes is how often a limit was written, per cluster and minute.
	Writes     float64  `json:"writesPerClusterMinute"`
	Violations []string `json:"violations"`
}

// admitted are the pods that were admitted within a time of their arrival, and their work, size × life.
type admitted struct {
	Within                time.Duration `json:"withinNanoseconds"`
	Fleet, Pooled         int
	WorkFleet, WorkPooled float64
}

func (c *cell) within(d time.Duration) admitted {
	for _, a := range c.Admitted {
		if a.Within == d {
			return a
		}
	}
	return admitted{}
}

func (c *cell) ofPooled(a admitted) float64 { return float64(a.Fleet) / float64(max(1, a.Pooled)) }

// play plays the load, with a budget of which its requests would use the given part on average.
func play(ctx context.Context, r *rig.Rig, drawn workload.Synthetic, load float64) (cell, error) {
	requests := drawn.Load().Requests
	c := cell{Load: load, Budget: drawn.BudgetOf(requests, load)}
	namespace := "load-" + strings.ReplaceAll(fmt.Sprintf("%g", load), ".", "-")
	budget := fmt.Sprintf("%dm", c.Budget)
	if err := r.Native(ctx, pooled, namespace, budget); err != nil {
		return c, err
	}
	if err := r.Share(ctx, namespace, budget, members, quotav1alpha1.Admission{}); err != nil {
		return c, err
	}
	watched, err := r.Observe(context.WithoutCancel(ctx), members, observer.Options{
		Namespace: namespace, Budget: corev1.ResourceList{rig.CPU: resource.MustParse(budget)},
	})
	if err != nil {
		return c, err
	}
	defer watched.Stop()
	began := time.Now()
	fleet, pool, err := playBoth(ctx, r, namespace, requests)
	if err != nil {
		return c, err
	}
	seen := watched.Stop()
	for _, m := range seen.Members {
		c.Writes += float64(m.Writes) / float64(len(members)) / time.Since(began).Minutes()
	}
	c.Violations = seen.Violations()
	c.count(requests, fleet, pool)
	return c, nil
}

// playBoth plays the load on fleet and pool at the same time.
func playBoth(
	ctx context.Context, r *rig.Rig, namespace string, requests []simulate.Request,
) (fleet, pool *rig.Player, err error) {
	start := time.Now().Add(time.Second)
	fleet, pool = rig.NewPlayer(namespace, requests, start), rig.NewPlayer(namespace, requests, start)
	for _, m := range members {
		fleet.Clients = append(fleet.Clients, r.Clients[m])
	}
	for range members {
		pool.Clients = append(pool.Clients, r.Clients[pooled])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return fleet.Play(ctx) })
	group.Go(func() error { return pool.Play(ctx) })
	return fleet, pool, group.Wait()
}

// count counts the pods that arrived after the warmup.
func (c *cell) count(requests []simulate.Request, fleet, pool *rig.Player) {
	c.Fleet, c.Pooled = fleet.Answers(), pool.Answers()
	for _, within := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
		a := admitted{Within: within}
		c.Pods = 0
		for i, request := range requests {
			if request.At < workload.LiveWarmup {
				continue
			}
			c.Pods++
			work := float64(request.Size) / 1000 * request.Life.Seconds()
			if fleet.Pods[i].AdmittedWithin(within) {
				a.Fleet, a.WorkFleet = a.Fleet+1, a.WorkFleet+work
			}
			if pool.Pods[i].AdmittedWithin(within) {
				a.Pooled, a.WorkPooled = a.Pooled+1, a.WorkPooled+work
			}
		}
		c.Admitted = append(c.Admitted, a)
	}
}
