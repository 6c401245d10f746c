package capacity

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Node is what counts of a node.
type Node struct {
	// Name of the node.
	Name string
	// Schedulable says that pods may be placed on it as far as people and controllers say, and Ready that its kubelet does
	// so.
	Schedulable, Ready bool
	// Allocatable is what it has for pods, in units of amount.
	Allocatable amount.List
}

// virtualKubelet is the value of the label type that nodes have which stand for something else, such as a cloud's
// containers: what they say that they have is made up.
const virtualKubelet = "virtual-kubelet"

// keepOff are the taints of nodes that are not there for what a budget is for: those of control planes, and those that
// an autoscaler is about to take away. Other taints, as those of nodes with GPUs, keep off some pods only.
var keepOff = sets.New(
	"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/etcd",
	"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted",
)

// NodeOf returns what counts of a node.
func NodeOf(node *corev1.Node) Node {
	n := Node{
		Name: node.Name, Schedulable: !node.Spec.Unschedulable && node.DeletionTimestamp == nil && wanted(node),
		Allocatable: amount.Saturate(node.Status.Allocatable, amount.Down),
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.Ready = c.Status == corev1.ConditionTrue
		}
	}
	return n
}

// wanted says whether a node is there for what a budget is for, as its label states it, or else by its kind and taints.
func wanted(node *corev1.Node) bool {
	switch node.Labels[quotav1alpha1.CapacityLabel] {
	case "true":
		return true
	case "false":
		return false
	}
	return node.Labels["type"] != virtualKubelet && !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && keepOff.Has(taint.Key)
	})
}

// Load is what a pod takes of a node. A cluster may have a hundred thousand: what most of them ask for has no map.
type Load struct {
	// Node it is placed on, "" if it is on none.
	Node string

	cpu, memory, storage int64
	others               amount.List
}

// LoadOf returns what a pod takes of its node. One that has ended takes nothing.
func LoadOf(pod *corev1.Pod) Load {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return Load{}
	}
	l := Load{Node: pod.Spec.NodeName}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	for name, value := range amount.Saturate(requests, amount.Up) {
		switch {
		case name == corev1.ResourceCPU:
			l.cpu = value
		case name == corev1.ResourceMemory:
			l.memory = value
		case name == corev1.ResourceEphemeralStorage:
			l.storage = value
		case value > 0:
			if l.others == nil {
				l.others = amount.List{}
			}
			l.others[name] = value
		}
	}
	return l
}

// each calls f with all that a pod takes.
func (l *Load) each(f func(name corev1.ResourceName, value int64)) {
	f(corev1.ResourcePods, 1)
	f(corev1.ResourceCPU, l.cpu)
	f(corev1.ResourceMemory, l.memory)
	f(corev1.ResourceEphemeralStorage, l.storage)
	for name, value := range l.others {
		f(name, value)
	}
}

// Nodes are those of a cluster, and what pods take of each. It is safe for concurrent use.
type Nodes struct {
	mutex  sync.Mutex
	known  bool
	nodes  map[string]place
	loaded map[string]amount.List
}

// place is a node, and since when its kubelet does not take pods, the zero time if it does or never did.
type place struct {
	Node

	since time.Time
}

// Set notes a node that has come or changed.
func (n *Nodes) Set(node Node, now time.Time) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.nodes == nil {
		n.nodes = map[string]place{}
	}
	before, known := n.nodes[node.Name]
	p := place{Node: node}
	switch {
	case node.Ready || !known:
	case before.Ready:
		p.since = now
	default:
		p.since = before.since
	}
	n.nodes[node.Name] = p
}

// Complete notes that all nodes and pods are known that there are.
func (n *Nodes) Complete() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.known = true
}

// Known says whether all nodes and pods are known that there are.
func (n *Nodes) Known() bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.known
}

// Delete notes that a node is gone.
func (n *Nodes) Delete(name string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	delete(n.nodes, name)
}

// Move notes that a pod takes something else than before; the zero Load is that of one which has come, or is gone.
func (n *Nodes) Move(before, after Load) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.load(&before, -1)
	n.load(&after, 1)
}

func (n *Nodes) load(l *Load, sign int64) {
	if l.Node == "" {
		return
	}
	if n.loaded == nil {
		n.loaded = map[string]amount.List{}
	}
	of := n.loaded[l.Node]
	if of == nil {
		of = amount.List{}
		n.loaded[l.Node] = of
	}
	l.each(func(name corev1.ResourceName, value int64) { of[name] += sign * value })
	if of[corev1.ResourcePods] == 0 {
		delete(n.loaded, l.Node)
	}
}

// Fits says whether a node that counts has room for a pod that requests so much of it.
func (n *Nodes) Fits(requests amount.List, now time.Time, grace time.Duration) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for name := range n.nodes {
		node := n.nodes[name]
		if node.counts(now, grace) && amount.Sub(node.Allocatable, n.loaded[name]).Covers(requests) {
			return true
		}
	}
	return false
}

// Report is what the nodes of a cluster can run.
type Report struct {
	// Nodes is how many count.
	Nodes int32
	// Allocatable is the sum of what they have for pods, and Unused the part of it that no pod requests, node by node.
	Allocatable, Unused amount.List
}

// counts says whether a node is schedulable and ready, or has been ready less than grace ago.
func (p *place) counts(now time.Time, grace time.Duration) bool {
	lately := !p.since.IsZero() && now.Sub(p.since) < grace
	return p.Schedulable && (p.Ready || lately)
}

// Report sums up the nodes that count.
func (n *Nodes) Report(now time.Time, grace time.Duration) Report {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	r := Report{Allocatable: amount.List{}, Unused: amount.List{}}
	for name := range n.nodes {
		node := n.nodes[name]
		if !node.counts(now, grace) {
			continue
		}
		r.Nodes++
		for resource, value := range node.Allocatable {
			r.Allocatable[resource] = amount.Add(r.Allocatable[resource], value)
			free := max(0, value-n.loaded[name][resource])
			r.Unused[resource] = amount.Add(r.Unused[resource], free)
		}
	}
	return r
}

// Bound leaves out names that there are too many of: one that Kubernetes knows by itself comes before others.
func (r *Report) Bound(most int) {
	names := r.Allocatable.Names()
	slices.SortStableFunc(names, func(a, b corev1.ResourceName) int {
		return strings.Count(string(a), "/") - strings.Count(string(b), "/")
	})
	for _, name := range names[min(most, len(names)):] {
		delete(r.Allocatable, name)
		delete(r.Unused, name)
	}
}

// tellsFrom is the part of allocatable that unused has to change by for a new report, and tellsOf the part of itself.
const tellsFrom, tellsOf = 20, 4

// Differs says whether a report says something that is worth a write.
func (r *Report) Differs(before *Report) bool {
	if r.Nodes != before.Nodes || !r.Allocatable.Equal(before.Allocatable) {
		return true
	}
	for name, value := range r.Unused {
		other := before.Unused[name]
		step := max(1, min(r.Allocatable[name]/tellsFrom, min(value, other)/tellsOf))
		if value >= other+step || other >= value+step {
			return true
		}
	}
	return false
}
