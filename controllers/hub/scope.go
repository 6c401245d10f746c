package hub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/validate"
)

// scope is one round over one FederatedQuota. newScope fills all but the members' reports, which observe adds; decide
// changes the ledger, drops members that have no part in it, and sets leftOut, uncounted and awaited.
type scope struct {
	fq  *quotav1alpha1.FederatedQuota
	now time.Time
	// members are the selected clusters and those that have an entry, by name.
	members []*member
	// byName holds the members again.
	byName map[string]*member
	// names are those of all Clusters, by UID.
	names map[string]string
	// ledger is over the budget of the spec, or over the last good one while that cannot be acted on.
	ledger *ledger.Ledger
	// problems are what makes the spec one that cannot be acted on.
	problems field.ErrorList
	// conflict says which older FederatedQuota stands in the way, or is empty.
	conflict string
	// strangers say where the spec names Clusters that do not exist.
	strangers []string
	// unread says whether no entry was ever read: the ledger is new, was lost, or was just rebuilt.
	unread bool
	// rebuilt says whether that was in this round: whom it concerns is known in the next one.
	rebuilt bool
	// lost says whether there may have been a ledger before this one, which was read by nobody; observe fills it.
	lost bool
	// unseen are the Clusters that are about to say what they hold, which a restored ledger may not know: nothing is decided on such
	// a ledger. observe fills it.
	unseen []string
	// marker is the highest revision that a marker on any Cluster notes.
	marker int64
	// before are the entries as they were stored, by cluster.
	before map[string]quotav1alpha1.ClusterStatus
	// known are the entries as the ledger had them before the round.
	known map[string]ledger.Entry
	// leftOut are the clusters that the ledger has no room for, uncounted says whether one of them may hold a share; decide sets
	// them.
	leftOut   []string
	uncounted bool
	// crowded says whether the ledger has no room for the resource names of the spec beside those that left the budget.
	crowded bool
	// awaited is how long raises wait for members to say what they use, by resource name; decide sets it.
	awaited map[corev1.ResourceName]time.Duration
	// fleet is what shares say of the whole budget; report fills it.
	fleet quotav1alpha1.Fleet
	// snapshotDue is when usage is to be stored, if only usage has changed; store sets it.
	snapshotDue time.Duration
}

func newScope(fq *quotav1alpha1.FederatedQuota, clusters []clusterv1.Cluster, siblings []quotav1alpha1.FederatedQuota, holders sets.Set[string], agents string, now time.Time) *scope {
	s := &scope{fq: fq, now: now, problems: validate.Spec(&fq.Spec), unread: true}
	s.before = make(map[string]quotav1alpha1.ClusterStatus, len(fq.Status.Clusters))
	s.known = make(map[string]ledger.Entry, len(fq.Status.Clusters))
	for _, c := range fq.Status.Clusters {
		s.before[string(c.Name)] = c
		s.unread = s.unread && c.Revision == 0
	}
	selected, missing := placed(&fq.Spec.Placement, clusters)
	if s.removing() {
		selected = nil
	}
	s.strangers = strangers(&fq.Spec, clusters, missing)
	s.conflict = conflictOf(fq, selected, clusters, siblings)
	s.problems = append(s.problems, misplaced(fq, agents)...)
	s.problems = append(s.problems, s.destroyed(selected)...)
	if len(s.problems) == 0 {
		s.problems = s.guarantees(selected)
	}
	if len(s.problems) == 0 {
		s.problems = s.tooManyNames()
		s.crowded = len(s.problems) > 0
	}
	s.ledger = ledger.FromStatus(fq.Status, s.budget())
	for _, name := range s.ledger.Clusters() {
		e, _ := s.ledger.Entry(name)
		s.known[name] = ledger.Entry{Revision: e.Revision, Target: e.Target.Clone()}
	}
	s.names = make(map[string]string, len(clusters))
	for i := range clusters {
		s.marker = max(s.marker, markerOf(&clusters[i]))
		s.names[string(clusters[i].UID)] = clusters[i].Name
	}
	s.byName = s.newMembers(selected, clusters, holders)
	s.members = slices.SortedFunc(maps.Values(s.byName), func(a, b *member) int { return strings.Compare(a.name, b.name) })
	return s
}

// budget returns what may be distributed. While the spec cannot be acted on that is what it was before.
func (s *scope) budget() amount.List {
	if len(s.problems) > 0 || s.conflict != "" {
		return amount.Saturate(s.fq.Status.Hard, amount.Down)
	}
	return s.wanted()
}

// wanted returns the budget that the spec asks for.
func (s *scope) wanted() amount.List {
	return amount.Sub(amount.Saturate(s.fq.Spec.Hard, amount.Down), amount.Saturate(s.fq.Spec.Reserve, amount.Up))
}

