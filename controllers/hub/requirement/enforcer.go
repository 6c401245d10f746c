// Package requirement has members enforce QuotaRequirements, and says which of them do.
package requirement

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/requirement"
	"github.com/fedquota/fedquota/internal/validate"
)

// Enforcer keeps one policy in each member, which enforces all QuotaRequirements that select its Cluster. It removes
// the policy where none does, also where nobody remembers that it is there.
type Enforcer struct {
	*applied.Controller

	// AgentNamespace is where the agents run in members.
	AgentNamespace string
}

// NewEnforcer has a controller enforce QuotaRequirements. Its Wake is told of each Cluster of which something new is
// known.
func NewEnforcer(c *applied.Controller, agentNamespace string) *Enforcer {
	e := &Enforcer{Controller: c, AgentNamespace: agentNamespace}
	c.Source = e
	return e
}

// FieldOwner implements applied.Source.
func (e *Enforcer) FieldOwner() string { return "fedquota-requirement" }

// News implements applied.Source.
func (e *Enforcer) News(before, after applied.State) bool { return !before.Same(&after) }

// Flaw implements applied.Source.
func (e *Enforcer) Flaw(context.Context, client.Client) (string, error) { return "", nil }

// Wanted implements applied.Source: a policy that is made of all QuotaRequirements which select the member.
func (e *Enforcer) Wanted(ctx context.Context, cluster members.Cluster) (*applied.Wanted, error) {
	selecting, err := e.selecting(ctx, cluster.Cluster)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured // what is bound comes first
	for _, object := range []client.Object{requirement.Policy(selecting, e.AgentNamespace), requirement.Binding()} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		delete(content, "status") // is the API server's
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	wanted := &applied.Wanted{Whole: true, From: make(map[types.UID]int64, len(selecting))}
	for i := range selecting {
		wanted.From[selecting[i].UID] = selecting[i].Generation
	}
	if len(selecting) > 0 {
		wanted.Objects = objects
	} else {
		slices.Reverse(objects)
		wanted.Absent = objects
	}
	return wanted, nil
}

// selecting returns the QuotaRequirements that select a Cluster, by name.
func (e *Enforcer) selecting(
	ctx context.Context, cluster *clusterv1.Cluster,
) ([]quotav1alpha1.QuotaRequirement, error) {
	var list quotav1alpha1.QuotaRequirementList
	if err := e.List(ctx, &list); err != nil {
		return nil, err
	}
	list.Items = slices.DeleteFunc(
		list.Items, func(r quotav1alpha1.QuotaRequirement) bool { return !selects(&r, cluster) },
	)
	slices.SortFunc(list.Items, func(a, b quotav1alpha1.QuotaRequirement) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// selects says whether a Cluster is to enforce a QuotaRequirement.
func selects(r *quotav1alpha1.QuotaRequirement, cluster *clusterv1.Cluster) bool {
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.ClusterSelector)
	return err == nil && invalid(r) == nil && r.DeletionTimestamp.IsZero() && cluster.DeletionTimestamp.IsZero() &&
		selector.Matches(labels.Set(cluster.Labels))
}

// invalid says why a spec cannot be acted on. The schema and a webhook refuse most of what is wrong.
func invalid(r *quotav1alpha1.QuotaRequirement) error {
	return validate.Requirement(&r.Spec).ToAggregate()
}
