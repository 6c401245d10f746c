package view

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/internal/capacity"
)

// Pool is what the pool of a budget gives to it.
type Pool struct {
	Name string `json:"name"`
	// Entered says whether the budget has a part of the pool. While it has not, it gets no more than it has.
	Entered bool `json:"entered"`
	// Gives is what the budget has of the pool, and Left what the pool can hand out at once, left out if it is not known.
	Gives corev1.ResourceList `json:"gives,omitempty"`
	Left  corev1.ResourceList `json:"left,omitempty"`

	hard corev1.ResourceList
}

// PoolOf returns what the pool of a FederatedQuota gives to it, nil if it has none. The pool is nil if it cannot be read.
func PoolOf(fq *quotav1alpha1.FederatedQuota, pool *quotav1alpha1.QuotaPool, only Only) *Pool {
	if fq.Spec.Pool == nil {
		return nil
	}
	return poolOf(fq.Spec.Pool.Name, fq.Status.Pool, OwnOf(fq), pool, only)
}

// ParentOf returns what the parent of a QuotaPool gives to it, nil if it is a root.
func ParentOf(of, parent *quotav1alpha1.QuotaPool, only Only) *Pool {
	if of.Spec.Parent == "" {
		return nil
	}
	return poolOf(of.Spec.Parent, of.Status.Pool, OwnOfPool(of), parent, only)
}

func poolOf(
	name quotav1alpha1.PoolName, m *quotav1alpha1.PoolMembership, own corev1.ResourceList, pool *quotav1alpha1.QuotaPool, only Only,
) *Pool {
	p := &Pool{Name: string(name), hard: only.list(own)}
	if m != nil && m.Name == name && m.Revision > 0 {
		p.Entered, p.Gives = true, only.list(m.Cap)
	}
	if pool != nil {
		p.Left = only.list(pool.Status.Free)
	}
	return p
}

// Sentence says it for people.
func (p *Pool) Sentence() string {
	if !p.Entered {
		return p.Name + ": not entered yet: no limit is raised until it is"
	}
	var parts []string
	for _, name := range text.Names(p.Gives) {
		part := text.Amount(p.Gives, name)
		if _, limited := p.hard[name]; limited {
			part += " of " + text.Amount(p.hard, name)
		}
		part += " " + string(name)
		if _, known := p.Left[name]; known {
			part += fmt.Sprintf(" (%s left in the pool)", text.Amount(p.Left, name))
		}
		parts = append(parts, part)
	}
	return p.Name + " gives " + strings.Join(parts, ", ")
}

// PoolBudget is a QuotaPool, and who holds it.
type PoolBudget struct {
	Head `json:",inline"`

	Mode    quotav1alpha1.RebalanceMode `json:"mode"`
	Reserve corev1.ResourceList         `json:"reserve,omitempty"`
	// Parent is left out for a root.
	Parent *Pool `json:"parent,omitempty"`
	// Namespaces says whose FederatedQuotas may be in the pool.
	Namespaces string `json:"namespaces"`
	// Settled is how many of the children keep to their target, as in 2/3; left out if none is known yet.
	Settled  string  `json:"settled,omitempty"`
	Children []Child `json:"children"`
}

// Child is what a child holds of a pool.
type Child struct {
	// Name is NAMESPACE/NAME of a FederatedQuota, and NAME of a QuotaPool.
	Name      string                   `json:"name"`
	State     quotav1alpha1.ChildState `json:"state"`
	Since     *metav1.Time             `json:"since,omitempty"`
	Message   string                   `json:"message,omitempty"`
	Resources []Amounts                `json:"resources"`
}

// PoolBudgetOf returns what is to be shown of a QuotaPool.
func PoolBudgetOf(p *quotav1alpha1.QuotaPool, only Only) *PoolBudget {
	b := &PoolBudget{
		Head: Head{
			Kind: "QuotaPool", Name: p.Name, Summary: summaryOf(p.Status.Conditions, quotav1alpha1.ConditionReady),
			Resources: []Filled{}, Conditions: othersOf(p.Status.Conditions, p.Name),
			Capacity: capacityOf(p.Spec.Hard, capacity.RuleOf(p), p.Status.Capacity),
			ScaleOut: scaleOutOf(capacity.RuleOf(p), p.Status.ScaleOut),
		},
		Mode: cmp.Or(p.Spec.Rebalance.Mode, quotav1alpha1.RebalanceAuto), Reserve: p.Spec.Reserve, Namespaces: "none",
		Settled: p.Status.Settled, Children: []Child{},
	}
	if selector := p.Spec.AllowedNamespaces.Selector; selector != nil {
		if b.Namespaces = metav1.FormatLabelSelector(selector); b.Namespaces == "<none>" {
			b.Namespaces = "all"
		}
	}
	if ready := apimeta.FindStatusCondition(p.Status.Conditions, quotav1alpha1.ConditionReady); ready != nil {
		b.Outdated = ready.ObservedGeneration != p.Generation
	}
	all := sums{p.Status.Hard, p.Status.Used, p.Status.Demand, p.Status.Granted, p.Status.Free}
	if len(all.budget) == 0 {
		all.budget = p.Spec.Hard
	}
	for _, name := range only.names(all.budget) {
		b.Resources = append(b.Resources, all.filled(name))
	}
	for i := range p.Status.Children {
		b.Children = append(b.Children, childOf(&p.Status.Children[i], only))
	}
	return b
}

func childOf(c *quotav1alpha1.ChildStatus, only Only) Child {
	return Child{
		Name: childName(string(c.Key)), State: c.State, Since: c.Since, Message: cmp.Or(c.Message, c.Reason),
		Resources: amountsOf(c.Used, c.Demand, Target(c.Target, c.Granted), c.Granted, only),
	}
}
