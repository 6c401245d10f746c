package view

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/apportion"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/validate"
)

// Node is a QuotaPool or a FederatedQuota, and what is below it.
type Node struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State is how the node stands to its pool: left out for a root, and while the pool has no entry of it.
	State   quotav1alpha1.ChildState `json:"state,omitempty"`
	Message string                   `json:"message,omitempty"`
	// Ready is the status of the condition Ready of a pool.
	Ready     metav1.ConditionStatus `json:"ready,omitempty"`
	Resources []Level                `json:"resources"`
	Children  []*Node                `json:"children,omitempty"`
}

// Title is the name, behind the namespace where there is one.
func (n *Node) Title() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// Draw draws a node and those below it, each with the branch that stands before its first line, and before the others.
func (n *Node) Draw(draw func(n *Node, first, others string)) { n.draw("", "", draw) }

func (n *Node) draw(branch, stem string, draw func(n *Node, first, others string)) {
	below := ""
	if len(n.Children) > 0 {
		below = "│"
	}
	draw(n, branch, strings.TrimRight(stem+below, " "))
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			child.draw(stem+"├─ ", stem+"│  ", draw)
		} else {
			child.draw(stem+"└─ ", stem+"   ", draw)
		}
	}
}

// Level is what a node uses and has of one resource name. The budget is what it may have at most by itself, granted is
// what it has of its pool, and free what a pool can hand out at once.
type Level struct {
	Amounts `json:",inline"`

	Budget string `json:"budget,omitempty"`
	Free   string `json:"free,omitempty"`
	Debt   string `json:"debt,omitempty"`
	// Part is what falls to the node by weight, min and max alone. Lends is what others of its pool have of that, at most,
	// and Lent what the node has beyond it.
	Part  string `json:"part,omitempty"`
	Lends string `json:"lends,omitempty"`
	Lent  string `json:"lent,omitempty"`
}

// Forest are pools, and the FederatedQuotas that name them.
type Forest struct {
	pools   map[string]*quotav1alpha1.QuotaPool
	quotas  map[string]*quotav1alpha1.FederatedQuota
	below   map[string][]string
	only    Only
	visited map[string]bool
}

// ForestOf returns pools, with what names them.
func ForestOf(pools []quotav1alpha1.QuotaPool, quotas []quotav1alpha1.FederatedQuota, only Only) *Forest {
	f := &Forest{
		pools: map[string]*quotav1alpha1.QuotaPool{}, quotas: map[string]*quotav1alpha1.FederatedQuota{},
		below: map[string][]string{}, only: only, visited: map[string]bool{},
	}
	for i := range pools {
		p := &pools[i]
		f.pools[poolKey(p.Name)] = p
		if p.Spec.Parent != "" {
			f.add(string(p.Spec.Parent), poolKey(p.Name))
		}
		for j := range p.Status.Children {
			f.add(p.Name, string(p.Status.Children[j].Key))
		}
	}
	for i := range quotas {
		fq := &quotas[i]
		key := QuotaKey(fq)
		f.quotas[key] = fq
		if fq.Spec.Pool != nil {
			f.add(string(fq.Spec.Pool.Name), key)
		}
	}
	return f
}

// QuotaKey is the key of a FederatedQuota in its pool.
func QuotaKey(fq *quotav1alpha1.FederatedQuota) string {
	return "FederatedQuota/" + fq.Namespace + "/" + fq.Name
}

func poolKey(name string) string { return "QuotaPool/" + name }

func (f *Forest) add(pool, child string) {
	if !slices.Contains(f.below[pool], child) {
		f.below[pool] = append(f.below[pool], child)
	}
}

// Trees returns all trees by name, or the one below a pool. Pools in a circle are a tree below the first of them.
func (f *Forest) Trees(pool string) []*Node {
	trees := []*Node{}
	if pool != "" {
		if p := f.pools[poolKey(pool)]; p != nil {
			trees = append(trees, f.pool(p, nil))
		}
		return trees
	}
	keys := slices.Sorted(maps.Keys(f.pools))
	for _, key := range keys {
		if f.pools[poolKey(string(f.pools[key].Spec.Parent))] == nil {
			trees = append(trees, f.pool(f.pools[key], nil))
		}
	}
	for _, key := range keys {
		if !f.visited[key] {
			trees = append(trees, f.pool(f.pools[key], nil))
		}
	}
	return trees
}

// pool returns the node of a pool. The one above is nil for a root.
func (f *Forest) pool(p, above *quotav1alpha1.QuotaPool) *Node {
	f.visited[poolKey(p.Name)] = true
	n := &Node{Kind: "QuotaPool", Name: p.Name, Resources: []Level{}}
	if c := summaryOf(p.Status.Conditions, quotav1alpha1.ConditionReady); c != nil {
		n.Ready = c.Status
		if c.Status != metav1.ConditionTrue {
			n.Message = c.Message
		}
	}
	if above == nil && p.Spec.Parent != "" && f.pools[poolKey(string(p.Spec.Parent))] == nil {
		n.Message = "there is no QuotaPool " + string(p.Spec.Parent)
	}
	h := sums{OwnOfPool(p), p.Status.Used, p.Status.Demand, p.Status.Granted, p.Status.Free}
	if above != nil {
		h.granted = nil
	}
	f.fill(n, poolKey(p.Name), h, above)
	children := slices.Clone(f.below[p.Name])
	slices.Sort(children)
	for _, key := range children {
		n.Children = append(n.Children, f.child(key, p))
	}
	return n
}

// OwnOf returns the budget of a FederatedQuota that no pool bounds, and OwnOfPool that of a QuotaPool.
func OwnOf(fq *quotav1alpha1.FederatedQuota) corev1.ResourceList {
	return capacity.Budget(fq.Spec.Hard, fq.Spec.Reserve, fq.Spec.Capacity, fq.Status.Capacity).ToList(fq.Spec.Hard)
}

