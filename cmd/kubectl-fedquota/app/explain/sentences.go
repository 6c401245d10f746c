package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// sentences say why limits are what they are: those of the clusters of a FederatedQuota, or of the children of a pool.
type sentences struct {
	account *shares.Account
	// formats are those of amounts, and unseen says that no hub manager has acted on the budget yet.
	formats corev1.ResourceList
	unseen  bool
	static  bool
	only    view.Only
	// ofPool says that the limits are targets of the children of a pool.
	ofPool bool
}

// explanation fills in what is to be shown.
func (s *sentences) explanation(e *view.Explanation) *view.Explanation {
	e.Halted, e.HaltedReason, e.Unseen = s.account.Halted.Message, s.account.Halted.Reason, s.unseen
	e.Resources = []view.ExplainedResource{}
	if e.Unseen {
		return e
	}
	for _, name := range s.account.Budget.Names() {
		if s.only.Resource == "" || s.only.Resource == name {
			e.Resources = append(e.Resources, s.resource(name))
		}
	}
	return e
}

func (s *sentences) quantity(name corev1.ResourceName, value int64) string {
	if value == ledger.Unknown {
		return "anything"
	}
	return amount.Text(name, value, s.formats)
}

// some returns a quantity, "" if it is zero.
func (s *sentences) some(name corev1.ResourceName, value int64) string {
	if value == 0 {
		return ""
	}
	return s.quantity(name, value)
}

// resource explains one resource name.
func (s *sentences) resource(name corev1.ResourceName) view.ExplainedResource {
	budget := s.quantity(name, s.account.Budget[name])
	r := view.ExplainedResource{Resource: name, Budget: budget, Limits: []view.ExplainedLimit{}}
	var used, demand int64
	for i := range s.account.Children {
		c := &s.account.Children[i]
		used, demand = amount.Add(used, c.Claims[name].Used), amount.Add(demand, c.Claims[name].Demand)
		if s.only.Cluster == "" || s.only.Cluster == c.Name {
			r.Limits = append(r.Limits, s.limit(c, name))
		}
	}
	r.Used, r.Demand = s.quantity(name, used), s.some(name, demand)
	switch debt := s.account.Debt[name]; {
	case debt == ledger.Unknown:
		r.Debt = view.Unknown
	case debt > 0:
		r.Debt = s.quantity(name, debt)
	default:
		r.Free = s.quantity(name, s.account.Free[name])
	}
	return r
}

// limit explains the limit of one cluster.
func (s *sentences) limit(c *round.ChildAccount, name corev1.ResourceName) view.ExplainedLimit {
	claim := c.Claims[name]
	said := []string{
		s.reason(c, name), s.replacing(c, name), s.headroom(c, name),
		s.holding(c, name), s.relation(c, name), s.bound(c, name),
	}
	limit := view.ExplainedLimit{
		Cluster: c.Name, State: s.account.Findings[c.Name].State,
		Limit: s.quantity(name, claim.Target), Used: s.quantity(name, claim.Used), Demand: s.some(name, claim.Demand),
		Reason: claim.Verdict.Reason, Bound: claim.Bound,
		Sentences: slices.DeleteFunc(said, func(sentence string) bool { return sentence == "" }),
	}
	if s.ofPool {
		limit.Cluster, limit.Child = "", c.Name
	}
	if !s.static && !c.Leaving {
		limit.Part, limit.Lends, limit.Lent = s.lending(c, name)
	}
	return limit
}

// poolWords are those that are said of the children of a pool.
var poolWords = strings.NewReplacer(
	"The placement does not select it any more", "It does not name the pool any more",
	"Its pods", "What it has of other resources", "they lack", "it lacks", "could not use", "does not let it use",
	"clusters", "children", "cluster", "child", "limits", "targets", "limit", "target",
)

// worded returns a sentence in the words of what it is about, before anything is filled in.
func (s *sentences) worded(sentence string) string {
	if s.ofPool {
		return poolWords.Replace(sentence)
	}
	return sentence
}

