package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/hack/bench/rig"
	"github.com/fedquota/fedquota/internal/observer"
)

// world is a fleet with a way on it.
type world struct {
	*rig.Rig

	name    string
	members []string // that have a part of the budget
	began   time.Time
	// proxies are what the way reaches the members by. Who makes pods reaches them without.
	proxies map[string]*toxiproxy.Proxy
	// programs are those of the way.
	programs []*fleet.Process
}

// options are those of a fleet with the members.
func (w *world) options() (system.Options, error) {
	w.began = time.Now()
	o, err := rig.Options("compare", filepath.Join("fleets", w.name), w.progress)
	o.Bare = true
	for _, m := range w.members {
		o.Fleet.Members = append(
			o.Fleet.Members, fleet.ControlPlaneOptions{Name: m, Labels: map[string]string{rig.TierLabel: rig.SharesTier}},
		)
	}
	return o, err
}

func (w *world) progress(step string) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s: %s\n", time.Since(w.began).Seconds(), w.name, step)
}

// bare starts control planes alone.
func (w *world) bare(ctx context.Context, options system.Options) error {
	f, err := fleet.Start(ctx, options.Fleet)
	if err != nil {
		return err
	}
	return w.on(&system.System{Fleet: f})
}

// on takes a fleet that runs, and puts a proxy before each member.
func (w *world) on(s *system.System) (err error) {
	if w.Rig, err = rig.On(s); err != nil {
		return err
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w.proxies = map[string]*toxiproxy.Proxy{}
	for _, m := range w.Members {
		upstream, err := url.Parse(m.Config.Host)
		if err != nil {
			return err
		}
		p := toxiproxy.NewProxy(server, m.Name, "127.0.0.1:0", upstream.Host)
		if err := p.Start(); err != nil {
			return err
		}
		w.proxies[m.Name] = p
	}
	return nil
}

// proxied is how the way reaches a member.
func (w *world) proxied(member string) string { return "https://" + w.proxies[member].Listen }

// end ends all that was started.
func (w *world) end() error {
	for _, p := range w.proxies {
		p.Stop()
	}
	if w.Rig == nil {
		return nil
	}
	return w.Stop()
}

// amount is so many thousandths of a CPU.
func amount(milliCPU int64) corev1.ResourceList {
	return corev1.ResourceList{rig.CPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)}
}

// watch starts an observer over the members.
func (w *world) watch(ctx context.Context, budget int64) (*observer.Observer, error) {
	return w.Observe(
		ctx, w.members, observer.Options{Namespace: namespace, Budget: amount(budget), Unmanaged: true},
	)
}

// quota is the ResourceQuota in a member.
func (w *world) quota(ctx context.Context, member string) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	return quota, w.Clients[member].Get(ctx, client.ObjectKey{Namespace: namespace, Name: rig.QuotaName}, quota)
}

// uses waits until the members say that they use no more than so much together.
func (w *world) uses(ctx context.Context, most int64) error {
	return rig.Until(ctx, "pods to be gone", func(ctx context.Context) (bool, error) {
		var sum int64
		for _, m := range w.members {
			quota, err := w.quota(ctx, m)
			if err != nil {
				return false, err
			}
			sum += quota.Status.Used.Name(rig.CPU, resource.DecimalSI).MilliValue()
		}
		return sum <= most, nil
	})
}

// cost is what the programs of a way have used.
type cost struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	// PeakMiB is the most memory that each program has had, added up.
	PeakMiB float64 `json:"peakMiB"`
}

// cost reads what the programs have used until now. One that has ended counts as nothing.
func (w *world) cost() cost {
	var c cost
	for _, p := range w.programs {
		peak, _ := rig.Memory(p.PID())
		c.CPUSeconds, c.PeakMiB = c.CPUSeconds+rig.CPUSeconds(p.PID()), c.PeakMiB+peak
	}
	return c
}

func (c cost) since(before cost) cost {
	return cost{CPUSeconds: c.CPUSeconds - before.CPUSeconds, PeakMiB: c.PeakMiB}
}
