package observer

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/quantity"
)

// Version is what a member has from an instant on, until the next version of it arrives.
type Version struct {
	Member  string
	Arrived time.Time
	// Hard is in force, and Used is charged.
	Hard, Used corev1.ResourceList
}

// Held returns max(Hard, Used).
func (v Version) Held(name corev1.ResourceName) resource.Quantity {
	return quantity.Larger(v.Hard[name], v.Used[name])
}

// Place is one ResourceQuota in one member.
type Place struct {
	// Config is how to reach the member. Rate limits in it are ignored.
	Config          *rest.Config
	Namespace, Name string
	// Scopes and ScopeSelector are those of the FederatedQuota: a recount counts what matches them.
	Scopes        []corev1.ResourceQuotaScope
	ScopeSelector *corev1.ScopeSelector
}

// Places returns those that are watched, by name.
func (o *Observer) Places() map[string]Place {
	o.mu.Lock()
	defer o.mu.Unlock()
	places := make(map[string]Place, len(o.clients))
	for name, c := range o.clients {
		places[name] = c.Place
	}
	return places
}

// Level is a budget of some of the places, such as that of a pool below another one.
type Level struct {
	Name string
	// Budget is what may be in force over its places, per resource name. Other names are not added up.
	Budget corev1.ResourceList
	// Granted is what its ledger had granted when the watch began: what is above the budget of that is debt.
	Granted corev1.ResourceList
	// Places are the names of its places.
	Places []string
}

// judge returns the judge of a level.
func (l *Level) judge(start time.Time) *judge.Judge {
	j := judge.New(l.Places, l.Budget, start)
	j.SetGranted(l.Granted, start, start)
	return j
}

// places are the ResourceQuotas to watch.
func (o *Options) places() map[string]Place {
	if o.Places != nil {
		return o.Places
	}
	places := make(map[string]Place, len(o.Members))
	for name, config := range o.Members {
		places[name] = Place{
			Config: config, Namespace: o.Namespace, Name: o.Name, Scopes: o.Scopes, ScopeSelector: o.ScopeSelector,
		}
	}
	return places
}
