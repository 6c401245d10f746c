// Package input turns the objects of a budget into the plain values that a round is decided on. The hub manager decides
// on them, and kubectl fedquota plan says beforehand what the hub manager would decide.
package input

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
	"github.com/fedquota/fedquota/internal/validate"
)

// Surroundings are what a round knows beside the FederatedQuota itself.
type Surroundings struct {
	Clusters []members.Cluster
	// Destroyed names further Clusters: those that are said to be destroyed.
	Destroyed sets.Set[string]
	// Nodes are what agents have reported of the nodes of clusters, by cluster.
	Nodes map[string]*quotav1alpha1.ClusterCapacity
	// Siblings are the FederatedQuotas of the namespace.
	Siblings []quotav1alpha1.FederatedQuota
	// Holders are the clusters in which a look has found a share, and Expected those that are about to say what they hold.
	Holders, Expected sets.Set[string]
	// Agents is the namespace of the agents in members.
	Agents string
	// Epoch is that of the round.
	Epoch int64
	// Fresh says that no member was told anything of the budget yet.
	Fresh bool
	// Membership is what the FederatedQuota is to its pool in this round, nil for what is stored, and PoolTrouble why it
	// is in none that it names.
	Membership  *pool.Membership
	PoolTrouble string
	// Restored says that the ledger is to be rebuilt, since another one of its tree was put back.
	Restored bool
}

// membership returns what the FederatedQuota is to its pool.
func (s *Surroundings) membership(fq *quotav1alpha1.FederatedQuota) pool.Membership {
	if s.Membership != nil {
		return *s.Membership
	}
	return pool.MembershipOf(fq.Status.Pool)
}

// Of returns what a round over a FederatedQuota knows before it reads any member.
func Of(fq *quotav1alpha1.FederatedQuota, around *Surroundings) *shares.Input {
	selected, missing := Placed(fq, around.Clusters)
	if !fq.DeletionTimestamp.IsZero() {
		selected = nil
	}
	member, spec := around.membership(fq), &fq.Spec
	halted := haltedBy(fq, selected, around)
	waiting := membership.Waiting(membership.PoolOf(fq), member, around.PoolTrouble)
	lagging := membership.Lagging(member, around.PoolTrouble)
	if halted.Reason == "" && waiting != "" {
		halted = shares.Obstacle{Reason: quotav1alpha1.ReasonPoolPending, Message: waiting}
	}
	budget := capped(fq, member, budgetOf(fq, halted))
	in := &shares.Input{
		ID:           string(fq.UID),
		Key:          fq.Namespace + "/" + fq.Name,
		Budget:       budget,
		Bounded:      round.BoundedBy(budget, Wanted(fq), stated(spec)),
		Reach:        reachOf(fq, member),
		Formats:      spec.Hard,
		Revision:     fq.Status.Revision,
		SpecRevision: specRevisionOf(fq),
		Epoch:        around.Epoch,
		Fresh:        around.Fresh,
		Restored:     around.Restored || fq.Status.Revision == 0 && fq.Status.Restored > 0,
		Ready:        wasReady(fq),
		Halted:       halted,
		Lagging:      lagging,
		Removing:     !fq.DeletionTimestamp.IsZero(),
		Split:        splitOf(spec),
		Admission:    spec.Admission,
		Existing:     spec.ExistingQuotas,
		Scattered:    ptr.Deref(spec.Placement.WhereNamespaceExists, false),
		Strangers:    strangers(spec, around.Clusters, missing),
		OutOfScope:   outOfScope(spec, member),
		Expected:     sets.List(around.Expected),
	}
	for _, c := range childrenOf(fq, selected, around) {
		in.Children = append(in.Children, *c)
	}
	return in
}

// budgetOf returns what may be distributed. While the spec cannot be acted on that is what it was before.
func budgetOf(fq *quotav1alpha1.FederatedQuota, halted shares.Obstacle) amount.List {
	if halted != (shares.Obstacle{}) {
		return amount.Saturate(fq.Status.Hard, amount.Down)
	}
	return Wanted(fq)
}

// capped returns what the pool lets be distributed of a budget, of the names that the scopes count. Where the spec
// cannot be acted on, limits stay as they are, and yet within that.
func capped(fq *quotav1alpha1.FederatedQuota, member pool.Membership, budget amount.List) amount.List {
	if member.Cap == nil {
		return budget
	}
	counted := func(name corev1.ResourceName) bool { return validate.InScope(&fq.Spec, name) }
	return membership.Capped(member, budget, counted)
}

// outOfScope returns the names that the pool limits, and of which the scopes count nothing.
func outOfScope(spec *quotav1alpha1.FederatedQuotaSpec, member pool.Membership) []string {
	var names []string
	for _, name := range member.Cap.Names() {
		if !validate.InScope(spec, name) {
			names = append(names, string(name))
		}
	}
	return names
}

