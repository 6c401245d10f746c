package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/scale/members"
)

const (
	// restTime is how long the fleet is watched where nothing has to settle.
	restTime = 40 * time.Second
	// usualParts is how much of each budget a member uses, and mostMoved how many members leave and come back.
	usualParts = 5
	mostMoved  = 100
	// noiseInterval is how often each member changes what it uses.
	noiseInterval = 10 * time.Second
	// poll is how often members are looked at, which costs no request, and slowPoll how often the hub is.
	poll     = 20 * time.Millisecond
	slowPoll = time.Second
)

// phase is a part of the measurement.
type phase struct {
	name string
	// optional ones can be left out.
	optional bool
	// run does what is measured, and returns when it is over.
	run func(context.Context) error
}

func (r *rig) allPhases() []phase {
	if r.pooled {
		return r.pooledPhases()
	}
	return []phase{
		{"connect", false, r.connect},
		{"create", false, r.create},
		{"calm", true, wait(restTime)},
		{"noise", true, r.noise},
		{"one budget changed", true, func(ctx context.Context) error { return r.changeAndAwait(ctx, 12, 1, nil) }},
		{"all budgets changed", true, func(ctx context.Context) error { return r.changeAndAwait(ctx, 13, r.budgets, nil) }},
		{"one changed beside a slow one", true, r.slow},
		{"one changed beside a dead one", true, r.dead},
		{"the dead one back", true, r.back},
		{"demand above the budget", true, r.demand},
		{"at rest above the budget", true, r.restAbove},
		{"placement changed", true, r.placement},
		{"restart", true, r.restart},
		{"restart after all were changed", true, r.restartChanged},
	}
}

func wait(long time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(long):
			return nil
		}
	}
}

// until waits for a condition.
func until(ctx context.Context, interval time.Duration, condition func(context.Context) bool) error {
	for !condition(ctx) {
		if err := wait(interval)(ctx); err != nil {
			return fmt.Errorf("not in time: %w", err)
		}
	}
	return nil
}

// connect starts the hub manager, and waits until it has asked each member for its kinds.
func (r *rig) connect(ctx context.Context) error {
	if err := r.startManager(ctx); err != nil {
		return err
	}
	return until(ctx, poll, func(context.Context) bool {
		for _, m := range r.members {
			if counts, _ := m.Requests(); counts["discovery"] < 2 {
				return false
			}
		}
		return true
	})
}

// podsPerPart is how many pods the least part of a budget has room for.
const podsPerPart = 5

// pods returns what so many pods ask for.
func pods(n int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceRequestsCPU: *resource.NewMilliQuantity(200*n, resource.DecimalSI), corev1.ResourceLimitsCPU: *resource.NewMilliQuantity(400*n, resource.DecimalSI),
		corev1.ResourceRequestsMemory: *resource.NewQuantity(n<<30, resource.BinarySI), corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI),
	}
}

// parts returns so many parts for each of a number of members.
func parts(each int64, number int) corev1.ResourceList {
	return pods(podsPerPart * each * int64(number))
}

// want has a member want so many parts of a budget.
func want(m *members.Member, budget int, each int64) {
	m.Want(budgetKey(budget), podsPerPart*each, pods(1))
}

func budgetKey(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprintf("team-%04d", i), Name: "compute"}
}

// forBudgets does something for the first budgets, several at once.
func (r *rig) forBudgets(number int, do func(types.NamespacedName) error) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for i := range number {
		group.Go(func() error { return do(budgetKey(i)) })
	}
	return group.Wait()
}

// create makes all budgets, and waits until they are in force. Meanwhile it kills the hub manager, if that is asked for.
func (r *rig) create(ctx context.Context) error {
	r.wantAll(r.members, usualParts)
	err := r.forBudgets(r.budgets, func(key types.NamespacedName) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		fq.Spec.Hard = parts(10, r.size)
		fq.Spec.Placement.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: tier}}
		fq.Spec.Placement.CreateNamespace = new(true)
		fq.Spec.Rebalance.Mode = r.mode
		return errors.Join(r.hub.Create(ctx, namespace), r.hub.Create(ctx, fq))
	})
	for _, left := range r.killedAt() {
		err = errors.Join(err, r.killOnce(ctx, left))
	}
	if err != nil {
		return err
	}
	return errors.Join(r.settled(ctx), r.within())
}

