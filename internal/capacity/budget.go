package capacity

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Budget returns what may be handed out: hard, and of the names that follow the nodes no more than the percentage of
// what these can run, less reserve.
func Budget(
	hard, reserve corev1.ResourceList, rule *quotav1alpha1.Capacity, found *quotav1alpha1.CapacityStatus,
) amount.List {
	budget := amount.Saturate(hard, amount.Down)
	for name, most := range Most(hard, rule, found) {
		if limit, listed := budget[name]; listed {
			most = min(most, limit)
		}
		budget[name] = most
	}
	return amount.Sub(budget, amount.Saturate(reserve, amount.Up))
}

// RuleOf returns how the budget of a pool follows nodes, nil if it does not.
func RuleOf(p *quotav1alpha1.QuotaPool) *quotav1alpha1.Capacity {
	if p.Spec.Capacity == nil {
		return nil
	}
	return &p.Spec.Capacity.Capacity
}

// Most returns the percentage of what nodes can run of the names of a budget that follow them; nil without a rule, and
// before the nodes were looked at.
func Most(hard corev1.ResourceList, rule *quotav1alpha1.Capacity, found *quotav1alpha1.CapacityStatus) amount.List {
	if rule == nil || found == nil {
		return nil
	}
	percent, most := int64(100), amount.List{}
	if rule.Percent != nil {
		percent = int64(*rule.Percent)
	}
	allocatable := amount.Saturate(found.Allocatable, amount.Down)
	for _, name := range Names(hard, rule) {
		most[name] = portion(allocatable[name], percent)
	}
	return most
}

// portion returns percent of an amount, rounded down, at most math.MaxInt64.
func portion(value, percent int64) int64 {
	whole, rest := value/100, value%100
	if whole > math.MaxInt64/percent {
		return math.MaxInt64
	}
	return amount.Add(whole*percent, rest*percent/100)
}

// Names returns the names of a budget that follow the nodes, sorted: those that the rule names, or else those of hard
// that nodes have.
func Names(hard corev1.ResourceList, rule *quotav1alpha1.Capacity) (names []corev1.ResourceName) {
	if rule == nil {
		return nil
	}
	if len(rule.Resources) > 0 {
		for _, name := range rule.Resources {
			names = append(names, corev1.ResourceName(name))
		}
		slices.Sort(names)
		return names
	}
	for name := range hard {
		if nativequota.OfNode(name) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mostNamed is how many clusters without a report the status has room for.
const mostNamed = 16

// StatusOf returns what the nodes of clusters can run of the names that follow them. Reports are by cluster; a cluster
// without one counts for nothing.
func StatusOf(
	names []corev1.ResourceName, clusters []string, reports map[string]*quotav1alpha1.ClusterCapacity,
) *quotav1alpha1.CapacityStatus {
	status, nodes := &quotav1alpha1.CapacityStatus{}, int64(0)
	sum, formats := make(amount.List, len(names)), corev1.ResourceList{}
	for _, name := range names {
		sum[name] = 0
	}
	for _, cluster := range slices.Sorted(slices.Values(clusters)) {
		report := reports[cluster]
		if report == nil || report.Nodes == nil {
			status.Unreported = append(status.Unreported, quotav1alpha1.ClusterName(cluster))
			continue
		}
		nodes += int64(*report.Nodes)
		allocatable := amount.Saturate(report.Allocatable, amount.Down)
		for _, name := range names {
			node := nativequota.OfNode(name)
			sum[name] = amount.Add(sum[name], allocatable[node])
			if q, ok := report.Allocatable[node]; ok {
				formats[name] = q
			}
		}
	}
	status.Allocatable = sum.ToList(formats)
	without := len(status.Unreported)
	status.Summary = counted(nodes, "node") + " in " + counted(int64(len(clusters)-without), "cluster")
	if without > 0 {
		status.Summary += fmt.Sprintf(", %d without a report", without)
	}
	status.Unreported = status.Unreported[:min(without, mostNamed)]
	return status
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Weights returns what the nodes of a cluster can run of each name, 1 of names that nodes have nothing of. A cluster
// without a report weighs nothing.
func Weights(names []corev1.ResourceName, report *quotav1alpha1.ClusterCapacity) amount.List {
	weights := make(amount.List, len(names))
	for _, name := range names {
		node := nativequota.OfNode(name)
		switch {
		case node == "":
			weights[name] = 1
		case report != nil:
			weights[name], _ = amount.FromQuantity(node, report.Allocatable[node], amount.Down)
		}
	}
	return weights
}

// Growth returns what nodes may still come to a cluster for, and what its nodes can come to have with them, both of the
// names of nodes of which more may come; nil if no node may come, or nobody knows.
func Growth(report *quotav1alpha1.ClusterCapacity) (growth, most amount.List) {
	if report == nil || report.Growth == nil {
		return nil, nil
	}
	has := amount.Saturate(report.Allocatable, amount.Down)
	for name, more := range amount.Saturate(report.Growth.Resources, amount.Down) {
		if more <= 0 {
			continue
		}
		if growth == nil {
			growth, most = amount.List{}, amount.List{}
		}
		growth[name], most[name] = more, amount.Add(has[name], more)
	}
	return growth, most
}

// Room returns what the nodes of a cluster can run that no pod requests, together with what may still be added, of the
// names that nodes have; nil where it is not known what may be added.
func Room(names []corev1.ResourceName, report *quotav1alpha1.ClusterCapacity) amount.List {
	if report == nil || report.Growth == nil {
		return nil
	}
	room := amount.List{}
	unused, more := amount.Saturate(report.Unused, amount.Down), amount.Saturate(report.Growth.Resources, amount.Down)
	for _, name := range names {
		if node := nativequota.OfNode(name); node != "" {
			room[name] = amount.Add(unused[node], more[node])
		}
	}
	return room
}
