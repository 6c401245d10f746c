// Package view holds what commands show as plain values, of which text and -o json|yaml are made alike. Quantities are as
// people write them: one that nobody knows is "unknown", and one that is not there is left out.
package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// Unknown is a quantity that nobody knows.
const Unknown = "unknown"

// Only says what is to be shown: all, or one cluster and one resource name.
type Only struct {
	Cluster  string
	Resource corev1.ResourceName
}

// names returns those of the lists that are to be shown.
func (o Only) names(lists ...corev1.ResourceList) []corev1.ResourceName {
	return slices.DeleteFunc(text.Names(lists...), func(name corev1.ResourceName) bool { return o.Resource != "" && name != o.Resource })
}

// list returns what is to be shown of a list, nil if that is nothing.
func (o Only) list(all corev1.ResourceList) corev1.ResourceList {
	var some corev1.ResourceList
	for _, name := range o.names(all) {
		if some == nil {
			some = corev1.ResourceList{}
		}
		some[name] = all[name]
	}
	return some
}

// Amounts are the quantities of one resource name. Demand is left out where it is zero.
type Amounts struct {
	Resource corev1.ResourceName `json:"resource"`
	Used     string              `json:"used,omitempty"`
	Demand   string              `json:"demand,omitempty"`
	Target   string              `json:"target,omitempty"`
	Granted  string              `json:"granted,omitempty"`
}

// Filled are amounts in a budget, or in a part of one.
type Filled struct {
	Amounts `json:",inline"`

	// Budget is what may be used.
	Budget string `json:"budget,omitempty"`
	// Free is what can be granted at once, and Debt what is granted above the budget.
	Free string `json:"free,omitempty"`
	Debt string `json:"debt,omitempty"`
	// UsedPercent and GrantedPercent are parts of the budget. Of nothing, something is 100.
	UsedPercent    int `json:"usedPercent"`
	GrantedPercent int `json:"grantedPercent,omitempty"`

	ratio float64
}

// Ratio returns what is used as a part of the budget.
func (f *Filled) Ratio() float64 { return f.ratio }

// AmountOf returns the quantity of a name, "" if it is not there.
func AmountOf(list corev1.ResourceList, name corev1.ResourceName) string {
	if _, there := list[name]; !there {
		return ""
	}
	return text.Amount(list, name)
}

// someOf returns the quantity of a name, "" if it is zero.
func someOf(list corev1.ResourceList, name corev1.ResourceName) string {
	if quantity := list[name]; quantity.IsZero() {
		return ""
	}
	return text.Amount(list, name)
}

// filledOf returns what is used and asked for of a name in a budget.
func filledOf(name corev1.ResourceName, used, demand, budget corev1.ResourceList) Filled {
	u, b := used[name], budget[name]
	return Filled{
		Amounts: Amounts{Resource: name, Used: AmountOf(used, name), Demand: someOf(demand, name)},
		Budget:  AmountOf(budget, name), UsedPercent: text.Percent(used, budget, name),
		ratio: u.AsApproximateFloat64() / max(b.AsApproximateFloat64(), 1e-3),
	}
}

// scopesOf returns what is counted, nil if that is everything.
func scopesOf(scopes []corev1.ResourceQuotaScope, selector *corev1.ScopeSelector) []string {
	var parts []string
	for _, scope := range scopes {
		parts = append(parts, string(scope))
	}
	if selector != nil {
		for _, r := range selector.MatchExpressions {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.ScopeName, r.Operator, strings.Join(r.Values, ","))))
		}
	}
	return parts
}
