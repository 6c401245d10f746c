package scaleout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// shortage returns what is asked for, that only nodes keep from being used: of each name that follows them, what is
// asked for above the budget and within all other bounds.
func (in *Input) shortage() amount.List {
	short := amount.List{}
	for _, name := range in.Follows {
		wanted := amount.Add(in.Used[name], in.Demand[name])
		if most, bounded := in.Ceiling[name]; bounded {
			wanted = min(wanted, most)
		}
		if wanted > in.Budget[name] {
			short[name] = wanted - in.Budget[name]
		}
	}
	return short
}

// need is what is asked for in a cluster by requests of one unit, or by pods that are there.
type need struct {
	cluster *Cluster
	unit    amount.List
	count   int64
	there   bool
}

// needs returns the pods that wait for a node, and the requests that would fit into the budget if it had more nodes, at
// most as many as what is short makes of them.
func (in *Input) needs() []need {
	short, needs := in.shortage(), in.stranded()
	for i := range in.Clusters {
		c := &in.Clusters[i]
		for _, r := range c.Requests {
			if count := min(r.Count, short.Filling(r.Unit)); count > 0 {
				needs = append(needs, need{c, r.Unit, count, false})
				short = amount.Sub(short, r.Unit.Times(count).Only(short))
			}
		}
	}
	return needs
}

// Short says whether more nodes are needed for what is asked for.
func (in *Input) Short() bool { return len(in.needs()) > 0 }

// mayRise says whether limits may still rise to what one of the needed asks for, and have not had long to do so: then
// that needs no node, whatever is asked for in all. What is there has risen already.
func (in *Input) mayRise(n need) bool {
	if n.there || in.Now.Sub(in.ShortSince) >= in.Rise {
		return false
	}
	one := Requests{Unit: n.unit, Count: 1}
	return one.within(amount.Sub(in.Budget, in.Used)) > 0
}

// stranded returns the pods that wait for a node where a group may be scaled for that, as far as what runs with them is
// within what might be used.
func (in *Input) stranded() []need {
	without := amount.List{}
	for i := range in.Clusters {
		without = amount.Sum(without, in.Clusters[i].Unscheduled)
	}
	room := amount.Sub(in.Ceiling, amount.Sub(in.Used, without))
	var needs []need
	for i := range in.Clusters {
		c := &in.Clusters[i]
		if !in.serves(c) {
			continue
		}
		for _, r := range c.Stranded {
			if !r.asksFor(in.Follows) {
				continue
			}
			count := r.within(room)
			room = amount.Sub(room, r.Unit.Times(count))
			if count > 0 {
				needs = append(needs, need{c, r.Unit, count, true})
			}
		}
	}
	return needs
}

// serves says whether a group of a cluster may be scaled for pods that are there.
func (in *Input) serves(c *Cluster) bool {
	return slices.ContainsFunc(in.Groups, func(g Group) bool { return g.Cluster == c.Name && g.Unscheduled })
}

// asksFor says whether one of the requests asks for any of these.
func (r *Requests) asksFor(names []corev1.ResourceName) bool {
	return slices.ContainsFunc(names, func(name corev1.ResourceName) bool { return r.Unit[name] > 0 })
}

// within returns how many of the requests there is room for. A name that room lacks is not bounded.
func (r *Requests) within(room amount.List) int64 {
	return min(r.Count, room.Fitting(r.Unit.Only(room)))
}

// over returns a divided by b, rounded up.
func over(a, b int64) int64 { return a/b + min(1, a%b) }

// holds returns how many requests of a unit one machine of the group can run; 0 if that is not known.
func (g *Group) holds(unit amount.List) int64 { return holds(g.Machine, unit) }

// holds returns for how many requests of a unit a node has room that has so much left.
func holds(left, unit amount.List) int64 {
	count := int64(0)
	for name, each := range unit {
		node := nativequota.OfNode(name)
		if node == "" || each <= 0 {
			continue
		}
		fit := left[node] / each
		if fit == 0 {
			return 0
		}
		if count == 0 || fit < count {
			count = fit
		}
	}
	return count
}

// nodesFor returns how many machines of the group it takes for what is needed: that has to run on them, and requests
// have to fit into the budget that these make. The group can run one.
func (in *Input) nodesFor(g *Group, n *need) int64 {
	nodes := over(n.count, g.holds(n.unit))
	if n.there {
		return nodes
	}
	for _, name := range in.Follows {
		has := g.Machine[nativequota.OfNode(name)]
		if n.unit[name] <= 0 || has <= 0 {
			continue
		}
		all := n.unit.Times(n.count)[name]
		made := amount.Add(amount.List{name: all / in.Percent}.Times(100)[name], over(all%in.Percent*100, in.Percent))
		nodes = max(nodes, over(made, has))
	}
	return nodes
}

// mostComing is how many nodes of a group on their way are looked at: with so many, no budget adds more.
const mostComing = 1000

// coming is a node on its way, and what nothing takes of it yet.
type coming struct {
	cluster string
	left    amount.List
}

// coming returns the nodes on their way, and the budget that they make.
func (in *Input) coming() (nodes []coming, made amount.List) {
	made = amount.List{}
	for i := range in.Groups {
		g := &in.Groups[i]
		if in.failure(g.Key) != nil {
			continue
		}
		for range min(g.onTheWay(), mostComing) {
			nodes = append(nodes, coming{g.Cluster, g.Machine})
		}
		for _, name := range in.Follows {
			has := g.Machine.Times(g.onTheWay())[nativequota.OfNode(name)]
			percent := amount.List{name: has / 100}.Times(in.Percent)[name]
			made[name] = amount.Add(made[name], amount.Add(percent, has%100*in.Percent/100))
		}
	}
	return nodes, made
}

// open returns the needs that nodes on their way do not serve.
func (in *Input) open(needs []need) []need {
	nodes, made := in.coming()
	var open []need
	for _, n := range needs {
		for i := range nodes {
			node := &nodes[i]
			if node.cluster != n.cluster.Name {
				continue
			}
			count := min(n.count, holds(node.left, n.unit))
			if !n.there {
				count = (&Requests{Unit: n.unit, Count: count}).within(made)
				made = amount.Sub(made, n.unit.Times(count))
			}
			node.left = amount.Sub(node.left, onNode(n.unit.Times(count)))
			n.count -= count
		}
		if n.count > 0 {
			open = append(open, n)
		}
	}
	return open
}

// onNode returns what requests take of a node.
func onNode(requests amount.List) amount.List {
	takes := amount.List{}
	for name, value := range requests {
		if node := nativequota.OfNode(name); node != "" {
			takes[node] = max(takes[node], value)
		}
	}
	return takes
}
