package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Document is a plan as scripts read it.
type Document struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Changes says whether a limit would change.
	Changes bool `json:"changes"`
	// Halted says why the hub manager would not act on the spec.
	Halted string `json:"halted,omitempty"`
	// Conditions are those once limits have come to rest.
	Conditions []metav1.Condition `json:"conditions"`
	Limits     []Limit            `json:"limits"`
	Hints      []string           `json:"hints,omitempty"`
}

// Limit is one limit in a plan.
type Limit struct {
	Cluster  string              `json:"cluster"`
	Resource corev1.ResourceName `json:"resource"`
	Used     resource.Quantity   `json:"used"`
	Demand   resource.Quantity   `json:"demand"`
	// Before is the target now, Planned the one at rest, and Finally the one once usage above targets has ended.
	Before  resource.Quantity `json:"before"`
	Planned resource.Quantity `json:"planned"`
	Finally resource.Quantity `json:"finally"`
	Note    string            `json:"note,omitempty"`
}

// encode prints the plan for scripts.
func (o *Options) encode(p *plan) error {
	document := Document{
		Namespace: p.wanted.Namespace, Name: p.wanted.Name, Changes: p.changes(), Halted: p.halted.Message,
		Conditions: p.decision.Conditions(), Limits: []Limit{}, Hints: p.hints,
	}
	for _, l := range p.lines() {
		quantity := func(value int64) resource.Quantity {
			return amount.ToQuantity(l.name, value, p.wanted.Spec.Hard[l.name].Format)
		}
		document.Limits = append(document.Limits, Limit{
			Cluster: l.cluster, Resource: l.name, Used: quantity(l.used), Demand: quantity(l.demand),
			Before: quantity(l.before), Planned: quantity(l.after), Finally: quantity(l.finally), Note: l.note,
		})
	}
	return o.output.Print(o.env.Out, document, nil)
}
