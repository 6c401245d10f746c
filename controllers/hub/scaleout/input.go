package scaleout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterlabels "sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/nodegroup"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// Budget is a FederatedQuota or a QuotaPool whose budget follows the nodes.
type Budget struct {
	Hard, Reserve corev1.ResourceList
	Rule          *quotav1alpha1.Capacity
	// Nodes are what the budget was made from, and Membership what its pool gives.
	Nodes      *quotav1alpha1.CapacityStatus
	Membership *quotav1alpha1.PoolMembership
	// Now is what may be used now, Used what is, and Demand what could be beyond that.
	Now, Used, Demand corev1.ResourceList
	Status            *quotav1alpha1.ScaleOutStatus
	// Waits says that pods wait for a node. The status of a pool does not tell.
	Waits bool
}

// OfQuota returns the budget of a FederatedQuota.
func OfQuota(fq *quotav1alpha1.FederatedQuota) Budget {
	return Budget{
		fq.Spec.Hard, fq.Spec.Reserve, fq.Spec.Capacity, fq.Status.Capacity, fq.Status.Pool,
		fq.Status.Hard, fq.Status.Used, fq.Status.Demand, fq.Status.ScaleOut,
		Waits(fq),
	}
}

// OfPool returns the budget of a QuotaPool.
func OfPool(p *quotav1alpha1.QuotaPool) Budget {
	return Budget{
		p.Spec.Hard, p.Spec.Reserve, capacity.RuleOf(p), p.Status.Capacity, p.Status.Pool,
		p.Status.Hard, p.Status.Used, p.Status.Demand, p.Status.ScaleOut,
		false,
	}
}

// Waits says whether pods that use a FederatedQuota wait for a node.
func Waits(fq *quotav1alpha1.FederatedQuota) bool {
	return slices.ContainsFunc(fq.Status.Clusters, func(c quotav1alpha1.ClusterStatus) bool {
		return len(c.Unscheduled) > 0
	})
}

// Asks says whether a budget wants nodes to be added where that is needed.
func (b *Budget) Asks() bool { return b.Rule != nil && b.Rule.ScaleOut != nil }

// Input returns what a step is decided on, but for what is read elsewhere: clusters and groups.
func (b *Budget) Input(now time.Time) *scaleout.Input {
	rule := b.Rule.ScaleOut
	return &scaleout.Input{
		Now: now, Percent: int64(ptr.Deref(b.Rule.Percent, 100)), Surge: int64(ptr.Deref(rule.MaxSurgeNodes, 1)),
		Cooldown: time.Duration(ptr.Deref(rule.CooldownSeconds, 60)) * time.Second, DryRun: ptr.Deref(rule.DryRun, false),
		Budget: amount.Saturate(b.Now, amount.Down), Ceiling: b.ceiling(),
		Follows: capacity.Names(b.Hard, b.Rule),
		Used:    amount.Saturate(b.Used, amount.Up), Demand: amount.Saturate(b.Demand, amount.Up),
		State: stateOf(b.Status), Waits: b.Waits,
	}
}

// ceiling returns what might be used if there were any number of nodes. A pool gives what is asked for within what
// nodes make: it bounds the budget where it gives less than that.
func (b *Budget) ceiling() amount.List {
	ceiling := amount.Sub(amount.Saturate(b.Hard, amount.Down), amount.Saturate(b.Reserve, amount.Up))
	made := capacity.Budget(b.Hard, b.Reserve, b.Rule, b.Nodes)
	for name, most := range pool.MembershipOf(b.Membership).Cap {
		if most < made[name] {
			ceiling[name] = most
		}
	}
	return ceiling
}

