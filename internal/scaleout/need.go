package scaleout

import (
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

// need is what is asked for in a cluster by requests of one unit.
type need struct {
	cluster *Cluster
	unit    amount.List
	count   int64
}

// needs returns the requests that would fit into the budget if it had more nodes, at most as many as what is short
// makes of them.
func (in *Input) needs() []need {
	short := in.shortage()
	var needs []need
	for i := range in.Clusters {
		c := &in.Clusters[i]
		for _, r := range c.Requests {
			if count := min(r.Count, most(short, r.Unit)); count > 0 {
				needs = append(needs, need{c, r.Unit, count})
				short = amount.Sub(short, r.Unit.Times(count).Only(short))
			}
		}
	}
	return needs
}

// most returns in how many requests of a unit all that is short is used up; 0 if they ask for nothing of it.
func most(short, unit amount.List) int64 {
	count := int64(0)
	for name, missing := range short {
		if each := unit[name]; each > 0 && missing > 0 {
			count = max(count, over(missing, each))
		}
	}
	return count
}

// over returns a divided by b, rounded up.
func over(a, b int64) int64 { return a/b + min(1, a%b) }

// holds returns how many requests of a unit one machine of the group can run; 0 if that is not known.
func (g *Group) holds(unit amount.List) int64 {
	count := int64(0)
	for name, each := range unit {
		node := nativequota.OfNode(name)
		if node == "" || each <= 0 {
			continue
		}
		fit := g.Machine[node] / each
		if fit == 0 {
			return 0
		}
		if count == 0 || fit < count {
			count = fit
		}
	}
	return count
}

// nodesFor returns how many machines of the group it takes for so many requests of a unit: they have to run on them,
// and to fit into the budget that these make. The group can run one.
func (in *Input) nodesFor(g *Group, unit amount.List, count int64) int64 {
	nodes := over(count, g.holds(unit))
	for _, name := range in.Follows {
		has := g.Machine[nativequota.OfNode(name)]
		if unit[name] <= 0 || has <= 0 {
			continue
		}
		all := unit.Times(count)[name]
		made := amount.Add(amount.List{name: all / in.Percent}.Times(100)[name], over(all%in.Percent*100, in.Percent))
		nodes = max(nodes, over(made, has))
	}
	return nodes
}

// servedBy returns for how many requests of a unit so many machines of the group suffice. The group can run one.
func (in *Input) servedBy(g *Group, unit amount.List, nodes int64) int64 {
	count := amount.List{"": g.holds(unit)}.Times(nodes)[""]
	for _, name := range in.Follows {
		node := nativequota.OfNode(name)
		if each := unit[name]; each > 0 && g.Machine[node] > 0 {
			has := g.Machine.Times(nodes)[node]
			made := amount.Add(amount.List{node: has / 100}.Times(in.Percent)[node], has%100*in.Percent/100)
			count = min(count, made/each)
		}
	}
	return count
}

// open returns the needs that nodes on their way do not serve.
func (in *Input) open(needs []need) []need {
	left := make([]int64, len(in.Groups))
	for i := range in.Groups {
		if in.failure(in.Groups[i].Key) == nil {
			left[i] = in.Groups[i].onTheWay()
		}
	}
	var open []need
	for _, n := range needs {
		for i := range in.Groups {
			g := &in.Groups[i]
			if n.count == 0 || g.Cluster != n.cluster.Name || left[i] == 0 || g.holds(n.unit) == 0 {
				continue
			}
			taken := min(left[i], in.nodesFor(g, n.unit, n.count))
			n.count, left[i] = max(0, n.count-in.servedBy(g, n.unit, taken)), left[i]-taken
		}
		if n.count > 0 {
			open = append(open, n)
		}
	}
	return open
}
