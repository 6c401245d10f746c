package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	// scrapeInterval is how often the metrics are read: Prometheus is often told so.
	scrapeInterval = 15 * time.Second
	// warmUps are requests of each kind after the start of a hub manager that are not counted.
	warmUps = 2
)

// arm is a hub manager of some arguments. The two take turns on one fleet.
type arm struct {
	Name  string `json:"name"`
	Turns []turn `json:"turns"`

	args    []string
	scraped bool
	process *fleet.Process
}

// turn is what one hub manager has done and taken until the other one was started: how long limits took to be raised by
// kind, in milliseconds. The rest is in seconds: the time of the turn, how much of it passed until all was at rest
// before requests, and the CPU of the hub manager, and of the hub's API server and etcd.
type turn struct {
	Raises  [2][]float64 `json:"raises"`
	Refused int          `json:"refused"`
	Seconds float64      `json:"seconds"`
	Rested  float64      `json:"rested"`
	Manager float64      `json:"manager"`
	Hub     float64      `json:"hub"`
}

func arms() []*arm {
	return []*arm{
		// A turn is shorter than the hour in which a record is written by default: sixty times as often, some turns have one.
		{Name: "with metrics and records", args: []string{"--record-interval=1m"}, scraped: true},
		{Name: "without", args: []string{"--record-months=0", "--metrics-bind-address=0"}},
	}
}

// comparison is one fleet with two hub managers that take turns.
type comparison struct {
	*rig.Rig

	kinds   []*raises
	watches *watches
	scraper *http.Client
	arms    []*arm
	// made is how many requests of each kind were made in the round.
	made int
}

// lookOn measures what metrics and records cost, and prints it.
func lookOn(ctx context.Context, rounds, requests int, path string, out io.Writer) (err error) {
	if rounds < fewest {
		return fmt.Errorf("-eyes %d: fewer than %d rounds tell nothing", rounds, fewest)
	}
	machine := rig.ThisMachine()
	r, err := rig.Start(ctx, "eyes", []string{east, west}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	c := &comparison{Rig: r, arms: arms()}
	if c.watches, err = watchAll(ctx, r, []string{east, west}); err != nil {
		return err
	}
	defer c.watches.stop()
	if c.scraper, err = system.Scraper(ctx, r.Hub); err != nil {
		return err
	}
	if err := r.HubManager.Stop(); err != nil {
		return err
	}
	for round := range rounds {
		if err := c.drop(ctx); err != nil {
			return err
		}
		c.kinds, c.made = kindsOfRound(round), 0
		for i := range c.arms { // who begins changes, so that neither has the better part of what changes with time
			if err := c.turn(ctx, c.arms[(round+i)%len(c.arms)], requests); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	costs := costsOf(machine, c.arms, requests)
	return errors.Join(costs.print(out), rig.Write(path, costs))
}

// kindsOfRound returns what is measured in a round, over budgets of its own: each raise takes of what is free.
func kindsOfRound(round int) []*raises {
	kinds := kindsOfRaises()[:2]
	for _, kind := range kinds {
		for i := range kind.seats {
			kind.seats[i].namespace += fmt.Sprintf("-%d", round)
		}
	}
	return kinds
}

// drop deletes the budgets of a round, so that each round has as many. The next hub manager to run lets them go.
func (c *comparison) drop(ctx context.Context) error {
	for _, kind := range c.kinds {
		for _, s := range kind.seats {
			fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: rig.QuotaName}}
			if err := client.IgnoreNotFound(c.HubClient.Delete(ctx, fq)); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn has a hub manager serve requests. The first one of a round takes up its budgets.
func (c *comparison) turn(ctx context.Context, a *arm, requests int) error {
	if err := c.start(ctx, a); err != nil {
		return err
	}
	if c.made == 0 {
		c.watches.forget()
		for _, kind := range c.kinds {
			kind.took = map[string][]time.Duration{}
			if err := kind.share(ctx, c.Rig); err != nil {
				return err
			}
		}
	}
	if err := c.requests(ctx, warmUps); err != nil {
		return err
	}
	for _, kind := range c.kinds {
		kind.took, kind.Refused, kind.rested = map[string][]time.Duration{}, 0, 0
	}
	end := c.scrape(ctx, a)
	manager := a.process.PID()
	hub := []int{c.Hub.Process(fleet.APIServer).PID(), c.Hub.Process(fleet.Etcd).PID()}
	began, spent, hubSpent := time.Now(), rig.CPUSeconds(manager), rig.CPUSeconds(hub...)
	err := c.requests(ctx, requests)
	t := turn{
		Seconds: time.Since(began).Seconds(),
		Manager: rig.CPUSeconds(manager) - spent, Hub: rig.CPUSeconds(hub...) - hubSpent,
	}
	if err := errors.Join(err, end(), a.process.Stop()); err != nil {
		return err
	}
	for i, kind := range c.kinds {
		t.Refused, t.Rested = t.Refused+kind.Refused, t.Rested+kind.rested.Seconds()
		for _, took := range kind.took[stageInForce] {
			t.Raises[i] = append(t.Raises[i], rig.Millis(took))
		}
	}
	a.Turns = append(a.Turns, t)
	return nil
}

// start starts a hub manager, the same one each time.
func (c *comparison) start(ctx context.Context, a *arm) (err error) {
	if a.process != nil {
		return a.process.Restart(ctx)
	}
	name := "hub-manager-with"
	if !a.scraped {
		name = "hub-manager-without"
	}
	a.process, err = c.With(a.args...).StartHubManager(ctx, name)
	return err
}

func (c *comparison) requests(ctx context.Context, count int) error {
	for range count {
		if err := requestEach(ctx, c.Rig, c.watches, c.kinds, c.made); err != nil {
			return err
		}
		c.made++
	}
	return nil
}

// scrape reads the metrics of a hub manager that is to be scraped, again and again, until it is ended.
func (c *comparison) scrape(ctx context.Context, a *arm) (end func() error) {
	if !a.scraped {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var failed error
	group.Go(func() {
		// It begins in the middle of an interval: a turn has as many as its length makes, on average.
		for wait := scrapeInterval / 2; rig.Sleep(ctx, wait) == nil; wait = scrapeInterval {
			failed = errors.Join(failed, c.read(ctx))
		}
	})
	return func() error {
		cancel()
		group.Wait()
		return failed
	}
}

// read reads the metrics of the hub manager that runs. One that is ended meanwhile is no failure.
func (c *comparison) read(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Managers(c.Hub)[0].MetricsURL, nil)
	if err != nil {
		return err
	}
	response, err := c.scraper.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New("reading metrics: " + response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
