package view

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
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
	p := &Pool{Name: string(fq.Spec.Pool.Name), hard: only.list(Own(fq.Spec.Hard, fq.Spec.Reserve))}
	if m := fq.Status.Pool; m != nil && m.Name == fq.Spec.Pool.Name && m.Revision > 0 {
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
