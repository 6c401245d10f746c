package why

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// printer prints an answer for people.
type printer struct {
	*text.Page
	*view.Answer

	now time.Time
}

func (p *printer) print() error {
	p.Printf("%s\n", p.Paint(text.Bold, fmt.Sprintf("%s %s/%s", p.Kind, p.Namespace, p.Name)))
	switch {
	case p.Suspended:
		p.suspended()
	case !p.Waits:
		p.fine()
	case p.Missing > 0:
		p.refused()
	}
	if p.Room != nil {
		p.room()
	}
	if p.Unscheduled != nil {
		p.nodes()
	}
	return p.Err()
}

// suspended says what a Job wants that is suspended.
func (p *printer) suspended() {
	switch until := p.WantedUntil; {
	case p.Problem != "":
		p.Printf("  It is suspended. What it states does not count as demand:\n")
		p.Paragraph(4, text.Red, p.Problem)
	case until == nil:
		p.Printf("  It is suspended: it makes no pods, and does not state that it wants room for them.\n")
	case until.Time.Before(p.now):
		p.Printf("  It is suspended. It stated that it wants room for %d pods until %s ago: create it again if it still does.\n",
			p.Missing, text.Since(p.now, *until))
	default:
		p.Printf("  It is suspended, and states that it wants room for %d pods, for another %s.\n",
			p.Missing, text.Since(until.Time, metav1.NewTime(p.now)))
	}
}

// fine says that nothing waits, and what becomes of a resize that the node of a pod can never do.
func (p *printer) fine() {
	if p.Kind != "Pod" {
		p.Printf("  Nothing waits: all %d pods that it wants are there.\n", p.Pods)
		return
	}
	p.Printf("  It was admitted, and is %s on node %s.\n", strings.ToLower(string(p.Phase)), p.Node)
	if p.Infeasible {
		p.Printf("  %s: its node can never give it what it shall have.\n", p.Paint(text.Yellow, "Infeasible"))
		p.Paragraph(4, text.Plain, "→ Quotas charge what it shall have until the quota controller counts all again, every 5 minutes by default. "+
			"Set its resources back, or make it anew where a node has room.")
	}
}

// refused says who refuses pods.
func (p *printer) refused() {
	if all := p.Pods + p.Missing; all > 1 {
		p.Printf("  %d of %d pods are missing.\n", p.Missing, all)
	}
	r := p.Refusal
	if r == nil {
		p.Printf("  Nothing was refused that anybody remembers: events are kept for an hour.\n")
		return
	}
	p.Printf("  %s since %s, last %s ago: %s\n",
		p.Paint(text.Red, "Refused"), text.Since(p.now, r.Since), text.Since(p.now, r.Last), r.By)
	p.Paragraph(4, text.Dim, r.Message)
	if r.Advice != "" {
		p.Paragraph(4, text.Plain, "→ "+r.Advice)
	}
}

// room says for each quota whether a pod would fit now, and what helps.
func (p *printer) room() {
	p.Printf("\n  Would one more pod fit now?\n")
	t := &text.Table{Header: []string{"QUOTA", "RESOURCE", "ASKS", "USED", "HARD", "FITS"}, Indent: 4}
	for _, q := range p.Room.Quotas {
		answer := text.Cell{Text: "no", Style: text.Red}
		if q.Fits {
			answer = text.Cell{Text: "yes", Style: text.Green}
		}
		t.Cells(append(text.Plains(q.Quota, string(q.Resource), q.Asks, q.Used, q.Hard), answer)...)
	}
	p.Print(t)
	for _, help := range p.Room.Help {
		for _, known := range help.Known {
			p.Paragraph(4, text.Plain, known)
		}
		p.Paragraph(4, text.Plain, "→ "+help.Advice)
	}
}

// nodes says why pods that were admitted wait for a node, and what quotas charge them.
func (p *printer) nodes() {
	u := p.Unscheduled
	p.Printf("  %s for %s: %d of its pods were admitted and wait for a node.\n", p.Paint(text.Yellow, "No node"), text.Since(p.now, u.Since), u.Count)
	p.Paragraph(4, text.Plain, u.Pod+": "+u.Message)
	for _, c := range u.Charged {
		p.Paragraph(4, text.Plain, fmt.Sprintf("%s charges them: %s.", c.Quota, text.Counted(c.Amounts)))
	}
	p.Paragraph(4, text.Dim, "→ No quota is in the way. Add nodes, ask for less, or run it in another cluster.")
}
