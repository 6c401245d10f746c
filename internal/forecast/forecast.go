// Package forecast says what becomes of a budget: it plays rounds until nothing moves any more. What decides is
// internal/shares, as the hub manager runs it. What is supposed is the rest: that members which can act do so at once,
// and that usage and demand stay as they are.
package forecast

import (
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// mostRounds is more than any budget needs to come to rest: a raise takes three, and all that moves does so together.
const mostRounds = 200

// ErrRestless is that limits do not come to rest.
var ErrRestless = errors.New("limits do not come to rest")

// Outcome is what becomes of a budget.
type Outcome struct {
	// Rest is the last decision, of which nothing moves any more while usage stays as it is.
	Rest *shares.Decision
	// Account says why limits are what they are then.
	Account *shares.Account
	// Drained is the last decision once usage above a target has ended; it is Rest if there is none.
	Drained *shares.Decision
}

// player plays the rounds of one budget.
type player struct {
	in shares.Input
	// used is what children use that have no share yet.
	used map[string]amount.List
}

// Play plays rounds over a budget of which every child was read. A child without a share uses what used says of it.
func Play(in shares.Input, used map[string]amount.List) (Outcome, error) {
	p := &player{in: in, used: used}
	p.in.Children = slices.Clone(in.Children)
	rest, err := p.rest()
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Rest: rest, Account: shares.New(&p.in).Explain(), Drained: rest}
	for p.drain(outcome.Drained) && err == nil {
		outcome.Drained, err = p.rest()
	}
	return outcome, err
}

// rest plays until nothing moves.
func (p *player) rest() (*shares.Decision, error) {
	patient := true
	for range mostRounds {
		d := shares.New(&p.in).Decide()
		if atRest(d) {
			if !patient {
				return d, nil
			}
			patient = false
			giveUp(&p.in)
		}
		store(&p.in, d)
		for i := range d.Verdicts {
			p.obey(d, &d.Verdicts[i])
		}
	}
	return nil, ErrRestless
}

// drain ends what is used above targets in children that follow, and says whether there was any.
func (p *player) drain(d *shares.Decision) bool {
	drained := false
	for _, v := range d.Verdicts {
		entry, _ := d.Ledger.Entry(v.Name)
		reading := p.reading(v.Name)
		if reading.Failure != "" || reading.Share == nil || !able(reading.Share) || entry.Unknown() {
			continue
		}
		share := *reading.Share
		share.Report.Used = maps.Clone(share.Report.Used)
		for name, used := range share.Report.Used {
			if target, budgeted := entry.Target[name]; budgeted && used > target {
				share.Report.Used[name], drained = target, true
			}
		}
		share.Report = enforced(&share)
		reading.Share = &share
	}
	return drained
}

// reading is what reading a child gives.
func (p *player) reading(name string) *shares.Reading {
	i := slices.IndexFunc(p.in.Children, func(c shares.Child) bool { return c.Name == name })
	return &p.in.Children[i].Reading
}

// obey has a child do as it is told, if it can.
func (p *player) obey(d *shares.Decision, v *shares.Verdict) {
	reading := p.reading(v.Name)
	*reading = obeyed(*reading, d, v, p.used[v.Name], p.in.Formats)
}

// atRest says whether a round has nothing to write.
func atRest(d *shares.Decision) bool {
	for _, v := range d.Verdicts {
		switch v.Order {
		case shares.OrderNone, shares.OrderMark, shares.OrderKeep:
		default:
			return false
		}
		if v.Decided && !v.Confirms {
			return false
		}
	}
	return true
}

// giveUp ends that raises wait for what members use which do not say it: the hub manager does so after some seconds.
func giveUp(in *shares.Input) {
	for i := range in.Children {
		past := &in.Children[i].Past
		past.UnheardFor = map[corev1.ResourceName]time.Duration{}
		for name := range in.Budget {
			past.UnheardFor[name] = time.Hour
		}
	}
}

