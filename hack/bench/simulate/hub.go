package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// resource is the one that the members share. Its name does not matter here.
const resource = corev1.ResourceRequestsCPU

// hub decides on what was reported to it.
type hub struct {
	*fleet
	ledger  *ledger.Ledger
	members []known
	round   time.Duration // when the next round by event is due; below zero: none
	busy    time.Duration // until when the ledger is being written
	behind  bool          // a target of the last round was not reached, for want of free budget
}

// known is what the hub knows of a member.
type known struct {
	name    string
	weight  int64
	report  report
	read    bool          // it has confirmed that it enforces a share of ours
	touched time.Duration // when its limit was last moved; below zero: never
	gave    time.Duration // when its limit was last lowered; below zero: never
}

func newHub(f *fleet) *hub {
	h := &hub{
		fleet:   f,
		ledger:  ledger.New(amount.List{resource: f.setup.Budget}, 0, nil),
		members: make([]known, f.load.Members),
		round:   -1,
	}
	for i := range h.members {
		h.members[i] = known{name: fmt.Sprintf("member-%03d", i), weight: 1, touched: -time.Hour, gave: -time.Hour}
		if f.setup.Weights != nil {
			h.members[i].weight = f.setup.Weights[i]
		}
	}
	return h
}

// start lets every member join without a share, and begins the periodic rounds.
func (h *hub) start() {
	for i := range h.members {
		h.ledger.Join(h.members[i].name, false)
		h.ledger.Adopt(h.members[i].name, nil)
		h.deliver(i)
	}
	if every := h.setup.Policy.Every; every > 0 {
		h.at(every, h.periodic)
	}
}

func (h *hub) periodic() {
	h.soon(0)
	h.after(h.setup.Policy.Every, h.periodic)
}

// receive takes a report.
func (h *hub) receive(i int, r report) {
	k := &h.members[i]
	free := h.ledger.Free(resource)
	h.ledger.Settle(k.name, ledger.Report{
		Revision: r.revision,
		Hard:     amount.List{resource: r.limit},
		Used:     amount.List{resource: r.used},
	})
	if !k.read && r.revision > 0 {
		k.read = true
		h.behind = true
		h.soon(h.setup.Latencies.Confirm)
	}
	k.report = r
	if r.urgent && h.setup.Policy.Events {
		h.soon(h.setup.Latencies.Gather)
	}
	if h.behind && h.ledger.Free(resource) > free {
		h.soon(h.setup.Latencies.Confirm)
	}
}

// soon schedules a round, unless one is due by then. Rounds do not overlap: each waits for the write of the one before.
func (h *hub) soon(wait time.Duration) {
	due := max(h.now+wait, h.busy)
	if h.round >= 0 && h.round <= due {
		return
	}
	h.round = due
	h.at(due, func() {
		if h.round == due {
			h.round = -1
			h.decide()
		}
	})
}

// decide is a round: one write of the ledger, and then the shares of those whose entry has changed.
func (h *hub) decide() {
	h.result.Rounds++
	in := h.input()
	wanted, targets := h.targets(in)
	before := make([]ledger.Entry, len(h.members))
	for i := range h.members {
		before[i], _ = h.ledger.Entry(h.members[i].name)
	}
	h.ledger.Steer(targets, func(string, corev1.ResourceName) bool { return true })
	h.busy = h.now + h.setup.Latencies.Ledger
	h.behind = false
	for i := range h.members {
		entry, _ := h.ledger.Entry(h.members[i].name)
		h.behind = h.behind || entry.Target[resource] < wanted[i]
		if entry.Revision != before[i].Revision {
			h.members[i].touched = h.now
			if entry.Target[resource] < before[i].Target[resource] {
				h.members[i].gave = h.now
			}
			h.count(before[i].Target[resource], entry.Target[resource], h.members[i].report)
			h.deliver(i)
		}
	}
}

// targets returns what the policy wants the limits to be, and what of it can be told now.
func (h *hub) targets(in allocate.Input) (wanted []int64, now []ledger.Target) {
	result := h.allocate(in)
	for i := range in.Members {
		wanted = append(wanted, result.Verdicts[i][0].Target)
	}
	free := []int64{h.ledger.Free(resource)}
	allocate.Ration(in, result, free, func(int, int) bool { return true })
	for i := range in.Members {
		amounts := amount.List{resource: result.Verdicts[i][0].Target}
		now = append(now, ledger.Target{Cluster: in.Members[i].ID, Amounts: amounts})
	}
	return wanted, now
}

// allocate is the policy.
func (h *hub) allocate(in allocate.Input) allocate.Result {
	if h.setup.Policy.Static || h.setup.Policy.Pooled {
		return allocate.Static(in)
	}
	return allocate.Auto(in, h.setup.Policy.Options)
}

// input is what the allocation depends on.
func (h *hub) input() allocate.Input {
	in := allocate.Input{Quota: "quota", Budgets: []int64{h.setup.Budget}}
	for i := range h.members {
		k := &h.members[i]
		entry, _ := h.ledger.Entry(k.name)
		var respite int64
		if h.now-k.gave < h.setup.Policy.Respites.Of(k.report.demand) {
			respite = pace.Respite(h.setup.Budget, k.report.used, entry.Target[resource])
		}
		in.Members = append(in.Members, allocate.Member{
			ID:     k.name,
			Weight: k.weight,
			Pinned: !k.read,
			Damped: h.now-k.touched < h.setup.Policy.Damp,
			Claims: []allocate.Claim{{
				Max:     allocate.Unlimited,
				Used:    k.report.used,
				Respite: respite,
				Demand:  k.report.demand,
				Granted: entry.Granted[resource],
				Target:  entry.Target[resource],
			}},
			Kinds: k.report.kinds(),
		})
	}
	return in
}

// deliver writes the share of a member when the ledger is written.
func (h *hub) deliver(i int) {
	entry, _ := h.ledger.Entry(h.members[i].name)
	revision, target := entry.Revision, entry.Target[resource]
	h.after(h.setup.Latencies.Ledger+h.setup.Latencies.Deliver, func() {
		h.fleet.members[i].enforce(revision, target)
	})
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
