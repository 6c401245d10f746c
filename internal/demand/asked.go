package demand

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand/shape"
)

const (
	// askedOwners is how many owners Asked tells apart, with the rest.
	askedOwners = 32
	// theRest is the key of those that it does not.
	theRest = "others"
)

// Asked returns what those need under a share of whom this book was told that a request does not fit: what other books
// may not know of. It is by their keys, and bounded: those that come last are one, but for workloads, which other books
// come to know by themselves.
func (b *Book) Asked(share *quotav1alpha1.QuotaShare, now time.Time) map[string]shape.Shape {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(share.Namespace)
	ns, known := b.namespaces[share.Namespace]
	if !known {
		return nil
	}
	asked, workloads, others := map[string]shape.Shape{}, sets.New[string](), sets.New[string]()
	for owner, need := range ns.needs(share, now, new(bool)) {
		_, refused := ns.refusals[share.Name][owner]
		if limited := need.Limited(share.Spec.Hard); refused && len(limited.Amounts) > 0 && !ns.full(owner, need.pod, now) {
			asked[owner.Key()] = limited
			if _, workload := ns.workloads[owner.UID]; workload {
				workloads.Insert(owner.Key())
			} else {
				others.Insert(owner.Key())
			}
		}
	}
	if len(asked) <= askedOwners {
		return asked
	}
	keys := append(sets.List(others), sets.List(workloads)...)
	for _, key := range keys[askedOwners-1:] {
		if others.Has(key) {
			asked[theRest] = asked[theRest].And(asked[key], budgetOf(share))
		}
		delete(asked, key)
	}
	return asked
}