// AddShare adds what a share says of a cluster that may have at most so much of the budget.
func AddShare(
	c *scaleout.Cluster, share *quotav1alpha1.QuotaShareStatus, most amount.List, follows []corev1.ResourceName,
) {
	used, without := amount.Saturate(share.Used, amount.Up), amount.Saturate(share.Unscheduled, amount.Up)
	room := amount.Sub(most, used)
	for _, shape := range share.DemandByShape {
		r := requestsOf(&shape)
		r.Count = min(r.Count, room.Fitting(r.Unit.Only(room)))
		room = amount.Sub(room, r.Unit.Times(r.Count))
		c.Requests = append(c.Requests, r)
	}
	for _, shape := range share.UnscheduledByShape {
		c.Stranded = append(c.Stranded, requestsOf(&shape))
	}
	running := amount.Sub(used, without)
	for _, name := range follows {
		c.Running = amount.Sum(c.Running, running.Only(amount.List{name: 0}))
		c.Unscheduled = amount.Sum(c.Unscheduled, without.Only(amount.List{name: 0}))
	}
}

// requestsOf returns the requests of a shape.
func requestsOf(shape *quotav1alpha1.DemandShape) scaleout.Requests {
	all, unit := amount.Saturate(shape.Amounts, amount.Up), amount.Saturate(shape.Unit, amount.Up)
	if len(unit) == 0 {
		unit = all
	}
	return scaleout.Requests{Unit: unit, Count: all.Filling(unit)}
}

// Groups returns the MachineDeployments that a selector selects, of the Clusters whose nodes count, by their names.
func Groups(
	ctx context.Context, reader client.Reader, at members.Namespaces, clusters []members.Cluster, s *metav1.LabelSelector,
) ([]scaleout.Group, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, err
	}
	byKey := make(map[client.ObjectKey]members.Cluster, len(clusters))
	for _, c := range clusters {
		byKey[client.ObjectKeyFromObject(c)] = c
	}
	var groups []scaleout.Group
	for _, namespace := range at.All() {
		list, err := listed(ctx, reader, namespace, selector)
		if err != nil {
			return nil, err
		}
		for i := range list {
			of, counts := byKey[client.ObjectKey{Namespace: namespace, Name: list[i].Spec.ClusterName}]
			if counts {
				groups = append(groups, GroupOf(of, &list[i]))
			}
		}
	}
	slices.SortFunc(groups, func(a, b scaleout.Group) int { return cmp.Compare(a.Key, b.Key) })
	return groups, nil
}

