package view

import (
	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/round"
)

// Explanation says why the limits of a budget are what they are.
type Explanation struct {
	// Kind is left out for a FederatedQuota.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Hints say what could not be read, and what is taken instead.
	Hints []string `json:"hints,omitempty"`
	// Halted and HaltedReason say why the spec cannot be acted on.
	Halted       string `json:"halted,omitempty"`
	HaltedReason string `json:"haltedReason,omitempty"`
	// Pool is what the pool of the budget gives to it, left out for a budget without one. Climb says what binds it in the
	// pools above, from the budget to the root, for each resource of which more is asked for than it has.
	Pool  *Pool   `json:"pool,omitempty"`
	Climb []Climb `json:"climb,omitempty"`
	// Unseen says that no hub manager has acted on the budget yet, so there is nothing to explain.
	Unseen    bool                `json:"unseen,omitempty"`
	Resources []ExplainedResource `json:"resources"`
}

// ExplainedResource explains the limits of one resource name. Demand is left out where it is zero.
type ExplainedResource struct {
	Resource corev1.ResourceName `json:"resource"`
	Used     string              `json:"used"`
	Demand   string              `json:"demand,omitempty"`
	Budget   string              `json:"budget"`
	// Free is what can be granted at once. Debt is what is granted above the budget, and Unknown if a cluster that was not
	// read may hold anything. One of them is left out.
	Free   string           `json:"free,omitempty"`
	Debt   string           `json:"debt,omitempty"`
	Limits []ExplainedLimit `json:"limits"`
}

// ExplainedLimit explains the limit of one cluster, or the target of one child of a pool.
type ExplainedLimit struct {
	Cluster string                     `json:"cluster,omitempty"`
	Child   string                     `json:"child,omitempty"`
	State   quotav1alpha1.ClusterState `json:"state"`
	Limit   string                     `json:"limit"`
	Used    string                     `json:"used"`
	Demand  string                     `json:"demand,omitempty"`
	// Part is what falls to it by weight, min and max alone. Lends is what others have of that, at most, and Lent what it has
	// beyond it.
	Part  string `json:"part,omitempty"`
	Lends string `json:"lends,omitempty"`
	Lent  string `json:"lent,omitempty"`
	// Reason is why the limit shall be what it is, and Bound what keeps it from being another one.
	Reason allocate.Reason `json:"reason,omitempty"`
	Bound  round.Bound     `json:"bound,omitempty"`
	// Sentences say it in words.
	Sentences []string `json:"sentences"`
}
