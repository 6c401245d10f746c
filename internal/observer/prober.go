package observer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fedquota/fedquota/internal/observer/judge"
)

const (
	// probeTimeout bounds one probe: its reads, and the wait until the watches have come to what was read.
	probeTimeout = 2 * time.Second
	// probePause is how long an excess that lasts, without a new version, waits for the next probe.
	probePause = 20 * time.Millisecond
)

// probes does so when that is wanted or somebody waits for it, and again while an excess lasts.
func (o *Observer) probes(ctx context.Context) {
	again := time.NewTimer(probePause)
	defer again.Stop()
	for {
		again.Stop()
		if o.suspicious() {
			again.Reset(probePause)
		}
		var reply chan error
		select {
		case <-ctx.Done():
			return
		case <-o.wanted:
		case <-again.C:
		case reply = <-o.syncs:
		}
		err := o.probe(ctx)
		if reply != nil {
			// The first probe made every watch come to what was written; only one that begins then judges it.
			reply <- errors.Join(err, o.probe(ctx))
		}
	}
}

func (o *Observer) suspicious() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.judges(), (*judge.Judge).Suspicious)
}

// probe runs one probe and says about which members it could not tell.
func (o *Observer) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resolved, clients := o.begin()
	var reads sync.WaitGroup
	for name, c := range clients {
		reads.Go(func() { o.read(ctx, name, c) })
	}
	unknown := map[string]bool{}
	select {
	case <-resolved:
	case <-ctx.Done():
	}
	cancel()
	reads.Wait()
	o.with(func(j *judge.Judge, _ time.Time) bool {
		j.Conclude()
		for _, name := range j.Unknown() {
			unknown[name] = true
		}
		return false
	})
	if len(unknown) > 0 {
		return fmt.Errorf("cannot tell what is in force in %s", strings.Join(slices.Sorted(maps.Keys(unknown)), ", "))
	}
	return nil
}

// begin starts a probe and returns the channel that is closed when it has been resolved, and whom to read.
func (o *Observer) begin() (<-chan struct{}, map[string]*connection) {
	resolved := make(chan struct{})
	var clients map[string]*connection
	o.with(func(j *judge.Judge, now time.Time) bool {
		o.resolved, clients = resolved, maps.Clone(o.clients)
		j.Begin(now)
		return false
	})
	return resolved, clients
}