// killedAt draws when the hub manager is killed: how many budgets are left to be settled then.
func (r *rig) killedAt() []int {
	moments := make([]int, r.kills)
	for i := range moments {
		moments[i] = 1 + rand.IntN(r.budgets)
	}
	slices.SortFunc(moments, func(a, b int) int { return b - a })
	return moments
}

// killOnce kills the hub manager less than a second after no more budgets than so many are left to be settled.
func (r *rig) killOnce(ctx context.Context, left int) error {
	err := until(ctx, slowPoll/4, func(ctx context.Context) bool {
		now, err := r.unsettled(ctx)
		return err == nil && now <= left
	})
	err = errors.Join(err, wait(rand.N(slowPoll))(ctx), r.kill(), r.within())
	progress("killed the hub manager when %d budgets or fewer were not settled", left)
	err = errors.Join(err, r.HubManager.Restart(ctx))
	r.pid = r.HubManager.PID()
	return err
}

// within says whether members together enforce no more of any budget than there is.
func (r *rig) within() error {
	whole := parts(10, r.size)
	for i := range r.budgets {
		sum := corev1.ResourceList{}
		for _, m := range r.members {
			if share := m.Share(budgetKey(i)); share != nil {
				sum = quotav1.Add(sum, share.Status.Hard)
			}
		}
		if fits, over := quotav1.LessThanOrEqual(sum, whole); !fits {
			return fmt.Errorf("members enforce more %v of budget %s than there is", over, budgetKey(i))
		}
	}
	return nil
}

// settled waits until all budgets are settled everywhere.
func (r *rig) settled(ctx context.Context) error {
	return until(ctx, slowPoll, func(ctx context.Context) bool {
		unsettled, err := r.unsettled(ctx)
		return err == nil && unsettled == 0
	})
}

// changeAndAwait gives the first budgets another size, and waits until that is in force in all members but one.
func (r *rig) changeAndAwait(ctx context.Context, each int64, number int, but *members.Member) error {
	if err := r.change(ctx, each, number); err != nil {
		return err
	}
	return r.inForce(ctx, number, but)
}

func (r *rig) change(ctx context.Context, each int64, number int) error {
	return r.forBudgets(number, func(key types.NamespacedName) error {
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		before := fq.DeepCopy()
		fq.Spec.Hard = parts(each, r.size)
		return r.hub.Patch(ctx, fq, client.MergeFrom(before))
	})
}

// inForce waits until members enforce what the first budgets give them: in Static an equal part each, in Auto whatever
// settles.
func (r *rig) inForce(ctx context.Context, number int, but *members.Member) error {
	if r.mode != quotav1alpha1.RebalanceStatic {
		return r.seenAndSettled(ctx, number, but)
	}
	for i := range number {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := r.hub.Get(ctx, budgetKey(i), fq); err != nil {
			return err
		}
		total := fq.Spec.Hard[corev1.ResourceRequestsCPU]
		part := total.Value() / int64(r.size)
		for _, m := range r.members {
			err := until(ctx, poll, func(context.Context) bool {
				if m == but {
					return true
				}
				share := m.Share(budgetKey(i))
				if share == nil {
					return false
				}
				hard := share.Status.Hard[corev1.ResourceRequestsCPU]
				return hard.Value() == part
			})
			if err != nil {
				return fmt.Errorf("budget %s in member %s: %w", budgetKey(i), m.Name, err)
			}
		}
	}
	return nil
}

// seenAndSettled waits until the hub manager has acted on the specs of the first budgets, and all are settled, but for
// one member.
func (r *rig) seenAndSettled(ctx context.Context, number int, but *members.Member) error {
	err := r.forBudgets(number, func(key types.NamespacedName) error {
		return until(ctx, slowPoll/4, func(ctx context.Context) bool {
			fq := &quotav1alpha1.FederatedQuota{}
			return r.hub.Get(ctx, key, fq) == nil && fq.Status.ObservedGeneration == fq.Generation
		})
	})
	if err != nil || but != nil {
		return err
	}
	return r.settled(ctx)
}

// noise has each member change what one of its namespaces uses, again and again.
func (r *rig) noise(ctx context.Context) error {
	steps := time.NewTicker(noiseInterval / time.Duration(r.size))
	defer steps.Stop()
	over := time.After(restTime)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return nil
		case <-steps.C:
			want(r.members[n%r.size], rand.IntN(r.budgets), 1+rand.Int64N(8))
		}
	}
}