// reachOf returns what the budget may come to be without a change of the spec, as its pool gives more or less of it,
// and nodes are added for what is asked for; nil where neither is so. A name that it does not have is not bounded.
func reachOf(fq *quotav1alpha1.FederatedQuota, member pool.Membership) amount.List {
	switch {
	case fq.Spec.Capacity != nil && fq.Spec.Capacity.ScaleOut != nil:
		return stated(&fq.Spec)
	case member.Stands():
		return Wanted(fq)
	}
	return nil
}

// Wanted returns the budget that a FederatedQuota asks for, where it follows the nodes as they were told of last.
func Wanted(fq *quotav1alpha1.FederatedQuota) amount.List {
	return capacity.Budget(fq.Spec.Hard, fq.Spec.Reserve, fq.Spec.Capacity, fq.Status.Capacity)
}

// stated returns the budget of a spec that no node bounds.
func stated(spec *quotav1alpha1.FederatedQuotaSpec) amount.List {
	return capacity.Budget(spec.Hard, spec.Reserve, nil, nil)
}

// wasReady says whether the last stored round has found every cluster to enforce a share of the present spec.
func wasReady(fq *quotav1alpha1.FederatedQuota) bool {
	ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == fq.Generation
}

// specRevisionOf returns the first revision that may have been decided on the present spec, 0 while nothing was.
func specRevisionOf(fq *quotav1alpha1.FederatedQuota) int64 {
	if fq.Status.ObservedGeneration != fq.Generation {
		return 0
	}
	return fq.Status.SpecRevision
}

// holds says whether requests that do not fit may wait for a raise.
func holds(spec *quotav1alpha1.FederatedQuotaSpec) bool {
	return spec.Rebalance.Mode != quotav1alpha1.RebalanceStatic && spec.Admission.Mode != quotav1alpha1.AdmissionOff
}

// splitOf returns how a budget is split.
func splitOf(spec *quotav1alpha1.FederatedQuotaSpec) round.Split {
	split := round.Split{
		Static:  spec.Rebalance.Mode == quotav1alpha1.RebalanceStatic,
		Options: pace.Options(holds(spec)), Respites: pace.Respites(),
		Grains: amount.Saturate(spec.Distribution.Granularity, amount.Down),
	}
	if percent := spec.Rebalance.HeadroomPercent; percent != nil {
		split.Options.HeadroomPercent = int64(*percent)
	}
	return split
}

// Damping returns the least time between two moves of a limit for headroom alone.
func Damping(spec *quotav1alpha1.FederatedQuotaSpec) time.Duration {
	if seconds := spec.Rebalance.DampingSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return pace.DampingOf(holds(spec))
}

// childrenOf returns all Clusters, and all that have an entry, by name.
func childrenOf(
	fq *quotav1alpha1.FederatedQuota, selected map[string]*members.Cluster, around *Surroundings,
) []*shares.Child {
	byName, names := make(map[string]*shares.Child, len(around.Clusters)), Wanted(fq).Names()
	for i := range around.Clusters {
		cluster := &around.Clusters[i]
		byName[cluster.Name] = &shares.Child{
			Name: cluster.Name, UID: string(cluster.UID),
			Marker: members.MarkerOf(cluster.Cluster), Holds: around.Holders.Has(cluster.Name),
		}
	}
	for name, cluster := range selected {
		byName[name].Selected, byName[name].Terms = true, terms(&fq.Spec.Distribution, cluster)
		followNodes(byName[name], &fq.Spec, names, around.Nodes[name])
	}
	for i := range fq.Status.Clusters {
		name := string(fq.Status.Clusters[i].Name)
		if byName[name] == nil {
			byName[name] = &shares.Child{Name: name}
		}
		byName[name].Entry = Entry(&fq.Status.Clusters[i])
	}
	children := make([]*shares.Child, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c := byName[name]
		c.Destroyed = around.Destroyed.Has(name) ||
			slices.Contains(fq.Spec.Removal.Destroyed, quotav1alpha1.ClusterName(name))
		children = append(children, c)
	}
	return children
}

// followNodes notes what the nodes of a cluster say of a child under these names.
func followNodes(
	c *shares.Child, spec *quotav1alpha1.FederatedQuotaSpec, names []corev1.ResourceName,
	report *quotav1alpha1.ClusterCapacity,
) {
	c.Room = capacity.Room(names, report)
	if len(c.Room) > 0 && spec.Rebalance.Mode != quotav1alpha1.RebalanceStatic {
		c.Growth, c.MostAllocatable = capacity.Growth(report)
	}
	if spec.Distribution.Weights == quotav1alpha1.WeightsCapacity {
		c.Terms.Weights = capacity.Weights(names, report)
	}
}

