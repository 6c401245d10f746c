// Agent measures an agent over a member of many namespaces: a real control plane, the real program, and a test that
// writes shares as the hub would.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options say what is measured.
type options struct {
	// namespaces have shares, and others do not. pods is how many each of the former has.
	namespaces, others, pods int
	// at is how many requests are made at once, and for how long.
	at   int
	long time.Duration
	// results is the folder of what is written.
	results string
	profile bool
}

func main() {
	var o options
	flag.IntVar(&o.namespaces, "namespaces", 2000, "How many namespaces have a share.")
	flag.IntVar(&o.others, "others", 3000, "How many namespaces have none.")
	flag.IntVar(&o.pods, "pods", 25, "How many pods each namespace with a share has.")
	flag.IntVar(&o.at, "at-once", 200, "How many requests are made at once.")
	flag.DurationVar(&o.long, "long", 20*time.Second, "How long requests are made, and how long the agent is watched at rest.")
	flag.StringVar(&o.results, "results", filepath.Join("bin", "scale-agent"), "Folder of results.")
	flag.BoolVar(&o.profile, "profile", false, "Save profiles of the agent after each phase.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// run measures all phases, and writes what they showed.
func run(ctx context.Context, o options) (err error) {
	m, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.system.Stop()) }()
	for _, p := range []struct {
		name string
		do   func(context.Context) (note string, err error)
	}{
		{"start over nothing", m.startAgent},
		{fmt.Sprintf("%d namespaces, %d of them with shares", o.namespaces+o.others, o.namespaces), m.createShares},
		{fmt.Sprintf("%d pods", o.namespaces*o.pods), m.createPods},
		{"at rest", m.rest},
		{fmt.Sprintf("%d requests at once, no share", o.at), m.requests(other)},
		{fmt.Sprintf("%d requests at once, with shares", o.at), m.requests(shared)},
		{"restart", m.restart},
		{"at rest again", m.rest},
	} {
		if err := m.measure(ctx, p.name, p.do); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return m.write()
}
