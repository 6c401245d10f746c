package pool

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Tree is what all pools had stored at one instant, by name. One live list shows that: what caches show of several
// pools may be of several instants.
type Tree map[string]*Node

// Node is what one pool had stored.
type Node struct {
	// Key and UID are its own, as a child.
	Key, UID string
	// Membership is what it is to its own pool.
	Membership
	// Budget is what it splits, and Entries is its ledger. Granted is the sum, with what those have for which there was no
	// room.
	Budget, Granted amount.List
	Entries         map[string]Entry
}

// Moved lets go of what a child has taken with it that was read in another pool, and says whether nothing of it is
// left. Until it is counted there, and from there upward, it counts here: else a pool above both would give away what
// is in use. What it left behind is free here only as far as nobody above has counted it twice. Own is what this pool
// is to its own.
func (p *Pool) Moved(c *Child, own Membership, tree Tree) bool {
	if !p.Loses(c) {
		return false
	}
	path := tree.path(p.uid, own)
	meeting, counted := tree.counts(c, path)
	if !counted || len(path) == 0 || meeting > 0 && !linked(path[:meeting+1]) {
		return false
	}
	e, _ := p.Ledger.Entry(c.Key)
	kept := e.Granted.Clone()
	for name, granted := range kept {
		kept[name] = granted - p.releasable(name, granted, tree, path, meeting)
	}
	if kept.IsZero() {
		p.drop(c.Key)
		return true
	}
	if !kept.Equal(e.Granted) {
		p.Ledger.Enter(c.Key, kept, kept)
	}
	return false
}

// Loses says whether what a child has taken to another pool may still count here. Until it does no more, this pool
// stays in its own: with its entry there, what is in use elsewhere would go.
func (p *Pool) Loses(c *Child) bool { return c.Stands() && !p.holds(c) && p.precedes(c) }

// Inhabitants returns the keys of those among some that stand in a pool that is gone, or in another one that has its
// name now and does not count them yet. The key and the uid are those of the one that is gone.
func (t Tree) Inhabitants(key, uid string, among []*Child) []string {
	instead := t[strings.TrimPrefix(key, poolPrefix)]
	var keys []string
	for _, c := range among {
		in := c.Membership.UID
		if in == uid || instead != nil && in == instead.UID && !instead.has(c.Key, c.UID, c.Tenure) {
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// path returns the pool of that uid and those above it, nearest first.
func (t Tree) path(uid string, own Membership) []*Node {
	var path []*Node
	for _, n := range t {
		if n.UID == uid {
			self := *n
			self.Membership = own
			path = append(path, &self)
		}
	}
	for len(path) > 0 && len(path) <= len(t) {
		next := t.standsIn(path[len(path)-1].Membership)
		if next == nil {
			break
		}
		path = append(path, next)
	}
	return path
}

// linked says whether each pool of a path is counted in the next.
func linked(path []*Node) bool {
	for i, n := range path[:len(path)-1] {
		if !path[i+1].has(n.Key, n.UID, n.Tenure) {
			return false
		}
	}
	return true
}

// standsIn returns the pool of a membership, nil if there is none.
func (t Tree) standsIn(m Membership) *Node {
	if n := t[m.Name]; n != nil && m.Stands() && n.UID == m.UID {
		return n
	}
	return nil
}

// has says whether a pool counts a child in that tenure, or in a later one.
func (n *Node) has(key, uid string, tenure int64) bool {
	e, ok := n.Entries[key]
	return ok && e.UID == uid && e.Tenure >= tenure
}

// counts says whether a child is counted in the pool that it stands in, and from there up to the first pool that is in
// the path, which it returns as the index there; -1 if none is.
func (t Tree) counts(c *Child, path []*Node) (meeting int, counted bool) {
	key, uid, m := c.Key, c.UID, c.Membership
	for range t {
		n := t.standsIn(m)
		if n == nil || !n.has(key, uid, m.Tenure) {
			return -1, false
		}
		for i := range path {
			if path[i].UID == n.UID {
				return i, true
			}
		}
		if !n.Stands() {
			return -1, true
		}
		key, uid, m = n.Key, n.UID, n.Membership
	}
	return -1, false
}

// releasable returns how much of what was granted to a child that has moved becomes free. The pool where both ways up
// meet counts the child twice until then, and if it is in debt by that, the pools below have to be as far in debt
// themselves: else they would raise others by what is in use elsewhere. What a pool counts beside its ledger is no such
// debt: it goes once its holder leaves, who may still count in the pool that he came from.
func (p *Pool) releasable(name corev1.ResourceName, granted int64, tree Tree, path []*Node, meeting int) int64 {
	if meeting <= 0 {
		return granted
	}
	debt := granted
	for i, n := range path[:meeting] {
		sum := n.entered(name)
		if i == 0 {
			sum = p.Ledger.Granted(name) - p.Ledger.Beside(name)
		}
		debt = min(debt, n.excess(name, sum-tree.besideBelow(n, name), path[i+1]))
	}
	return max(debt, granted-path[meeting].debt(name))
}

// besideBelow returns what the pools below one count of a name beside their ledgers.
func (t Tree) besideBelow(over *Node, name corev1.ResourceName) int64 {
	var sum int64
	for _, n := range t {
		if t.isBelow(n, over) {
			sum = amount.Add(sum, n.granted(name)-n.entered(name))
		}
	}
	return sum
}

// isBelow says whether a pool stands below another one.
func (t Tree) isBelow(n, over *Node) bool {
	for range t {
		if n = t.standsIn(n.Membership); n == nil || n.UID == over.UID {
			break
		}
	}
	return n != nil && n.UID == over.UID
}

// granted returns the sum of what a pool has granted of a name, with what it counts beside its ledger.
func (n *Node) granted(name corev1.ResourceName) int64 { return max(n.entered(name), n.Granted[name]) }

// entered returns the sum of what a pool has granted of a name to those that have an entry.
func (n *Node) entered(name corev1.ResourceName) int64 {
	var sum int64
	for _, e := range n.Entries {
		sum = amount.Add(sum, e.Granted[name])
	}
	return sum
}

// debt returns how much more a pool has granted of a name than it splits, Unknown while it has yet to be told how much
// that is.
func (n *Node) debt(name corev1.ResourceName) int64 {
	budget, limited := n.Budget[name]
	switch {
	case !limited:
		return 0
	case n.Frozen():
		return ledger.Unknown
	}
	return max(0, n.granted(name)-budget)
}

// excess returns how far a sum is above the cap of a pool, if that is the last that the one over it has decided.
func (n *Node) excess(name corev1.ResourceName, sum int64, over *Node) int64 {
	most, limited := n.Cap[name]
	if !limited || n.Revision != over.Entries[n.Key].Revision {
		return 0
	}
	return max(0, sum-most)
}