// OwnOfPool returns the budget of a QuotaPool that no pool bounds.
func OwnOfPool(p *quotav1alpha1.QuotaPool) corev1.ResourceList {
	return capacity.Budget(p.Spec.Hard, p.Spec.Reserve, capacity.RuleOf(p), p.Status.Capacity).ToList(p.Spec.Hard)
}

// child returns the node of a child of a pool.
func (f *Forest) child(key string, above *quotav1alpha1.QuotaPool) *Node {
	kind, name, _ := strings.Cut(key, "/")
	n, h := &Node{Kind: kind, Name: name, Resources: []Level{}}, sums{}
	if p := f.pools[key]; p != nil && string(p.Spec.Parent) == above.Name {
		if !f.visited[key] {
			return f.pool(p, above)
		}
		n.Message = "is in a circle of pools: give one of them another parent, or none"
	}
	if kind == "FederatedQuota" {
		n.Namespace, n.Name, _ = strings.Cut(name, "/")
	}
	if fq := f.quotas[key]; fq != nil {
		h = sums{budget: OwnOf(fq), used: fq.Status.Used, demand: fq.Status.Demand}
	}
	f.fill(n, key, h, above)
	return n
}

// fill sets what a node has, and how it stands to the pool above.
func (f *Forest) fill(n *Node, key string, h sums, above *quotav1alpha1.QuotaPool) {
	if entry := entryOf(above, key); entry != nil {
		n.State, n.Message = entry.State, cmp.Or(entry.Message, n.Message)
		h.granted = entry.Granted
		if h.budget == nil {
			h.budget = corev1.ResourceList{}
		}
		h.used, h.demand = with(h.used, entry.Used), with(h.demand, entry.Demand)
	}
	names := f.only.names(h.budget, h.granted)
	if above == nil {
		names = f.only.names(h.budget)
	}
	for _, name := range names {
		l := Level{
			Amounts: Amounts{Resource: name, Used: AmountOf(h.used, name), Demand: someOf(h.demand, name), Granted: AmountOf(h.granted, name)},
			Budget:  AmountOf(h.budget, name), Free: AmountOf(h.free, name),
		}
		if above == nil {
			l.Debt = debtOf(h.granted, f.pools[key].Status.Hard, name)
		} else {
			l.Part, l.Lends, l.Lent = f.lending(above, key, name)
		}
		n.Resources = append(n.Resources, l)
	}
}

// with returns a list with what another has beside it.
func with(list, other corev1.ResourceList) corev1.ResourceList {
	all := maps.Clone(other)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, list)
	return all
}

// entryOf returns the entry of a child, nil if there is none.
func entryOf(pool *quotav1alpha1.QuotaPool, key string) *quotav1alpha1.ChildStatus {
	if pool == nil {
		return nil
	}
	for i := range pool.Status.Children {
		if string(pool.Status.Children[i].Key) == key {
			return &pool.Status.Children[i]
		}
	}
	return nil
}

// lending returns what falls to a child of a pool by weight, min and max alone, and what others have of that, or what it
// has of theirs.
func (f *Forest) lending(pool *quotav1alpha1.QuotaPool, of string, name corev1.ResourceName) (part, lends, lent string) {
	budget, limited := amount.Saturate(pool.Status.Hard, amount.Down)[name]
	entries := pool.Status.Children
	at := slices.IndexFunc(entries, func(c quotav1alpha1.ChildStatus) bool { return string(c.Key) == of })
	if !limited || at < 0 || AmountOf(entries[at].Granted, name) == Unknown {
		return "", "", ""
	}
	stakes, has, taken := make([]apportion.Stake, len(entries)), make([]int64, len(entries)), int64(0)
	for i := range entries {
		stakes[i] = f.stakeOf(pool, string(entries[i].Key), name)
		has[i] = amount.Saturate(entries[i].Granted, amount.Up)[name]
	}
	parts := apportion.Fill(budget, stakes)
	for i := range entries {
		taken = amount.Add(taken, max(has[i]-parts[i], 0))
	}
	say := func(value int64) string {
		if value <= 0 {
			return ""
		}
		return amount.Text(name, value, pool.Spec.Hard)
	}
	return amount.Text(name, parts[at], pool.Spec.Hard), say(min(parts[at]-has[at], taken)), say(has[at] - parts[at])
}

// stakeOf returns weight, min and max of a child. Nobody has a part that is more than it may have by itself.
func (f *Forest) stakeOf(pool *quotav1alpha1.QuotaPool, key string, name corev1.ResourceName) apportion.Stake {
	b := apportion.Stake{Weight: 1, Hi: math.MaxInt64}
	child := quotav1alpha1.ChildName(childName(key))
	least, most := validate.Bounds(&pool.Spec.Distribution, child)
	b.Lo = amount.Saturate(least, amount.Up)[name]
	if limit, ok := amount.Saturate(most, amount.Down)[name]; ok {
		b.Hi = limit
	}
	var budget corev1.ResourceList
	if p := f.pools[key]; p != nil {
		budget = OwnOfPool(p)
	} else if fq := f.quotas[key]; fq != nil {
		budget = OwnOf(fq)
	}
	if limit, ok := amount.Saturate(budget, amount.Down)[name]; ok {
		b.Hi = min(b.Hi, limit)
	}
	for i := range pool.Spec.Distribution.Rules {
		r := &pool.Spec.Distribution.Rules[i]
		if r.Weight != nil && (len(r.Children) == 0 || slices.Contains(r.Children, child)) {
			b.Weight = int64(*r.Weight)
		}
	}
	return b
}
