package e2e_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	east, west, north = "east", "west", "north"
	tierLabel         = "tier"
	// recountPeriod is how often quota controllers count everything anew.
	recountPeriod = 15 * time.Second
)

// world is fedquota on a running fleet, and an administrator's clients of all its API servers.
type world struct {
	*system.System
	hub client.WithWatch
	// members leads to the API servers of each member, the first one first.
	members map[string][]client.WithWatch
	// watchers is how the observer reaches each member.
	watchers map[string]*rest.Config
	// proxies stand between the hub and each member.
	proxies map[string]proxy
	// spares are second processes of hub manager and agents, by name.
	spares map[string]*fleet.Process
	// scrapers read the metrics of managers, by the control plane that they work for.
	scrapers map[string]*http.Client
}

// threeMembers are the members of the sample. Native quota charges pods that then fail to be made, and keeps the charge
// until it recounts everything: tests must not take five minutes for that.
func threeMembers() []fleet.ControlPlaneOptions {
	var members []fleet.ControlPlaneOptions
	for _, name := range []string{east, west, north} {
		members = append(members, fleet.ControlPlaneOptions{Name: name, Labels: map[string]string{tierLabel: "prod"}, ResourceQuotaSyncPeriod: recountPeriod})
	}
	return members
}

// startWorld starts a fleet that ends with the test. Its files stay in bin/e2e, logs included.
func startWorld(t *testing.T, name string, options system.Options) *world {
	t.Helper()
	options.Fleet.Dir = filepath.Join(systemtest.Root(t), "bin", "e2e", name)
	options.Bare = true
	s := systemtest.Start(t, options)
	w := &world{System: s, hub: clientOf(t, s.Hub.Config), members: map[string][]client.WithWatch{}, watchers: map[string]*rest.Config{}, spares: map[string]*fleet.Process{}, scrapers: map[string]*http.Client{}}
	for _, m := range s.Members {
		w.watchers[m.Name] = m.Config
		w.members[m.Name] = []client.WithWatch{clientOf(t, m.Config)}
		if m.SecondConfig != nil {
			w.members[m.Name] = append(w.members[m.Name], clientOf(t, m.SecondConfig))
		}
	}
	for _, c := range append([]*fleet.ControlPlane{w.Hub}, w.Members...) {
		w.scrapers[c.Name] = systemtest.Scraper(t, c)
	}
	w.startProxies(t)
	var err error
	if w.HubManager, err = w.StartHubManager(t.Context(), system.HubManager); err != nil {
		t.Fatal(err)
	}
	for _, m := range w.Members {
		if w.Agents[m.Name], err = w.StartAgent(t.Context(), m, system.Agent(m.Name)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// spare returns another process of the hub manager or of an agent, running until the test ends.
func (w *world) spare(t *testing.T, name string, start func(context.Context, string) (*fleet.Process, error)) *fleet.Process {
	t.Helper()
	p, known := w.spares[name]
	var err error
	if known {
		err = p.Restart(t.Context())
	} else {
		p, err = start(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.spares[name] = p
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// spareHub returns a second hub manager.
func (w *world) spareHub(t *testing.T) *fleet.Process {
	t.Helper()
	return w.spare(t, system.HubManager+"-2", w.StartHubManager)
}

// spareAgent returns a second agent of a member.
func (w *world) spareAgent(t *testing.T, member string) *fleet.Process {
	t.Helper()
	return w.spare(t, system.Agent(member)+"-2", func(ctx context.Context, name string) (*fleet.Process, error) {
		return w.StartAgent(ctx, w.Member(member), name)
	})
}

// clientOf returns a client that is not held back.
func clientOf(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := system.ClientOf(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// member is a client of a member.
func (w *world) member(name string) client.WithWatch { return w.members[name][0] }

// names are the members, in the order in which splits are written.
func (w *world) names() []string {
	var names []string
	for _, m := range w.Members {
		names = append(names, m.Name)
	}
	return names
}

// requests counts what an API server has answered of a kind of request, as its metrics tell: all that the labels are
// part of.
func requests(ctx context.Context, t *testing.T, c *fleet.ControlPlane, labels ...string) int {
	t.Helper()
	lines, err := metrics(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "apiserver_request_total{") && containsAll(line, labels) {
			total += lastNumber(line)
		}
	}
	return total
}