func listed(
	ctx context.Context, reader client.Reader, namespace string, selector labels.Selector,
) ([]clusterv1.MachineDeployment, error) {
	var list clusterv1.MachineDeploymentList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing MachineDeployments in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// GroupOf returns what is to be known of a MachineDeployment of a Cluster.
func GroupOf(cluster members.Cluster, d *clusterv1.MachineDeployment) scaleout.Group {
	read, problems := nodegroup.OfDeployment(cluster.Cluster, d, nil)
	g := scaleout.Group{
		Key: d.Namespace + "/" + d.Name, Cluster: cluster.Name, Version: d.ResourceVersion,
		Replicas: int64(read.Replicas), Ready: int64(read.Ready), Room: int64(read.Addable()), Machine: read.Adds(1),
		Labels: labelsOf(d), Obstacle: read.Stopped, Full: read.Bounds != nil && read.Replicas >= read.Bounds.Max,
		Halted: read.Halted,
	}
	price(&g, d.Annotations)
	permitted := d.Annotations[quotav1alpha1.ScaleOutAnnotation]
	g.Unscheduled = permitted == scaleout.PermitsUnscheduled
	switch {
	case permitted != scaleout.PermitsAsked && !g.Unscheduled:
		g.Obstacle = fmt.Sprintf("has not the annotation %s: %q", quotav1alpha1.ScaleOutAnnotation, scaleout.PermitsAsked)
	case cluster.Annotations[quotav1alpha1.GrowthAnnotation] == nodegroup.GrowthNone:
		g.Obstacle = fmt.Sprintf("is left alone, since Cluster %s has the annotation %s: none",
			cluster.Name, quotav1alpha1.GrowthAnnotation)
	case len(problems) > 0:
		g.Obstacle = "has annotations that are not understood: " + problems.ToAggregate().Error()
	case read.Bounds != nil && read.Replicas < read.Bounds.Min:
		g.Obstacle = fmt.Sprintf("has %d replicas of at least %d", read.Replicas, read.Bounds.Min)
	}
	g.Full = g.Full && g.Obstacle == read.Stopped
	return g
}

// labelsOf returns the labels of nodes that are known: those that Cluster API gives them, and those that are stated for
// the cluster autoscaler, which win there, too.
func labelsOf(d *clusterv1.MachineDeployment) labels.Set {
	known := labels.Set(clusterlabels.GetManagedLabels(d.Spec.Template.Labels))
	for stated := range strings.SplitSeq(d.Annotations[nodegroup.LabelsAnnotation], ",") {
		if key, value, is := strings.Cut(stated, "="); is {
			known[key] = value
		}
	}
	return known
}

// price notes what a machine of the group costs.
func price(g *scaleout.Group, annotations map[string]string) {
	cost, priced := annotations[quotav1alpha1.CostAnnotation]
	if price, err := strconv.ParseFloat(cost, 64); err == nil && price >= 0 && price <= mostCost {
		g.Cost, g.Priced = price, true
	} else if priced {
		g.Obstacle = fmt.Sprintf("has the annotation %s: %q: set it to a number, such as 0.42",
			quotav1alpha1.CostAnnotation, cost)
	}
}

// mostCost is more than any machine costs: sums of it are numbers still.
const mostCost = 1e15

// stateOf returns what is stored of a budget.
func stateOf(status *quotav1alpha1.ScaleOutStatus) scaleout.State {
	if status == nil {
		return scaleout.State{}
	}
	state := scaleout.State{
		Reason: status.Reason, Message: status.Message, OnTheWay: int64(ptr.Deref(status.OnTheWay, 0)),
		Since: ptr.Deref(status.OnTheWaySince, metav1.Time{}).Time,
	}
	if last := status.LastStep; last != nil {
		state.Last = &scaleout.Step{
			Group: last.MachineDeployment, Cluster: string(last.Cluster), From: int64(ptr.Deref(last.From, 0)),
			To: int64(ptr.Deref(last.To, 0)), Time: last.Time.Time, Running: amount.Saturate(last.Running, amount.Up),
			Why: last.Message, Outcome: last.Outcome,
		}
	}
	for _, f := range status.Failures {
		state.Failures = append(state.Failures, scaleout.Failure{
			Group: f.MachineDeployment, Count: int64(f.Count), Until: f.Until.Time,
		})
	}
	return state
}

// stored returns what is to be stored of a budget.
func stored(state *scaleout.State, formats corev1.ResourceList) *quotav1alpha1.ScaleOutStatus {
	status := &quotav1alpha1.ScaleOutStatus{
		Reason: state.Reason, Message: truncated(state.Message), OnTheWay: new(int32(state.OnTheWay)),
		OnTheWaySince: &metav1.Time{Time: state.Since.Truncate(time.Second)},
	}
	if last := state.Last; last != nil {
		status.LastStep = &quotav1alpha1.ScaleOutStep{
			MachineDeployment: last.Group, Cluster: quotav1alpha1.ClusterName(last.Cluster), From: new(int32(last.From)),
			To: new(int32(last.To)), Time: metav1.Time{Time: last.Time.Truncate(time.Second)},
			Running: last.Running.ToList(formats), Message: truncated(last.Why), Outcome: last.Outcome,
		}
	}
	for _, f := range state.Failures {
		status.Failures = append(status.Failures, quotav1alpha1.ScaleOutFailure{
			MachineDeployment: f.Group, Count: int32(f.Count), Until: metav1.Time{Time: f.Until.Truncate(time.Second)},
		})
	}
	return status
}

// ClustersOf returns the Clusters whose nodes count for a pool.
func ClustersOf(p *quotav1alpha1.QuotaPool, clusters []members.Cluster) []members.Cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c members.Cluster) bool {
		return !capacity.Selects(&p.Spec.Capacity.Placement, c.Name, c.Labels)
	})
}

// byName returns Clusters in order.
func byName(clusters map[string]*members.Cluster) []members.Cluster {
	list := make([]members.Cluster, 0, len(clusters))
	for _, c := range clusters {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b members.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return list
}
