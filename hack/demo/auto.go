package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// rest is for how long limits must not move to count as still.
const rest = 5 * time.Second

// demand lets limits follow what is asked for.
func (d *display) demand(ctx context.Context, _ string) error {
	d.say("act 5: mode Auto. east asks for 18 cpu, more than its part; west and north idle, and lend it theirs")
	err := d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceAuto
		for i := range fq.Spec.Distribution.Rules {
			fq.Spec.Distribution.Rules[i].Weight = new(int32(1))
		}
	})
	if err != nil {
		return err
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := d.scale(ctx, "east", quotaKey.Namespace, 18); err != nil {
		return err
	}
	err = d.until(
		ctx, "room for 18 cpu in east", func(v view) bool { return v.hard("east", corev1.ResourceRequestsCPU) == "18" },
	)
	if err != nil {
		return err
	}
	d.say(fmt.Sprintf("       the room was there %.1f s after the deployment was scaled", time.Since(began).Seconds()))
	if err := d.uses(ctx, map[string]string{"east": "18"}); err != nil {
		return err
	}
	d.say(
		fmt.Sprintf(
			"       all 18 admitted after %.1f s: the ReplicaSet controller is allowed 20 requests a second",
			time.Since(began).Seconds(),
		),
	)
	return d.describeUse(ctx, map[string]string{"east": "18"})
}

// full has north ask for more than the budget has left.
func (d *display) full(ctx context.Context, _ string) error {
	d.say("act 6: north asks for 4 cpu, and 2 of 24 are left")
	if err := d.create(ctx, "north", deployment(quotaKey.Namespace, 4)); err != nil {
		return err
	}
	if err := d.uses(ctx, map[string]string{"north": "2"}); err != nil {
		return err
	}
	if err := d.showRefusal(ctx, "north", "fleet: used requests.cpu=24 of 24; waiting: north"); err != nil {
		return err
	}
	return d.ask(ctx, "north", "why", "web")
}

// reclaim has west want its min, which it has lent to others.
func (d *display) reclaim(ctx context.Context, _ string) error {
	d.say("act 7: west is guaranteed 8 cpu, has lent them, and wants them back. Nothing that runs is touched")
	err := d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) {
		guarantee := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("8")}
		fq.Spec.Distribution.Rules[1].Min, fq.Spec.Distribution.Rules[1].Lendable = guarantee, guarantee
	})
	if err != nil {
		return err
	}
	if err := d.scale(ctx, "west", quotaKey.Namespace, 8); err != nil {
		return err
	}
	if err := d.until(
		ctx, "east to be told to make room", func(v view) bool { return v.state("east") == quotav1alpha1.ClusterDraining },
	); err != nil {
		return err
	}
	if err := d.ask(
		ctx, fleet.HubName, "explain", quotaKey.Name, "--cluster", "west", "--resource", "requests.cpu",
	); err != nil {
		return err
	}
	d.say("       4 pods of east end, and west has its 8, before north has any of them")
	if err := d.scale(ctx, "east", quotaKey.Namespace, 14); err != nil {
		return err
	}
	return d.describeUse(ctx, map[string]string{"east": "14", "west": "8"})
}

// everybody has all want everything.
func (d *display) everybody(ctx context.Context, _ string) error {
	d.say("act 8: weights 3:2:1. All are at 1 cpu of 3, and want 30. The budget is raised to 24")
	if err := d.scaleAll(ctx, 1); err != nil {
		return err
	}
	if err := d.uses(ctx, map[string]string{"east": "1", "west": "1", "north": "1"}); err != nil {
		return err
	}
	if err := d.changeBudget(ctx, "3"); err != nil {
		return err
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	if err := d.scaleAll(ctx, 30); err != nil {
		return err
	}
	if err := d.until(ctx, "all to ask for 30 cpu", func(v view) bool { return v.demands("87") }); err != nil {
		return err
	}
	if err := d.changeBudget(ctx, "24"); err != nil {
		return err
	}
	if err := d.uses(ctx, map[string]string{"east": "12", "west": "8", "north": "4"}); err != nil {
		return err
	}
	return d.still(ctx)
}

// changeBudget gives the budget a number of cpus, and clusters the weights of the sample without guarantees.
func (d *display) changeBudget(ctx context.Context, cpus string) error {
	return d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse(cpus)
		for i, weight := range []int32{3, 2, 1} {
			rule := &fq.Spec.Distribution.Rules[i]
			rule.Weight, rule.Min, rule.Lendable = new(weight), nil, nil
		}
	})
}

// scaleAll scales the deployments of all members.
func (d *display) scaleAll(ctx context.Context, replicas int32) error {
	for _, cluster := range members {
		if err := d.scale(ctx, cluster, quotaKey.Namespace, replicas); err != nil {
			return err
		}
	}
	return nil
}

// uses waits until clusters use as many cpus.
func (d *display) uses(ctx context.Context, cpus map[string]string) error {
	var wanted []string
	for _, cluster := range slices.Sorted(maps.Keys(cpus)) {
		wanted = append(wanted, cluster+" to use "+cpus[cluster])
	}
	return d.until(ctx, strings.Join(wanted, ", ")+" cpu", func(v view) bool {
		for cluster, want := range cpus {
			if v.used(cluster, corev1.ResourceRequestsCPU) != want {
				return false
			}
		}
		return true
	})
}

// seen waits until the hub knows what clusters use: they report that every few seconds.
func (d *display) seen(ctx context.Context, cpus map[string]string) error {
	return d.until(ctx, "the hub to see what is used", func(v view) bool {
		for _, c := range v.fq.Status.Clusters {
			if want, asked := cpus[string(c.Name)]; asked && amount(c.Used, corev1.ResourceRequestsCPU) != want {
				return false
			}
		}
		return true
	})
}

// describeUse shows the budget once clusters use as many cpus, and the hub knows.
func (d *display) describeUse(ctx context.Context, cpus map[string]string) error {
	if err := d.uses(ctx, cpus); err != nil {
		return err
	}
	if err := d.seen(ctx, cpus); err != nil {
		return err
	}
	return d.describe(ctx)
}

// still demands that limits stay where they are for a while.
func (d *display) still(ctx context.Context) error {
	if err := d.settle(ctx); err != nil {
		return err
	}
	before, err := d.look(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = d.until(ctx, "time to pass", func(v view) bool {
		return v.fq.Status.Revision != before.fq.Status.Revision || time.Since(began) > rest
	})
	if err != nil {
		return err
	}
	if elapsed := time.Since(began); elapsed < rest {
		return fmt.Errorf("a limit moved after %s although nobody wants anything else", elapsed)
	}
	d.say(fmt.Sprintf("       all still want more, and for %s no limit has moved", rest))
	return d.describe(ctx)
}
