package scaleout

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// Quota is a CapacityQuota of a node autoscaler: what the nodes of a cluster that it selects may have together.
type Quota struct {
	Name string
	// Selector selects nodes.
	Selector labels.Requirements
	// Limits are the most that the nodes may have, by name as nodes have it, and nodeCount; Used is what they have. A name
	// that Used does not have is not known.
	Limits, Used amount.List
	// Formats are those of the limits.
	Formats corev1.ResourceList
}

// nodeCount is the name by which a Quota counts nodes.
const nodeCount = corev1.ResourceName("nodes")

// room returns how many machines of a group the Quotas of its cluster leave room for, and which of them bounds it most,
// in words: none if these are empty.
func (in *Input) room(g *Group) (machines int64, by string) {
	c := in.cluster(g.Cluster)
	if c.Unread != "" {
		return 0, c.Unread
	}
	machines, each := math.MaxInt64, g.takes()
	for i := range c.Quotas {
		q := &c.Quotas[i]
		selected, guessed := q.selects(g)
		if !selected {
			continue
		}
		coming := in.onTheWay(q, c)
		for _, name := range q.Limits.Names() {
			if each[name] <= 0 {
				continue
			}
			if left, words := q.left(name, coming[name]); left/each[name] < machines {
				machines, by = left/each[name], words+guessed
			}
		}
	}
	return machines, by
}

// selects says whether nodes of a group are selected, as far as their labels are known. Nodes that may be count as
// selected, and the words say of which labels that is guessed.
func (q *Quota) selects(g *Group) (selected bool, guessed string) {
	var unknown []string
	for i := range q.Selector {
		r := &q.Selector[i]
		_, known := g.Labels[r.Key()]
		switch {
		case !known:
			unknown = append(unknown, r.Key())
		case !r.Matches(g.Labels):
			return false, ""
		}
	}
	if len(unknown) > 0 {
		guessed = fmt.Sprintf(", if it selects nodes of %s: nobody says what they have as label %s",
			g.Key, strings.Join(unknown, ", "))
	}
	return true, guessed
}

// left returns how much of a name nodes may still have when so much is on the way, and says why.
func (q *Quota) left(name corev1.ResourceName, coming int64) (left int64, words string) {
	used, known := q.Used[name]
	if !known {
		return 0, fmt.Sprintf("CapacityQuota %s does not say how much of its %s is used", q.Name, name)
	}
	text := func(value int64) string { return amount.Text(name, value, q.Formats) }
	return max(0, q.Limits[name]-amount.Add(used, coming)),
		fmt.Sprintf("CapacityQuota %s allows %s of %s, %s are there, and %s on the way",
			q.Name, text(q.Limits[name]), name, text(used), text(coming))
}

// onTheWay is what the nodes on their way have that a Quota of a cluster selects. One of a group that is paused comes
// once it is not.
func (in *Input) onTheWay(q *Quota, c *Cluster) amount.List {
	all := amount.List{}
	for i := range in.Groups {
		g := &in.Groups[i]
		if selected, _ := q.selects(g); selected && g.Cluster == c.Name {
			all = amount.Sum(all, g.takes().Times(g.missing()))
		}
	}
	return all
}

// takes returns what one machine of the group takes of a Quota.
func (g *Group) takes() amount.List { return amount.Sum(g.Machine, amount.List{nodeCount: 1}) }

// bounded returns the reason why Quotas leave no room for a machine in a cluster: nodes on their way may be counted
// twice, once they are there and not ready, and are waited for.
func (d *decision) bounded(c *Cluster) string {
	for i := range d.Groups {
		if g := &d.Groups[i]; g.Cluster == c.Name && g.onTheWay() > 0 && d.failure(g.Key) == nil {
			return quotav1alpha1.ReasonNodesOnTheWay
		}
	}
	return quotav1alpha1.ReasonAtCapacityQuota
}
