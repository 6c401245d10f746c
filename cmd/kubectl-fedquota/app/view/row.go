package view

import (
	"cmp"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// Row is a budget, a pool or a share in a list.
type Row struct {
	*Head `json:",inline"`

	// Full is how full the tightest resource is, as a part of its budget, negative if there is none.
	Full float64 `json:"full"`
	// Tightest is left out where no resource has a budget.
	Tightest *Filled `json:"tightest,omitempty"`
	// Settled and Mode are those of a budget, and Revision that of a share: the one in force, and the one that the hub wants.
	Settled  string `json:"settled,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// RowOf returns the row of a FederatedQuota, a QuotaPool or a QuotaShare.
func RowOf(object client.Object) *Row {
	r := &Row{Full: -1}
	switch object := object.(type) {
	case *quotav1alpha1.FederatedQuota:
		b := BudgetOf(object, Only{})
		r.Head, r.Settled, r.Mode = &b.Head, b.Settled, string(b.Mode)
	case *quotav1alpha1.QuotaPool:
		b := PoolBudgetOf(object, Only{})
		r.Head, r.Settled, r.Mode = &b.Head, b.Settled, string(b.Mode)
	case *quotav1alpha1.QuotaShare:
		s := ShareOf(object, Only{})
		r.Head, r.Revision = &s.Head, fmt.Sprintf("%d/%d", s.InForce, s.Revision)
	}
	limited := r.Limited()
	for i := range limited {
		if limited[i].Ratio() > r.Full {
			r.Tightest, r.Full = &limited[i], limited[i].Ratio()
		}
	}
	return r
}

// CompareRows puts the fullest first, and those of one fill by name.
func CompareRows(a, b *Row) int {
	return cmp.Or(cmp.Compare(b.Full, a.Full), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