// Entry returns what was stored of a cluster.
func Entry(c *quotav1alpha1.ClusterStatus) *shares.Entry {
	return &shares.Entry{
		Entry: ledger.EntryOf(c.Revision, c.Granted, c.Target),
		UID:   c.UID, State: c.State, Reason: c.Reason, Removal: c.Removal,
		Used: amount.Saturate(c.Used, amount.Up), Demand: amount.Saturate(c.Demand, amount.Up),
	}
}

// keptBy returns the finalizers of others that keep a deleted share when the agent is done with it.
func keptBy(share *quotav1alpha1.QuotaShare) []string {
	if share.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(share, quotav1alpha1.Finalizer) {
		return nil
	}
	return share.Finalizers
}

// Share returns what a share says. A share that was told something of removal that no agent understands was told
// nothing.
func Share(share *quotav1alpha1.QuotaShare, fq *quotav1alpha1.FederatedQuota) *shares.Share {
	counts := &quotav1alpha1.FederatedQuotaSpec{Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}
	removal := share.Annotations[quotav1alpha1.RemovalAnnotation]
	s := &shares.Share{
		Owner:    share.Annotations[quotav1alpha1.ClusterAnnotation],
		Revision: share.Spec.Revision, Hard: amount.Saturate(share.Spec.Hard, amount.Up),
		Admission: share.Spec.Admission, Existing: share.Spec.ExistingQuotas, Fleet: fleetOf(&share.Spec.Fleet),
		MostAllocatable: amount.Saturate(share.Spec.MostAllocatable, amount.Down),
		OtherScope:      !SameScope(counts, &fq.Spec),
		Deleting:        !share.DeletionTimestamp.IsZero(), ToldRemoval: removal != "", KeptBy: keptBy(share),
		Report:  ledger.ReportOf(share.Status.Revision, share.Status.Hard, share.Status.Used),
		Behind:  share.Status.ObservedGeneration != share.Generation,
		Pinging: share.Status.Ping > share.Spec.Pong,
		Said:    Said(share.Status.Conditions),

		Demand:      amount.Saturate(share.Status.Demand, amount.Up),
		Expected:    amount.Saturate(share.Status.Expected, amount.Up),
		Replacing:   amount.Saturate(share.Status.Replacing, amount.Up),
		Unscheduled: amount.Saturate(share.Status.Unscheduled, amount.Up),
	}
	switch policy := quotav1alpha1.RemovalPolicy(removal); policy {
	case quotav1alpha1.RemovalRetain, quotav1alpha1.RemovalDelete:
		s.Removal = policy
	}
	if found := share.Status.ExistingQuota; found != nil {
		hard, used := amount.Saturate(found.Hard, amount.Up), amount.Saturate(found.Used, amount.Up)
		s.Found = &shares.Found{UID: found.UID, Hard: hard, Used: used}
	}
	if told := share.Spec.TakeOver; told != nil {
		s.TakeOver = &shares.TakeOver{UID: told.UID, Hard: amount.Saturate(told.Hard, amount.Down)}
	}
	for _, shape := range share.Status.DemandByShape {
		s.Shapes = append(s.Shapes, round.Shape{
			Amounts: amount.Saturate(shape.Amounts, amount.Up), Unit: amount.Saturate(shape.Unit, amount.Up),
		})
	}
	return s
}

func fleetOf(fleet *quotav1alpha1.Fleet) shares.Fleet {
	f := shares.Fleet{Budget: amount.Saturate(fleet.Budget, amount.Down), Used: amount.Saturate(fleet.Used, amount.Up)}
	for _, name := range fleet.Waiting {
		f.Waiting = append(f.Waiting, string(name))
	}
	return f
}

// Orphan returns what the ResourceQuota tells that enforced a share of a FederatedQuota, which is gone, or that an
// agent was about to take over for one. It returns nil if it enforces none: an agent that lets a share go as it was
// told releases its ResourceQuota before.
func Orphan(
	quota *corev1.ResourceQuota, fq *quotav1alpha1.FederatedQuota, forged func(revision int64) bool,
) *ledger.Share {
	counts := &quotav1alpha1.FederatedQuotaSpec{Scopes: quota.Spec.Scopes, ScopeSelector: quota.Spec.ScopeSelector}
	held := nativequota.IsManaged(quota) || nativequota.ToBeTakenOver(quota)
	if !held || !quota.DeletionTimestamp.IsZero() || !SameScope(counts, &fq.Spec) {
		return nil
	}
	revision := nativequota.Revision(quota)
	if forged(revision) {
		revision = 0
	}
	return &ledger.Share{InForce: revision}
}
