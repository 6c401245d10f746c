package scaleout

import (
	"fmt"
	"strings"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// words says what is asked for: "3 requests for requests.cpu=2, pods=1 each", or as many pods without a node.
func (n *need) words() string {
	var parts []string
	for _, name := range n.unit.Names() {
		if n.unit[name] > 0 {
			q := amount.ToQuantity(name, n.unit[name], "")
			parts = append(parts, string(name)+"="+q.String())
		}
	}
	each := ""
	if n.count > 1 {
		each = " each"
	}
	what := counted(n.count, "request")
	if n.there {
		what = counted(n.count, "pod") + " without a node"
	}
	return what + " for " + strings.Join(parts, ", ") + each
}

// why says what a step is for.
func (n *need) why() string {
	if n.there {
		return n.words()
	}
	return n.words() + " that nodes leave no room for"
}

func brought(f *Failure) string {
	return fmt.Sprintf("the last nodes of MachineDeployment %s have not come in time, or nothing runs on them: "+
		"see its Machines, and what the pods ask for; it is left alone until %s",
		f.Group, f.Until.UTC().Format(time.RFC3339))
}

// held says why nothing serves a need.
func (d *decision) held(n *need) *Step {
	reason, parts := quotav1alpha1.ReasonNoMachineFits, []string{}
	for i := range d.Groups {
		g := &d.Groups[i]
		if g.Cluster != n.cluster.Name {
			continue
		}
		why, words := d.why(g, n)
		if why == quotav1alpha1.ReasonNodesOnTheWay {
			return d.is(why, "%s", words)
		}
		parts = append(parts, words)
		if why == quotav1alpha1.ReasonNodesBringNothing || why != "" && reason == quotav1alpha1.ReasonNoMachineFits {
			reason = why // what somebody has to look at goes before what is as it was meant
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no MachineDeployment of it is selected")
	}
	return d.is(reason, "Cluster %s needs nodes for %s: %s", n.cluster.Name, n.words(), strings.Join(parts, "; "))
}

// why says why a group does not serve a need, and which reason that makes; "" if none of its own.
func (d *decision) why(g *Group, n *need) (reason, words string) {
	allowed, by := d.room(g)
	switch f := d.failure(g.Key); {
	case g.Machine != nil && g.holds(n.unit) == 0:
		return "", "a machine of " + g.Key + " cannot run one"
	case g.Full:
		return quotav1alpha1.ReasonAtMaximum, g.Key + " " + g.Obstacle
	case g.Obstacle != "":
		return "", g.Key + " " + g.Obstacle
	case n.there && !g.Unscheduled:
		return "", g.Key + " is not scaled for pods that are there"
	case g.Machine == nil:
		return "", "of " + g.Key + " nobody says what a machine can run"
	case f != nil:
		return quotav1alpha1.ReasonNodesBringNothing, brought(f)
	case allowed == 0:
		return d.bounded(n.cluster), by
	}
	return quotav1alpha1.ReasonNodesOnTheWay, "the nodes of " + g.Key + " have come, and nothing runs on them yet"
}
