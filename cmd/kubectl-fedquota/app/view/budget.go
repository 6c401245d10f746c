package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/internal/capacity"
)

// Head is what a FederatedQuota and a QuotaShare have in common.
type Head struct {
	// Kind is FederatedQuota, QuotaShare or QuotaPool.
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes,omitempty"`
	// Summary is the condition Ready of a budget, and Enforced of a share. It is left out while nobody has acted on the
	// object, and Outdated if it is of an earlier spec.
	Summary  *Condition `json:"summary,omitempty"`
	Outdated bool       `json:"outdated,omitempty"`
	// Capacity says what the budget is made from, where it follows the nodes of clusters.
	Capacity string `json:"capacity,omitempty"`
	// ScaleOut says what is done to add nodes, where the budget asks for that.
	ScaleOut *ScaleOut `json:"scaleOut,omitempty"`
	// Resources are what is used of each name.
	Resources  []Filled    `json:"resources"`
	Conditions []Condition `json:"conditions,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	// EventsHidden says why there are no events to show.
	EventsHidden string `json:"eventsHidden,omitempty"`
}

// Ready returns the status of the summary, Unknown if there is none.
func (h *Head) Ready() metav1.ConditionStatus {
	if h.Summary == nil {
		return metav1.ConditionUnknown
	}
	return h.Summary.Status
}

// Limited returns the amounts of the names that have a budget: a share that is not in force yet has none.
func (h *Head) Limited() []Filled {
	return slices.DeleteFunc(slices.Clone(h.Resources), func(f Filled) bool { return f.Budget == "" })
}

// Budget is a FederatedQuota, and who holds it.
type Budget struct {
	Head `json:",inline"`

	Mode quotav1alpha1.RebalanceMode `json:"mode"`
	// WaitMilliseconds is for how long a request that does not fit waits for a raise, left out if none waits.
	WaitMilliseconds *int32              `json:"waitMilliseconds,omitempty"`
	Reserve          corev1.ResourceList `json:"reserve,omitempty"`
	// Pool is left out for a budget without one.
	Pool      *Pool  `json:"pool,omitempty"`
	Placement string `json:"placement"`
	// Settled is how many of the selected clusters enforce their target, as in 2/3; left out if none is known yet.
	Settled  string    `json:"settled,omitempty"`
	Clusters []Cluster `json:"clusters"`
}

// Cluster is what one cluster holds of a budget.
type Cluster struct {
	Name    string                     `json:"name"`
	State   quotav1alpha1.ClusterState `json:"state"`
	Since   *metav1.Time               `json:"since,omitempty"`
	Message string                     `json:"message,omitempty"`
	// Unscheduled is what is used without a node.
	Unscheduled corev1.ResourceList `json:"unscheduled,omitempty"`
	Resources   []Amounts           `json:"resources"`
}

// Share is a QuotaShare: the part of a budget that a member enforces. The target of a name is the limit that the hub
// wants, and its budget the limit in force.
type Share struct {
	Head `json:",inline"`

	// Revision is the one that the hub wants, and InForce the one in force, 0 if none is.
	Revision    int64               `json:"revision"`
	InForce     int64               `json:"inForce"`
	Unscheduled corev1.ResourceList `json:"unscheduled,omitempty"`
	// Fleet is what all clusters use together and may use, and Waiting those that ask for more than they have: as the hub
	// told last.
	Fleet   []Filled                    `json:"fleet,omitempty"`
	Waiting []quotav1alpha1.ClusterName `json:"waiting,omitempty"`
}

// capacityOf says what a budget is made from that follows the nodes of clusters; nothing of one that does not.
func capacityOf(hard corev1.ResourceList, rule *quotav1alpha1.Capacity, found *quotav1alpha1.CapacityStatus) string {
	switch {
	case rule == nil:
		return ""
	case found == nil:
		return "no node was looked at yet"
	}
	most := capacity.Most(hard, rule, found).ToList(hard)
	return fmt.Sprintf("at most %s: %d%% of what %s can run", text.Join(most), ptr.Deref(rule.Percent, 100), found.Summary)
}

// BudgetOf returns what is to be shown of a FederatedQuota.
func BudgetOf(fq *quotav1alpha1.FederatedQuota, only Only) *Budget {
	b := &Budget{
		Head: Head{
			Kind: "FederatedQuota", Namespace: fq.Namespace, Name: fq.Name, Scopes: scopesOf(fq.Spec.Scopes, fq.Spec.ScopeSelector),
			Summary: summaryOf(fq.Status.Conditions, quotav1alpha1.ConditionReady), Resources: []Filled{},
			Conditions: othersOf(fq.Status.Conditions, fq.Name),
			Capacity:   capacityOf(fq.Spec.Hard, fq.Spec.Capacity, fq.Status.Capacity),
			ScaleOut:   scaleOutOf(fq.Spec.Capacity, fq.Status.ScaleOut),
		},
		Mode: cmp.Or(fq.Spec.Rebalance.Mode, quotav1alpha1.RebalanceAuto), Reserve: fq.Spec.Reserve, Placement: placementOf(&fq.Spec.Placement),
		Settled: fq.Status.Settled, Clusters: []Cluster{},
	}
	if ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady); ready != nil {
		b.Outdated = ready.ObservedGeneration != fq.Generation
	}
	if b.Mode != quotav1alpha1.RebalanceStatic && fq.Spec.Admission.Mode != quotav1alpha1.AdmissionOff {
		b.WaitMilliseconds = new(ptr.Deref(fq.Spec.Admission.WaitMilliseconds, 500))
	}
	all := sums{Hard(fq), fq.Status.Used, fq.Status.Demand, fq.Status.Granted, fq.Status.Free}
	for _, name := range only.names(all.budget) {
		b.Resources = append(b.Resources, all.filled(name))
	}
	for i := range fq.Status.Clusters {
		if c := &fq.Status.Clusters[i]; only.Cluster == "" || only.Cluster == string(c.Name) {
			b.Clusters = append(b.Clusters, clusterOf(c, only))
		}
	}
	return b
}

// Hard returns what may be distributed, or what is asked for while nothing was yet.
func Hard(fq *quotav1alpha1.FederatedQuota) corev1.ResourceList {
	if len(fq.Status.Hard) == 0 {
		return fq.Spec.Hard
	}
	return fq.Status.Hard
}

// sums are those of a budget, over all who hold a part of it.
type sums struct{ budget, used, demand, granted, free corev1.ResourceList }

// filled returns what is used and granted of a name in a budget.
func (s sums) filled(name corev1.ResourceName) Filled {
	f := filledOf(name, s.used, s.demand, s.budget)
	f.Granted, f.GrantedPercent = AmountOf(s.granted, name), text.Percent(s.granted, s.budget, name)
	switch f.Debt = debtOf(s.granted, s.budget, name); {
	case f.Granted == Unknown:
		f.Free = Unknown
	case f.Debt == "":
		f.Free = AmountOf(s.free, name)
	}
	return f
}

// debtOf returns what is granted of a name beyond a budget, "" if nothing is, or nobody knows.
func debtOf(granted, budget corev1.ResourceList, name corev1.ResourceName) string {
	debt := granted[name].DeepCopy() // a copy of a large Quantity shares its digits
	if debt.Sub(budget[name]); debt.Sign() <= 0 || AmountOf(granted, name) == Unknown {
		return ""
	}
	return debt.String()
}

func clusterOf(c *quotav1alpha1.ClusterStatus, only Only) Cluster {
	return Cluster{
		Name: string(c.Name), State: c.State, Since: c.Since, Message: cmp.Or(c.Message, c.Reason), Unscheduled: only.list(c.Unscheduled),
		Resources: amountsOf(c.Used, c.Demand, Target(c.Target, c.Granted), c.Granted, only),
	}
}

// EntryOf returns what the ledger of a budget has of a cluster, nil if it has nothing.
func EntryOf(fq *quotav1alpha1.FederatedQuota, cluster string) *quotav1alpha1.ClusterStatus {
	for i := range fq.Status.Clusters {
		if string(fq.Status.Clusters[i].Name) == cluster {
			return &fq.Status.Clusters[i]
		}
	}
	return nil
}

// Target returns the target of an entry: it is left out of a ledger while it equals what is granted.
func Target(target, granted corev1.ResourceList) corev1.ResourceList {
	if target == nil {
		return granted
	}
	return target
}

// amountsOf returns what an entry of a ledger says of each name.
func amountsOf(used, demand, target, granted corev1.ResourceList, only Only) []Amounts {
	amounts := []Amounts{}
	for _, name := range only.names(granted, target) {
		amounts = append(amounts, Amounts{
			Resource: name, Used: AmountOf(used, name), Demand: someOf(demand, name), Target: AmountOf(target, name), Granted: AmountOf(granted, name),
		})
	}
	return amounts
}

// ShareOf returns what is to be shown of a QuotaShare.
func ShareOf(share *quotav1alpha1.QuotaShare, only Only) *Share {
	status, fleet := &share.Status, &share.Spec.Fleet
	s := &Share{
		Head: Head{
			Kind: "QuotaShare", Namespace: share.Namespace, Name: share.Name, Scopes: scopesOf(share.Spec.Scopes, share.Spec.ScopeSelector),
			Summary: summaryOf(status.Conditions, quotav1alpha1.ConditionEnforced), Resources: []Filled{},
			Conditions: othersOf(status.Conditions, share.Name),
		},
		Revision: share.Spec.Revision, InForce: status.Revision, Unscheduled: only.list(status.Unscheduled),
	}
	s.Outdated = s.Summary != nil && status.ObservedGeneration != share.Generation
	for _, name := range only.names(status.Hard, share.Spec.Hard) {
		f := filledOf(name, status.Used, status.Demand, status.Hard)
		f.Target = AmountOf(share.Spec.Hard, name)
		s.Resources = append(s.Resources, f)
	}
	for _, name := range only.names(fleet.Budget) {
		s.Fleet = append(s.Fleet, filledOf(name, fleet.Used, nil, fleet.Budget))
	}
	if len(s.Fleet) > 0 {
		s.Waiting = fleet.Waiting
	}
	return s
}

func placementOf(p *quotav1alpha1.Placement) string {
	var parts []string
	if p.ClusterSelector != nil {
		selector := metav1.FormatLabelSelector(p.ClusterSelector)
		if selector == "<none>" {
			selector = "all"
		}
		parts = append(parts, "Clusters "+selector)
	}
	if len(p.Clusters) > 0 {
		parts = append(parts, "Clusters named "+Listed(p.Clusters))
	}
	return strings.Join(parts, ", and ")
}

// Listed returns words with commas between them.
func Listed[S ~string](words []S) string {
	plain := make([]string, len(words))
	for i, word := range words {
		plain[i] = string(word)
	}
	return strings.Join(plain, ", ")
}

// Line is one resource name of one budget.
type Line struct {
	Namespace string                 `json:"namespace,omitempty"`
	Name      string                 `json:"name"`
	Ready     metav1.ConditionStatus `json:"ready"`
	Filled    `json:",inline"`
	// RaisesPerMinute is how many limits went up, and RefusedPerMinute how many requests were refused at least: left out if
	// nobody watched or could be asked.
	RaisesPerMinute  *float64 `json:"raisesPerMinute,omitempty"`
	RefusedPerMinute *float64 `json:"refusedPerMinute,omitempty"`
}
