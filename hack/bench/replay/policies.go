package main

import (
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/pace"
)

// The names of the policies.
const (
	pooled       = "pooled"
	static       = "static"
	periodic     = "rounds every 5 s"
	asynchronous = "rounds and events"
	held         = "held requests"
	heldInTree   = "held requests, in pools"
	inOrder      = "pooled, in the order of arrival"
	slow         = "held requests, 8 times as slow"
)

// policies are those that are compared. Every allocation by demand is the product's, with the product's options.
func (k knobs) policies() []simulate.Policy {
	return []simulate.Policy{
		{Name: pooled, Pooled: true},
		{Name: static, Static: true},
		k.rounds(periodic, 5*time.Second),
		k.asynchronous(),
		k.held(),
	}
}

// rounds is an allocation by demand that looks only now and then.
func (k knobs) rounds(name string, every time.Duration) simulate.Policy {
	return simulate.Policy{
		Name:     name,
		Every:    every,
		Respites: pace.RespiteTimes{Idle: k.Respite, Asking: k.Asking},
		Damp:     pace.Damping,
		Options:  allocate.Options{HeadroomPercent: k.Headroom},
	}
}

// asynchronous is the product without the webhook's wait.
func (k knobs) asynchronous() simulate.Policy {
	p := k.rounds(asynchronous, 5*time.Second)
	p.Events = true
	return p
}

// held is the product. Who has no headroom waits a moment and is not refused, so that headroom can come later.
func (k knobs) held() simulate.Policy {
	p := k.asynchronous()
	p.Name = held
	p.Hold = k.Hold
	p.Damp = k.Damp
	p.Options.ReservePercent = k.Reserve
	return p
}

// heldInTree is the product with three teams of four namespaces each below a root.
func (k knobs) heldInTree() simulate.Policy {
	p := k.held()
	p.Name = heldInTree
	p.Tree = []int{3, 4}
	return p
}

// inOrder is one quota over all clusters with the webhook's wait: those who wait are served before those who come.
func (k knobs) inOrder() simulate.Policy {
	return simulate.Policy{Name: inOrder, Pooled: true, Hold: k.Hold}
}
