package demand

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand/habit"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
)

// follow notes a request of the owner that did not fit, and begins to follow its kind. What workloads lack is known.
func (ns *namespace) follow(share string, owner Owner, pod *signature.Signature, asked amount.List, now time.Time) {
	if _, workload := ns.workloads[owner.UID]; workload {
		return
	}
	if ns.habits[share] == nil {
		ns.habits[share] = habit.Habits{}
	}
	ns.habits[share].Follow(asked, pod, now)
}

// habitOf is that of the requests of an owner, nil if there is none.
func (ns *namespace) habitOf(share string, owner Owner, asked amount.List) *habit.Habit {
	if _, workload := ns.workloads[owner.UID]; workload || len(ns.habits[share]) == 0 {
		return nil
	}
	return ns.habits[share].Of(asked)
}

// Expected returns what the next request is expected to ask for, of those that were refused again and again and go on:
// of each resource as much as the largest of them.
func (b *Book) Expected(share *quotav1alpha1.QuotaShare, now time.Time) amount.List {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	habits := ns.habits[share.Name]
	expected := habits.Expected(now, func(pod *signature.Signature) bool { return !ns.full(Owner{}, pod, now) })
	if len(habits) == 0 {
		delete(ns.habits, share.Name)
	}
	if expected == nil {
		return nil
	}
	return shape.Shape{Amounts: expected}.Limited(share.Spec.Hard).Amounts
}

// followed says whether requests of any kind are followed that are for the share. Every request that fits asks this.
func (b *Book) followed(share types.NamespacedName) bool {
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[share.Namespace]
	return known && len(ns.habits[share.Name]) > 0
}
