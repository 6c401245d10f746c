package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/internal/observer"
)

// above is what was in force in all members together above the budget: of each the limit, or what it uses where that is
// more. Amounts are in CPUs.
type above struct {
	// Largest is the largest amount above the budget as it was then, and Seconds how long there was any.
	Largest float64 `json:"largest"`
	Seconds float64 `json:"seconds"`
	// Proved is the largest amount above the largest budget that there was: what is left of an earlier budget does not
	// explain it. It is proved by reads that began after it was seen.
	Proved float64 `json:"proved"`
}

func aboveOf(r observer.Report) above {
	var a above
	for _, res := range r.Resources {
		a.Largest = res.LargestAboveBudget.AsApproximateFloat64()
		a.Seconds = res.AboveBudget.Seconds()
		for _, e := range res.Excesses {
			if e.Confirmed {
				a.Proved = max(a.Proved, e.Certain.AsApproximateFloat64())
			}
		}
	}
	return a
}

// changes is what was above the budget while it changed, under the load.
type changes struct {
	Cut   above `json:"cut"`   // the budget is cut by three tenths, and raised again
	Moved above `json:"moved"` // parts are moved, and moved back
	Away  above `json:"away"`  // parts are moved while the way cannot reach a member
}

// The lengths of the three.
const (
	settling = 5 * time.Second
	half     = 8 * time.Second
	absence  = 10 * time.Second
	length   = settling + 2*half + 2*half + absence + half + time.Second
)

// scene is one change that is watched.
type scene struct {
	*world
	way
	*observer.Observer

	budget int64
}

func (w *world) change(ctx context.Context, chosen way, l load, budget int64) (changes, error) {
	l.For, l.Seed = length, l.Seed+1
	player, ctx := errgroup.WithContext(ctx)
	player.Go(func() error { return w.player(l, budget).Play(ctx) })
	var c changes
	err := rig.Sleep(ctx, settling)
	for _, part := range []struct {
		above *above
		play  func(scene, context.Context) error
	}{{&c.Cut, scene.cut}, {&c.Moved, scene.move}, {&c.Away, scene.away}} {
		if err == nil {
			*part.above, err = w.scene(ctx, chosen, budget, part.play)
		}
	}
	return c, errors.Join(err, player.Wait())
}

func (w *world) scene(
	ctx context.Context, chosen way, budget int64, play func(scene, context.Context) error,
) (above, error) {
	watched, err := w.watch(ctx, budget)
	if err != nil {
		return above{}, err
	}
	defer watched.Stop()
	err = play(scene{world: w, way: chosen, Observer: watched, budget: budget}, ctx)
	return aboveOf(watched.Stop()), err
}

// cut cuts the budget, and raises it again.
func (s scene) cut(ctx context.Context) error {
	lower := s.budget * 7 / 10
	if err := s.way.change(ctx, equal(lower)); err != nil {
		return err
	}
	s.SetBudget(amount(lower), time.Now())
	if err := rig.Sleep(ctx, half); err != nil {
		return err
	}
	s.SetBudget(amount(s.budget), time.Now())
	if err := s.way.change(ctx, equal(s.budget)); err != nil {
		return err
	}
	return rig.Sleep(ctx, half)
}

// moved gives the first member twice what the others have.
func (s scene) moved() split { return split{budget: s.budget, weights: []int64{2, 1, 1}} }

