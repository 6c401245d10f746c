package demand

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// SetLimitRange notes what a LimitRange gives to containers now, and says whether that changes anything.
func (b *Book) SetLimitRange(namespace, name string, gives nativequota.Defaults) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	ns := b.namespace(namespace)
	ns.limitRanges[name] = gives
	return ns.setDefaults()
}

// DeleteLimitRange strikes out a LimitRange, and says whether that changes anything.
func (b *Book) DeleteLimitRange(namespace, name string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.tidy(namespace)
	ns := b.namespace(namespace)
	delete(ns.limitRanges, name)
	return ns.setDefaults()
}

// setDefaults brings the pods of all workloads up to date. If the defaults have changed, what was asked for by the old
// ones counts no more, and room may help that did not.
func (ns *namespace) setDefaults() bool {
	var defaults nativequota.Defaults
	for _, gives := range ns.limitRanges {
		defaults = defaults.Max(gives)
	}
	if equality.Semantic.DeepEqual(defaults, ns.defaults) {
		return false
	}
	ns.defaults = defaults
	for _, w := range ns.workloads {
		w.pod, w.asked, w.room = defaults.To(w.Template), nil, nil
	}
	return true
}
