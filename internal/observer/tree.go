package observer

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// Place is one ResourceQuota in one member.
type Place struct {
	// Config is how to reach the member. Rate limits in it are ignored.
	Config          *rest.Config
	Namespace, Name string
	// Scopes and ScopeSelector are those of the FederatedQuota: a recount counts what matches them.
	Scopes        []corev1.ResourceQuotaScope
	ScopeSelector *corev1.ScopeSelector
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
func (l *Level) judge(start time.Time) *judge {
	j := newJudge(l.Places, l.Budget, start)
	j.epochs = j.epochs.withGranted(l.Granted, start)
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