func (s scene) move(ctx context.Context) error {
	for _, parts := range []split{s.moved(), equal(s.budget)} {
		if err := s.way.change(ctx, parts); err != nil {
			return err
		}
		if err := rig.Sleep(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

// away moves parts while the last member is cut off from the way. Its own users reach it.
func (s scene) away(ctx context.Context) error {
	last := s.members[len(s.members)-1]
	s.proxies[last].Stop()
	err := rig.Sleep(ctx, time.Second)
	if err == nil {
		err = s.way.change(ctx, s.moved())
	}
	if err == nil {
		err = rig.Sleep(ctx, absence)
	}
	if err := errors.Join(err, s.proxies[last].Start()); err != nil {
		return fmt.Errorf("with %s away: %w", last, err)
	}
	// What the way still has to write comes into force, however late it tries again.
	err = rig.Until(ctx, "the parts to be moved", func(context.Context) (bool, error) {
		return s.Report().Resources[0].Last.MilliValue() <= s.budget, nil
	})
	return errors.Join(err, rig.Sleep(ctx, half))
}

// inForce is how long a changed budget takes into force at rest, in milliseconds from before it is written.
type inForce struct {
	// Raised is the time until a pod that needs its part of the raise is admitted in every member, Cut until the members
	// together allow no more than the budget.
	Raised timed `json:"raised"`
	Cut    timed `json:"cut"`
}

type timed struct{ P50, Longest float64 }

func timedOf(took []time.Duration) timed {
	return timed{P50: rig.Millis(rig.Percentile(took, 50)), Longest: rig.Millis(rig.Percentile(took, 100))}
}

const (
	// rounds is how often the budget is raised and cut at rest.
	rounds = 7
	// step is the part of the raise that each member gets, in thousandths of a CPU.
	step = 3000
)

// inForce fills the members, and then raises and cuts the budget.
func (w *world) inForce(ctx context.Context, chosen way, budget int64) (inForce, error) {
	budget -= budget % int64(len(members)) // no part is rounded
	if err := w.fill(ctx, chosen, equal(budget)); err != nil {
		return inForce{}, err
	}
	watched, err := w.watch(ctx, budget)
	if err != nil {
		return inForce{}, err
	}
	defer watched.Stop()
	var raised, cut []time.Duration
	for i := range rounds {
		// A name of its own: fedquota holds no request for an object that was made three times within a minute.
		pods := fmt.Sprintf("part-%d", i)
		took, err := w.raise(ctx, chosen, budget+step*int64(len(members)), pods)
		if err != nil {
			return inForce{}, err
		}
		raised = append(raised, took)
		if took, err = w.cut(ctx, chosen, budget, pods, watched); err != nil {
			return inForce{}, err
		}
		cut = append(cut, took)
	}
	return inForce{Raised: timedOf(raised), Cut: timedOf(cut)}, nil
}

// fill has every member use its part of the budget.
func (w *world) fill(ctx context.Context, chosen way, all split) error {
	// Another limit has native quota count anew: a charge whose pod was refused after all would stay for minutes.
	if err := errors.Join(chosen.change(ctx, equal(all.budget+step)), w.uses(ctx, 0)); err != nil {
		return err
	}
	if err := chosen.change(ctx, all); err != nil {
		return err
	}
	for i, part := range all.parts() {
		if err := w.admitted(ctx, i, "filler", part); err != nil {
			return err
		}
	}
	return nil
}

// raise raises the budget, and waits until every member admits its part of it.
func (w *world) raise(ctx context.Context, chosen way, budget int64, pods string) (time.Duration, error) {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return chosen.change(context.WithoutCancel(ctx), equal(budget)) })
	for i := range members {
		group.Go(func() error { return w.admitted(ctx, i, pods, step) })
	}
	err := group.Wait()
	return time.Since(began), err
}

// admitted makes a pod in the place of a member, as soon as that is possible.
func (w *world) admitted(ctx context.Context, member int, name string, size int64) error {
	place := w.members[member%len(w.members)]
	pod := rig.Pod(namespace, fmt.Sprintf("%s-%d", name, member), milli(size))
	return rig.Until(ctx, pod.Name+" to be admitted", func(ctx context.Context) (bool, error) {
		err := w.Clients[place].Create(ctx, pod.DeepCopy())
		if rig.Refused(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// cut ends what has used the raise, cuts the budget, and waits until the members together allow no more.
func (w *world) cut(
	ctx context.Context, chosen way, budget int64, pods string, watched *observer.Observer,
) (time.Duration, error) {
	for i := range members {
		pod := rig.Pod(namespace, fmt.Sprintf("%s-%d", pods, i), milli(step))
		if err := w.Clients[w.members[i%len(w.members)]].Delete(ctx, pod); err != nil {
			return 0, err
		}
	}
	if err := w.uses(ctx, budget); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := chosen.change(ctx, equal(budget)); err != nil {
		return 0, err
	}
	err := rig.Until(ctx, "the cut", func(context.Context) (bool, error) {
		last := watched.Report().Resources[0].Last
		return last.MilliValue() <= budget, nil
	})
	return time.Since(began), err
}