// store makes the decision of a round what the next one finds.
func store(in *shares.Input, d *shares.Decision) {
	in.Revision, in.SpecRevision = d.Ledger.Revision(), d.SpecRevision
	in.Ready = d.Ready
	verdicts := make(map[string]*shares.Verdict, len(d.Verdicts))
	for i := range d.Verdicts {
		verdicts[d.Verdicts[i].Name] = &d.Verdicts[i]
	}
	for i := range in.Children {
		c := &in.Children[i]
		v := verdicts[c.Name]
		entry, known := d.Ledger.Entry(c.Name)
		if v == nil || !known {
			c.Entry = nil
			continue
		}
		c.Entry = &shares.Entry{Entry: entry, UID: v.UID, State: v.State, Reason: v.Why.Reason, Removal: v.Removal}
		if v.Confirms {
			c.Past.ConfirmedFor = time.Hour // it has been asked: nothing there changes by being asked again
		}
	}
}

// obeyed returns what is read of a child that has done as it was told, if it can.
func obeyed(
	reading shares.Reading, d *shares.Decision, v *shares.Verdict, used amount.List, formats corev1.ResourceList,
) shares.Reading {
	if reading.Failure != "" || reading.HeldBack != (shares.Obstacle{}) {
		return reading
	}
	switch v.Order {
	case shares.OrderCreate:
		reading.Share = &shares.Share{Report: ledger.Report{Used: used}}
		tell(reading.Share, d, v, formats)
	case shares.OrderUpdate:
		share := *reading.Share
		tell(&share, d, v, formats)
		reading.Share = &share
	case shares.OrderTellRemoval:
		share := *reading.Share
		share.Removal, share.ToldRemoval = quotav1alpha1.RemovalRetain, true
		reading.Share = &share
	case shares.OrderRemove:
		if able(reading.Share) {
			reading.Share, reading.Orphan = nil, nil
		}
	}
	return reading
}

// tell writes a share, which the agent enforces if it can.
func tell(share *shares.Share, d *shares.Decision, v *shares.Verdict, formats corev1.ResourceList) {
	revision, hard := d.Ledger.Share(v.Name, formats)
	share.Owner, share.Revision, share.Hard = v.UID, revision, amount.Saturate(hard, amount.Up)
	share.Existing, share.TakeOver = v.Existing, v.TakeOver
	takeOver(share)
	share.Admission, share.Fleet, share.Pinging, share.ToldRemoval, share.Removal = v.Admission, d.Fleet, false, false, ""
	if able(share) && v.Why.Reason != quotav1alpha1.ReasonAgentAbsent {
		share.Report, share.Behind = enforced(share), false
	}
}

// takeOver makes a limit that is there the share's own, where the hub allows that.
func takeOver(share *shares.Share) {
	if share.TakeOver == nil || share.Found == nil || share.TakeOver.UID != share.Found.UID {
		return
	}
	share.Report = ledger.Report{Hard: share.Found.Hard, Used: share.Found.Used}
	share.Said = maps.Clone(share.Said)
	delete(share.Said, quotav1alpha1.ConditionEnforced)
	share.Found = nil
}

// enforced returns the report of an agent that enforces a share, and counts each name of it. What was counted before is
// the names that were limited.
func enforced(share *shares.Share) ledger.Report {
	present := share.Report
	quota := ledger.Quota{
		Managed: true, Revision: present.Revision,
		Spec: present.Hard.ToList(nil), Used: present.Used.Only(present.Hard).ToList(nil),
	}
	report := ledger.Report{
		Revision: share.Revision, Used: amount.List{},
		Hard: amount.Saturate(quota.Limits(share.Revision, share.Hard.ToList(nil)), amount.Up),
	}
	for name := range report.Hard {
		report.Used[name] = present.Used[name]
	}
	return report
}

// inTheWay are the conditions under which an agent changes nothing.
var inTheWay = []string{
	quotav1alpha1.ConditionBreakGlass, quotav1alpha1.ConditionStuckQuotaController, quotav1alpha1.ConditionUnguarded,
}

// able says whether an agent can do as it is told, as far as it says.
func able(share *shares.Share) bool {
	for _, condition := range inTheWay {
		if share.Said[condition].True {
			return false
		}
	}
	enforced, said := share.Said[quotav1alpha1.ConditionEnforced]
	return !said || enforced.True || enforced.Reason == quotav1alpha1.ReasonPending
}