// reason says why the limit is what it is, as the round found.
func (s *sentences) reason(c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	switch {
	case c.Leaving:
		return s.worded("The placement does not select it any more: it gives back what it was granted as its usage falls.")
	case c.Pinned:
		return s.worded("The limit does not move now: ") + s.pinned(c, name)
	case slices.Contains(alone, claim.Bound):
		return s.filled(claim.Bound.Words().Sentence, c, name)
	case s.static && claim.Verdict.Reason == allocate.Weight:
		return s.filled("{target} is its part by weight.", c, name)
	}
	return s.filled(round.WordsOf(claim.Verdict.Reason).Sentence, c, name)
}

// alone are the bounds that say all: without them the reason would be another one. The others say what a raise waits
// for, or why headroom does not move.
var alone = []round.Bound{round.BoundUnread, round.BoundUncounted, round.BoundNodes, round.BoundRoom, round.BoundMax}

// bound says what the next change waits for.
func (s *sentences) bound(c *round.ChildAccount, name corev1.ResourceName) string {
	if bound := c.Claims[name].Bound; !slices.Contains(alone, bound) {
		return s.filled(bound.Words().Sentence, c, name)
	}
	return ""
}

// filled returns a sentence with what it leaves open.
func (s *sentences) filled(sentence string, c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	holders := s.others(c, name, heldAbove)
	missing := claim.Verdict.Target - max(claim.Next, claim.Target)
	return strings.NewReplacer(
		"{target}", s.quantity(name, claim.Verdict.Target), "{fair}", s.quantity(name, claim.Verdict.Fair),
		"{min}", s.quantity(name, claim.Min), "{max}", s.quantity(name, claim.Max), "{lacking}", s.lacking(c, name),
		"{unread}", s.unread(name), "{expected}", shares.Abbreviated(s.account.Expected),
		"{reporting}", shares.Abbreviated(s.account.Reporting[name]),
		"{room}", s.quantity(name, max(0, claim.Room)), "{step}", s.quantity(name, claim.Step),
		"{replacing}", s.others(c, name, func(o round.ClaimAccount) int64 { return o.Replacing }),
		"{debt}", s.quantity(name, s.account.Debt[name]), "{missing}", s.quantity(name, missing),
		"{holders}", cmp.Or(holders, "others"),
	).Replace(s.worded(sentence))
}

// heldAbove is what a cluster holds above what its limit becomes, as far as that is known.
func heldAbove(claim round.ClaimAccount) int64 {
	if claim.Granted == ledger.Unknown {
		return 0
	}
	return claim.Granted - claim.Verdict.Target
}

// unread names the clusters that may hold anything.
func (s *sentences) unread(name corev1.ResourceName) string {
	var names []string
	for i := range s.account.Children {
		if s.account.Children[i].Claims[name].Granted == ledger.Unknown {
			names = append(names, s.account.Children[i].Name)
		}
	}
	return shares.Abbreviated(names)
}

// replacing says what a cluster keeps for pods that it replaces.
func (s *sentences) replacing(c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	if claim.Replacing == 0 || c.Pinned || s.static {
		return ""
	}
	return fmt.Sprintf("Its workloads are replacing their pods, and lack %s meanwhile: what it had of that stays its own, for 10 minutes at most.",
		s.quantity(name, claim.Replacing))
}

// headroom says what room the rules keep for a cluster, and why it is not there.
func (s *sentences) headroom(c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	switch missing := amount.Add(amount.Add(claim.Used, claim.Demand), claim.Headroom) - claim.Target; {
	case s.static || c.Pinned || claim.Headroom == 0:
		return ""
	case missing <= 0:
		return fmt.Sprintf("The rules keep room for %s more here, while nobody needs that.", s.quantity(name, claim.Headroom))
	default:
		return fmt.Sprintf(s.worded("The rules keep room for %s more here, while nobody needs that. %s are missing: they are not free, or the limit was moved for headroom a moment ago."),
			s.quantity(name, claim.Headroom), s.quantity(name, missing))
	}
}

// pinned says why a limit does not move.
func (s *sentences) pinned(c *round.ChildAccount, name corev1.ResourceName) string {
	state := s.account.Findings[c.Name]
	why := fmt.Sprintf(s.worded("the cluster is %s"), state.State)
	if state.Why.Message != "" {
		why += " (" + state.Why.Message + ")"
	}
	if c.Claims[name].Granted == ledger.Unknown {
		return why + s.worded(". It may hold anything, until it says what it holds: no limit goes up before.")
	}
	return fmt.Sprintf("%s. It keeps the %s that it was granted.", why, s.quantity(name, c.Claims[name].Granted))
}