func (r *rig) slow(ctx context.Context) error {
	last := r.members[r.size-1]
	last.Slow(time.Second)
	defer last.Slow(0)
	return r.changeAndAwait(ctx, 14, 1, last)
}

func (r *rig) dead(ctx context.Context) error {
	last := r.members[r.size-1]
	if err := last.Stop(); err != nil {
		return err
	}
	return r.changeAndAwait(ctx, 15, 1, last)
}

func (r *rig) back(ctx context.Context) error {
	if err := r.members[r.size-1].Start(); err != nil {
		return err
	}
	return r.inForce(ctx, 1, nil)
}

// demand has all members want more than they have, some of them a lot more, and waits until the hub says so and limits
// have come to rest. Where limits do not follow demand there is nothing to see.
func (r *rig) demand(ctx context.Context) error {
	if r.mode == quotav1alpha1.RebalanceStatic {
		return nil
	}
	for n, m := range r.members {
		for i := range r.budgets {
			want(m, i, 15+int64(n+i)%3*7)
		}
	}
	err := r.forBudgets(r.budgets, func(key types.NamespacedName) error {
		return until(ctx, slowPoll, func(ctx context.Context) bool {
			fq := &quotav1alpha1.FederatedQuota{}
			if r.hub.Get(ctx, key, fq) != nil {
				return false
			}
			wanted := fq.Status.Demand[corev1.ResourceRequestsCPU]
			return wanted.Sign() > 0
		})
	})
	if err != nil {
		return err
	}
	return r.settled(ctx)
}

// restAbove watches the fleet while demand stays above the budget.
func (r *rig) restAbove(ctx context.Context) error {
	if r.mode == quotav1alpha1.RebalanceStatic {
		return nil
	}
	return wait(restTime)(ctx)
}

// placement takes a part of the members out of all budgets once nothing runs there, waits until their shares are gone,
// and takes them in again.
func (r *rig) placement(ctx context.Context) error {
	moved := r.members[:min(mostMoved, (r.size+1)/2)]
	r.wantAll(moved, 0)
	if err := r.relabel(ctx, moved, "none"); err != nil {
		return err
	}
	for _, m := range moved {
		for i := range r.budgets {
			gone := func(context.Context) bool { return m.Share(budgetKey(i)) == nil }
			if err := until(ctx, poll, gone); err != nil {
				return fmt.Errorf("budget %s in member %s: %w", budgetKey(i), m.Name, err)
			}
		}
	}
	r.wantAll(moved, usualParts)
	if err := r.relabel(ctx, moved, tier); err != nil {
		return err
	}
	return r.settled(ctx)
}

// wantAll has members want so many parts of each budget.
func (r *rig) wantAll(list []*members.Member, each int64) {
	for _, m := range list {
		for i := range r.budgets {
			want(m, i, each)
		}
	}
}

// relabel gives the Clusters of members the label by which budgets select them, or another one.
func (r *rig) relabel(ctx context.Context, list []*members.Member, value string) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for _, m := range list {
		group.Go(func() error {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: m.Name}}
			before := cluster.DeepCopy()
			cluster.Labels = map[string]string{tierLabel: value}
			return r.hub.Patch(ctx, cluster, client.MergeFrom(before))
		})
	}
	return group.Wait()
}

// restart kills the hub manager over a settled fleet, and waits until all budgets had a round and are settled.
func (r *rig) restart(ctx context.Context) error {
	return errors.Join(r.restarted(ctx), r.settled(ctx))
}

// restarted kills the hub manager, starts it again, and waits until each budget had a round.
func (r *rig) restarted(ctx context.Context) error {
	if err := r.kill(); err != nil {
		return err
	}
	if err := r.HubManager.Restart(ctx); err != nil {
		return err
	}
	return until(ctx, slowPoll/2, func(ctx context.Context) bool {
		var now reading
		r.probe.scrape(ctx, &now)
		if unsettled, err := r.unsettled(ctx); err == nil {
			r.unready = max(r.unready, unsettled)
		}
		return now.decided >= r.budgets
	})
}

// restartChanged kills the hub manager, changes all budgets, and waits until they are in force.
func (r *rig) restartChanged(ctx context.Context) error {
	if err := errors.Join(r.kill(), r.change(ctx, 20, r.budgets)); err != nil {
		return err
	}
	if err := r.HubManager.Restart(ctx); err != nil {
		return err
	}
	return r.inForce(ctx, r.budgets, nil)
}

func (r *rig) kill() error { return r.HubManager.Kill() }
