package simulate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// resource is the one that the members share. Its name does not matter here.
const resource = corev1.ResourceRequestsCPU

// hub gathers what was reported to it, and stores and delivers what internal/shares decides.
type hub struct {
	*fleet
	turns
	revision int64 // the ledger's counter
	members  []known
	started  time.Duration // when the first round was
	place    place
}

// turns schedules rounds by event.
type turns struct {
	round time.Duration // when the next one is due; below zero: none
	busy  time.Duration // until when the ledger is being written
}

// known is what the hub knows of a member.
type known struct {
	*member
	name    string
	weight  int64
	entry   *shares.Entry // nil before the first round
	report  report
	touched time.Duration // when its limit was last moved; below zero: never
	gave    time.Duration // when its limit was last lowered; below zero: never
}

func newHub(f *fleet, members []*member) *hub {
	h := &hub{fleet: f, members: make([]known, len(members)), turns: turns{round: -1}}
	for i, m := range members {
		m.hub, m.index = h, i
		h.members[i] = known{member: m, name: fmt.Sprintf("member-%03d", i), weight: 1, touched: -time.Hour, gave: -time.Hour}
		if f.setup.Weights != nil {
			h.members[i].weight = f.setup.Weights[i]
		}
	}
	return h
}

// start has every member join without a share, and begins the periodic rounds.
func (h *hub) start() {
	h.started = h.now
	h.decide()
	if every := h.setup.Policy.Every; every > 0 {
		h.at(every, h.periodic)
	}
}

func (h *hub) periodic() {
	h.soon(0)
	h.after(h.setup.Policy.Every, h.periodic)
}

// receive takes a report. One that confirms a first share, or that room was given back, is followed by a round.
func (h *hub) receive(i int, r report) {
	k := &h.members[i]
	first := k.report.revision <= 0 && r.revision > 0
	k.report = r
	switch {
	case first || r.revision == k.entry.Revision && max(r.limit, r.used) < k.entry.Granted[resource]:
		h.soon(h.setup.Latencies.Confirm)
	case r.urgent && h.setup.Policy.Events:
		h.soon(h.setup.Latencies.Gather)
	}
}

// soon schedules a round, unless one is due by then.
func (h *hub) soon(wait time.Duration) { h.turns.soon(&h.clock, wait, h.decide) }

// soon schedules a round, unless one is due by then. Rounds do not overlap: each waits for the write of the one before.
func (t *turns) soon(c *clock, wait time.Duration, decide func()) {
	due := max(c.now+wait, t.busy)
	if t.round >= 0 && t.round <= due {
		return
	}
	t.round = due
	c.at(due, func() {
		if t.round == due {
			t.round = -1
			decide()
		}
	})
}

// decide is a round: one write of the ledger, and then the shares of those whose entry has changed.
func (h *hub) decide() {
	h.result.Rounds++
	in := h.input()
	r := shares.New(&in)
	for i, c := range r.Children() {
		h.read(i, &c)
		r.Hear(c.Name, c.Reading, c.Past)
	}
	d := r.Decide()
	h.revision, h.busy = d.Ledger.Revision(), h.now+h.setup.Latencies.Ledger
	for i := range d.Verdicts {
		h.take(i, d.Ledger, &d.Verdicts[i])
	}
	h.place.report(h.fleet, d.Ledger, h.need().keeping(d.Needs))
}

// need is what the members use and ask for together.
func (h *hub) need() need {
	var n need
	for i := range h.members {
		r := &h.members[i].report
		n.used, n.demand, n.shapes = n.used+r.used, n.demand+r.demand, append(n.shapes, r.shapes...)
	}
	return n
}

// input is what a round knows before it reads the members.
func (h *hub) input() shares.Input {
	policy := &h.setup.Policy
	in := shares.Input{
		ID: "quota", Budget: h.place.takeUp(h.setup.Budget), Revision: h.revision,
		Split:    round.Split{Static: policy.Static || policy.Pooled, Options: policy.Options, Respites: policy.Respites},
		Children: make([]shares.Child, len(h.members)),
	}
	if h.place.membership.Frozen() {
		in.Halted = shares.Obstacle{Reason: quotav1alpha1.ReasonPoolPending}
	}
	for i := range h.members {
		k := &h.members[i]
		in.Children[i] = shares.Child{
			Name: k.name, UID: k.name, Selected: true, Terms: round.Terms{Weight: k.weight}, Entry: k.entry,
		}
	}
	return in
}

// read is what reading a member gives, and what is remembered of it.
func (h *hub) read(i int, c *shares.Child) {
	k := &h.members[i]
	if k.entry != nil {
		c.Reading.Share = &shares.Share{
			Owner: k.name, Revision: k.entry.Revision, Hard: k.entry.Target,
			Report: ledger.Report{
				Revision: max(k.report.revision, 0),
				Hard:     amount.List{resource: k.report.limit}, Used: amount.List{resource: k.report.used},
			},
			Demand: amount.List{resource: k.report.demand}, Shapes: k.report.shapes,
			Expected:  amount.List{resource: k.report.expected},
			Replacing: amount.List{resource: k.report.replacing},
		}
	}
	c.Past.Gave = map[corev1.ResourceName]time.Duration{resource: h.now - k.gave}
	c.Past.DampedFor = max(0, h.setup.Policy.Damp-(h.now-k.touched))
	c.Past.UnheardFor = map[corev1.ResourceName]time.Duration{resource: h.now - h.started}
}

// take stores what was decided of a member, and writes its share when the ledger is written.
func (h *hub) take(i int, l *ledger.Ledger, v *shares.Verdict) {
	k := &h.members[i]
	entry, _ := l.Entry(v.Name)
	k.entry = &shares.Entry{Entry: entry, UID: v.UID}
	if v.To != nil {
		k.touched = h.now
		switch from, to := v.From[resource], v.To[resource]; {
		case slices.Contains(v.Gave, resource):
			k.gave = h.now
		case to > from:
			k.gave = -time.Hour
		}
		h.count(v.From[resource], v.To[resource], k.report)
	}
	if v.Decided {
		revision, target := entry.Revision, entry.Target[resource]
		h.after(h.setup.Latencies.Ledger+h.setup.Latencies.Deliver, func() { k.enforce(revision, target) })
	}
}

// count counts a write.
func (h *hub) count(before, after int64, r report) {
	if !h.counts(h.now) {
		return
	}
	h.result.Writes++
	switch {
	case after < before:
		h.result.Lowered++
	case before >= r.used+r.demand:
		h.result.Lifted++
	}
}
