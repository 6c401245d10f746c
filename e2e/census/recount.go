package census

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Recount is what exists, counted object by object, against the budget. Each member is counted consistently, but the
// members one after another: it is exact when nothing is created or deleted meanwhile.
type Recount struct {
	At        time.Time
	Resources []Resource
	// Uncounted is the names of the budget for which this package does not know, or some member does not serve, what
	// is charged.
	Uncounted []corev1.ResourceName
}

// Resource is what exists of one resource name, in its unit.
type Resource struct {
	Name corev1.ResourceName
	// Exists is the sum over members of what exists; Members are its parts.
	Exists  resource.Quantity
	Members map[string]resource.Quantity
	// Recorded is the sum over members of status.used in the last version seen, Overcharged the part of it that native
	// quota let rise above the limits in force.
	Recorded    resource.Quantity
	Overcharged resource.Quantity
	Budget      resource.Quantity
	// Ceiling is what may exist while an earlier, larger budget drains: never below the budget.
	Ceiling resource.Quantity
	// Over is by how much what exists is above the ceiling and what native quota overcharged. What it let through and
	// has not counted yet is part of it.
	Over resource.Quantity
}

// Over returns the names of which more exists than is allowed, with the amount.
func (r Recount) Over() corev1.ResourceList {
	over := corev1.ResourceList{}
	for _, res := range r.Resources {
		if res.Over.Sign() > 0 {
			over[res.Name] = res.Over
		}
	}
	return over
}

// add adds what exists in a member.
func (r *Recount) add(member string, counted corev1.ResourceList) {
	for i := range r.Resources {
		res := &r.Resources[i]
		if amount, ok := counted[res.Name]; ok {
			res.Exists.Add(amount)
			res.Members[member] = amount
		}
	}
}

// finish compares with what native quota says and with what is allowed, and takes out what no member could count.
func (r *Recount) finish(used, overcharged corev1.ResourceList) {
	var counted []Resource
	for _, res := range r.Resources {
		if len(res.Members) == 0 {
			r.Uncounted = append(r.Uncounted, res.Name)
			continue
		}
		res.Recorded, res.Overcharged = used[res.Name], overcharged[res.Name]
		over := res.Exists.DeepCopy()
		over.Sub(res.Ceiling)
		over.Sub(res.Overcharged)
		if over.Sign() > 0 {
			res.Over = over
		}
		counted = append(counted, res)
	}
	r.At, r.Resources = time.Now(), counted
}