// lacking names the resources of which a cluster asks for more than its limit.
func (s *sentences) lacking(c *round.ChildAccount, but corev1.ResourceName) string {
	var names []string
	for _, name := range s.account.Budget.Names() {
		claim := c.Claims[name]
		if name != but && claim.Demand > 0 && amount.Add(claim.Used, claim.Demand) > claim.Verdict.Target {
			names = append(names, string(name))
		}
	}
	if len(names) == 0 {
		return "another resource"
	}
	return strings.Join(names, ", ")
}

// holding says what a cluster holds above its target.
func (s *sentences) holding(c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	switch {
	case c.Pinned || claim.Granted <= claim.Target:
		return ""
	case claim.Used > claim.Target:
		return fmt.Sprintf(s.worded("It uses %s above its limit of %s. Nothing that runs is touched: the limit in force follows usage down."),
			s.quantity(name, claim.Used-claim.Target), s.quantity(name, claim.Target))
	}
	return fmt.Sprintf(s.worded("It was granted %s, which counts until it reports the lower limit in force."), s.quantity(name, claim.Granted))
}

// lending returns the part by weight of a cluster, and what others have of that, or what it has of theirs.
func (s *sentences) lending(c *round.ChildAccount, name corev1.ResourceName) (part, lends, lent string) {
	claim := c.Claims[name]
	part = s.quantity(name, claim.Part)
	switch {
	case claim.Target > claim.Part && s.others(c, name, lendable) != "":
		lent = s.quantity(name, claim.Target-claim.Part)
	case claim.Target < claim.Part && s.others(c, name, lentTo) != "":
		lends = s.quantity(name, claim.Part-claim.Target)
	}
	return part, lends, lent
}

// lendable is what a cluster has less than its part by weight, and lentTo what it has more.
func lendable(o round.ClaimAccount) int64 { return o.Part - o.Target }
func lentTo(o round.ClaimAccount) int64   { return o.Target - o.Part }

// relation says whom a cluster lends to, or borrows from, compared with a split by weight.
func (s *sentences) relation(c *round.ChildAccount, name corev1.ResourceName) string {
	claim := c.Claims[name]
	if s.static || c.Leaving {
		return ""
	}
	switch {
	case claim.Target > claim.Part:
		lenders := s.others(c, name, lendable)
		if lenders != "" {
			return fmt.Sprintf("It has %s more than its part by weight, which is %s: lent by %s.",
				s.quantity(name, claim.Target-claim.Part), s.quantity(name, claim.Part), lenders)
		}
	case claim.Target < claim.Part:
		borrowers := s.others(c, name, lentTo)
		if borrowers != "" {
			if amount.Add(claim.Used, claim.Demand) > claim.Target {
				return fmt.Sprintf("Others have %s of its part by weight, which is %s, until their usage ends: %s.%s",
					s.quantity(name, claim.Part-claim.Target), s.quantity(name, claim.Part), borrowers, s.guarantee(name, &claim))
			}
			return fmt.Sprintf("It lends %s of its part by weight, which is %s, to %s.%s",
				s.quantity(name, claim.Part-claim.Target), s.quantity(name, claim.Part), borrowers, s.guarantee(name, &claim))
		}
	}
	return ""
}

// guarantee says what comes back of a min that is lent.
func (s *sentences) guarantee(name corev1.ResourceName, claim *round.ClaimAccount) string {
	if claim.Min <= claim.Target {
		return ""
	}
	return fmt.Sprintf(" Its min of %s comes back as it asks for it, and as usage ends elsewhere.", s.quantity(name, claim.Min))
}

// others names the other clusters of which more gives something above zero, with that.
func (s *sentences) others(
	c *round.ChildAccount, name corev1.ResourceName, more func(round.ClaimAccount) int64,
) string {
	var names []string
	for i := range s.account.Children {
		o := &s.account.Children[i]
		if value := more(o.Claims[name]); o.Name != c.Name && value > 0 && value < math.MaxInt64 {
			names = append(names, fmt.Sprintf("%s (%s)", o.Name, s.quantity(name, value)))
		}
	}
	return shares.Abbreviated(names)
}