// newMembers returns who is selected, is in the ledger, or may hold a share all the same: after a restore of the hub a ledger does
// not know whom another one has told since, but looks at the members' stores do.
func (s *scope) newMembers(selected map[string]*clusterv1.Cluster, clusters []clusterv1.Cluster, holders sets.Set[string]) map[string]*member {
	byName := make(map[string]*member)
	for name, cluster := range selected {
		byName[name] = &member{name: name, cluster: cluster, selected: true}
	}
	for _, name := range s.ledger.Clusters() {
		if byName[name] == nil {
			byName[name] = &member{name: name}
		}
	}
	for i := range clusters {
		if name := clusters[i].Name; byName[name] == nil && (holders.Has(name) || s.mayHold(&clusters[i], len(selected) > 0)) {
			byName[name] = &member{name: name}
		}
		if m := byName[clusters[i].Name]; m != nil {
			m.cluster = &clusters[i]
		}
	}
	for _, m := range byName {
		s.identify(m)
	}
	return byName
}

// identify fills in which Cluster the entry of a member was granted to, and why there is one.
func (s *scope) identify(m *member) {
	before := s.before[m.name]
	m.suspected = !m.selected && before.Revision == 0 && before.Reason == quotav1alpha1.ReasonLedgerLost
	m.uid = before.UID
	m.replaced = m.cluster != nil && s.replaced(m.cluster)
	if m.cluster != nil && !m.replaced {
		m.uid = string(m.cluster.UID)
	}
}

// mayBeLost says whether the status is as that of a ledger which was lost or rebuilt. Any other that holds no entry that was read has a
// revision all the same, and knows whom it has told: nobody, or those who have left.
func (s *scope) mayBeLost() bool {
	if s.fq.Status.Revision == 0 {
		return true
	}
	for _, name := range s.ledger.Clusters() {
		if e, _ := s.ledger.Entry(name); e.Revision == 0 && s.ledger.Holds(name) {
			return true
		}
	}
	return false
}

// mayHold says whether a cluster that is not selected is to be read, since it may hold a share that a ledger knew which was
// lost. While nobody is to be given anything there is no need.
func (s *scope) mayHold(cluster *clusterv1.Cluster, selectsAny bool) bool {
	return s.unread && markerOf(cluster) > 0 && (s.removing() || selectsAny && !s.halted())
}

// replaced says whether the entry of this name was granted to another Cluster. One that was never written to was granted to
// none.
func (s *scope) replaced(cluster *clusterv1.Cluster) bool {
	before := s.before[cluster.Name]
	told := before.Revision > 0
	for _, granted := range before.Granted {
		told = told || granted.Sign() > 0
	}
	return told && before.UID != "" && before.UID != string(cluster.UID)
}

// halted says whether the spec cannot be acted on: the ledger goes on following reports, and nothing is decided.
func (s *scope) halted() bool {
	return s.fq.DeletionTimestamp.IsZero() && (len(s.problems) > 0 || s.conflict != "")
}

// removing says whether the FederatedQuota is being deleted.
func (s *scope) removing() bool { return !s.fq.DeletionTimestamp.IsZero() }

// removed says whether every member has confirmed what removal asks for.
func (s *scope) removed() bool {
	return s.removing() && len(s.unseen) == 0 && len(s.ledger.Clusters()) == 0
}

// needsLive says whether the share of a cluster is to be read from its API server: what an entry is founded on, or ended
// by, does not come from a cache.
func (s *scope) needsLive(cluster string) bool {
	e, ok := s.ledger.Entry(cluster)
	return !ok || e.Revision == 0 || !s.byName[cluster].selected
}

// misplaced checks that the budget is not for the namespace of the agents: the first limit in each member is zero, which an agent
// whose pod has to be created then cannot raise.
func misplaced(fq *quotav1alpha1.FederatedQuota, agents string) field.ErrorList {
	if fq.Namespace != agents {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "namespace"), fq.Namespace,
		"the agents run in this namespace of every cluster, and a limit there could keep them from starting: use another namespace")}
}

// destroyed checks that no cluster is both selected and said to be destroyed, unless it has the name of one that is.
func (s *scope) destroyed(selected map[string]*clusterv1.Cluster) field.ErrorList {
	var problems field.ErrorList
	for i, name := range s.fq.Spec.Removal.Destroyed {
		if cluster := selected[string(name)]; cluster != nil && !s.replaced(cluster) {
			problems = append(problems, field.Invalid(field.NewPath("spec", "removal", "destroyed").Index(i), name,
				"the placement selects this Cluster: a cluster that still runs must not be given up"))
		}
	}
	return problems
}

// guarantees checks that no selected cluster has a min above its max, and that all min fit into the budget.
func (s *scope) guarantees(selected map[string]*clusterv1.Cluster) field.ErrorList {
	sum, who, problems := amount.List{}, map[corev1.ResourceName][]string{}, field.ErrorList{}
	for _, cluster := range slices.Sorted(maps.Keys(selected)) {
		t := terms(&s.fq.Spec.Distribution, selected[cluster])
		for _, name := range t.min.Names() {
			if value := t.min[name]; value > 0 {
				sum[name] = amount.Add(sum[name], value)
				who[name] = append(who[name], cluster)
			}
			if most, bounded := t.max[name]; bounded && t.min[name] > most && len(problems) < namesLimit {
				problems = append(problems, s.excessive(name, t.min[name], most, "the rules give cluster %s more than its max: must be at most %s", cluster))
			}
		}
	}
	budget := s.wanted()
	for _, name := range sum.Names() {
		if sum[name] > budget[name] {
			problems = append(problems, s.excessive(name, sum[name], budget[name],
				"the min of clusters %s add up to more than the budget: must be at most %s in all", abbreviated(who[name])))
		}
	}
	return problems
}

// mostNames is how many resource names the schema of the status has room for in what is granted to a cluster: those of a
// budget, and those of the one before.
const mostNames = 64

// tooManyNames checks that the ledger has room for the names of the budget beside those that left it and are granted still.
func (s *scope) tooManyNames() field.ErrorList {
	wanted := s.wanted()
	for _, c := range s.fq.Status.Clusters {
		names := maps.Clone(wanted)
		for name := range c.Granted {
			names[name] = 0
		}
		if len(names) > mostNames {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "hard"), len(wanted), fmt.Sprintf(
				"cluster %s may still enforce names of earlier budgets: with these it would have %d names, and at most %d have room in status: keep to those of status.hard until it has confirmed",
				c.Name, len(names), mostNames))}
		}
	}
	return nil
}

// excessive says of which clusters the min is above what it may be; format takes the clusters and the limit.
func (s *scope) excessive(name corev1.ResourceName, value, limit int64, format, clusters string) *field.Error {
	like := like(s.fq)[name].Format
	is, most := amount.ToQuantity(name, value, like), amount.ToQuantity(name, limit, like)
	return field.Invalid(field.NewPath("spec", "distribution", "rules").Child("min").Key(string(name)), is.String(), fmt.Sprintf(format, clusters, most.String()))
}

// strangers returns where the spec names Clusters that do not exist. They are no reason to halt: the others go on.
func strangers(spec *quotav1alpha1.FederatedQuotaSpec, clusters []clusterv1.Cluster, missing []string) []string {
	var found []string
	if len(missing) > 0 {
		found = append(found, "spec.placement.clusters: "+abbreviated(missing))
	}
	for i, rule := range spec.Distribution.Rules {
		var unknown []string
		for _, name := range rule.Clusters {
			if !slices.ContainsFunc(clusters, func(c clusterv1.Cluster) bool { return c.Name == string(name) }) {
				unknown = append(unknown, string(name))
			}
		}
		if len(unknown) > 0 {
			found = append(found, fmt.Sprintf("spec.distribution.rules[%d].clusters: %s", i, abbreviated(unknown)))
		}
	}
	return found
}

// conflictOf returns which older FederatedQuota of the namespace covers the same scope in one of the selected clusters.
func conflictOf(fq *quotav1alpha1.FederatedQuota, selected map[string]*clusterv1.Cluster, clusters []clusterv1.Cluster, siblings []quotav1alpha1.FederatedQuota) string {
	for i := range siblings {
		other := &siblings[i]
		if other.Name == fq.Name || !older(other, fq) || !sameScope(&other.Spec, &fq.Spec) {
			continue
		}
		theirs, _ := placed(&other.Spec.Placement, clusters)
		var shared []string
		for _, name := range slices.Sorted(maps.Keys(selected)) {
			if theirs[name] != nil {
				shared = append(shared, name)
			}
		}
		if len(shared) > 0 {
			return fmt.Sprintf("FederatedQuota %s/%s is older and covers the same scope in clusters %s: merge spec.hard into it, or make placement or scopes of the two disjoint",
				other.Namespace, other.Name, abbreviated(shared))
		}
	}
	return ""
}

func older(a, b *quotav1alpha1.FederatedQuota) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// sameScope says whether two specs count the same objects, however they are written.
func sameScope(a, b *quotav1alpha1.FederatedQuotaSpec) bool {
	return requirements(a).Equal(requirements(b))
}

// requirements returns what objects have to match. A scope is short for one that exists.
func requirements(spec *quotav1alpha1.FederatedQuotaSpec) sets.Set[string] {
	set := sets.New[string]()
	add := func(scope corev1.ResourceQuotaScope, operator corev1.ScopeSelectorOperator, values []string) {
		set.Insert(fmt.Sprintf("%s %s %q", scope, operator, sets.List(sets.New(values...))))
	}
	for _, scope := range spec.Scopes {
		add(scope, corev1.ScopeSelectorOpExists, nil)
	}
	if spec.ScopeSelector != nil {
		for _, r := range spec.ScopeSelector.MatchExpressions {
			add(r.ScopeName, r.Operator, r.Values)
		}
	}
	return set
}
