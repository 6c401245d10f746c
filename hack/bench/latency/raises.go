package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	// budget is what the two of a kind share, in thousandths of a CPU.
	budget = 1_000_000
	// step is by how much a request exceeds the limit where the hub shall raise it out of what is free.
	step = 100
)

// seat is where requests come: a member, and a namespace that has a FederatedQuota over it.
type seat struct{ namespace, member string }

// raises are requests of one kind that did not fit.
type raises struct {
	Name     string  `json:"name"`
	Requests int     `json:"requests"`
	Refused  int     `json:"refused"`
	Stages   []stage `json:"stages"`

	// seats are who asks and who gives; where a donor is needed they change places each time. pool is the QuotaPool that
	// their FederatedQuotas are in, or empty: then both are of one FederatedQuota.
	seats [2]seat
	donor bool
	pool  string
	took  map[string][]time.Duration
	// rested is how long it took until all was at rest before requests.
	rested time.Duration
}

// stage says when something was seen after the request was made, in milliseconds.
type stage struct {
	What string `json:"what"`
	P50  float64
	P99  float64
}

// inForce is the stage in which the limit is raised.
func (r *raises) inForce() stage {
	for _, s := range r.Stages {
		if s.What == stageInForce {
			return s
		}
	}
	return stage{}
}

// The stages, in the order of the table.
const (
	stageDemand     = "the member's share states the demand"
	stageAsked      = "the budget in the pool states it"
	stagePoolTaken  = "the pool takes from the donor"
	stageTaken      = "the donor's share is lowered"
	stageLowered    = "the donor's limit is lowered"
	stageReturned   = "the donor's share reports it"
	stageBack       = "the donor's budget has it back"
	stagePoolGrants = "the pool grants it"
	stageLedger     = "the ledger grants it"
	stageShare      = "the member's share is raised"
	stageInForce    = "the raised limit is in force"
	stageAnswer     = "the request is answered"
)

var stages = []string{
	stageDemand, stageAsked, stagePoolTaken, stageTaken, stageLowered, stageReturned, stageBack, stagePoolGrants,
	stageLedger, stageShare, stageInForce, stageAnswer,
}

// kindsOfRaises are what is measured: out of what is free and with a donor, in one budget and in a pool.
func kindsOfRaises() []*raises {
	return []*raises{
		{Name: "out of free budget", seats: [2]seat{{"one-free", east}, {"one-free", west}}},
		{Name: "with a donor", seats: [2]seat{{"one-donor", east}, {"one-donor", west}}, donor: true},
		{
			Name: "out of what is free in the pool", pool: "free",
			seats: [2]seat{{"pool-free-a", east}, {"pool-free-b", west}},
		},
		{
			Name: "with a donor in another namespace", pool: "donor", donor: true,
			seats: [2]seat{{"pool-donor-a", east}, {"pool-donor-b", west}},
		},
	}
}

// measureRaises measures requests of all kinds, in turn, so that what else the machine does concerns all alike.
func measureRaises(ctx context.Context, r *rig.Rig, requests int) ([]*raises, error) {
	all := kindsOfRaises()
	watches, err := prepare(ctx, r, all)
	if err != nil {
		return nil, err
	}
	defer watches.stop()
	for n := range requests {
		if err := requestEach(ctx, r, watches, all, n); err != nil {
			return nil, err
		}
	}
	for _, kind := range all {
		for _, what := range stages {
			if times := kind.took[what]; len(times) > 0 {
				kind.Stages = append(
					kind.Stages, stage{what, rig.Millis(rig.Percentile(times, 50)), rig.Millis(rig.Percentile(times, 99))},
				)
			}
		}
	}
	return all, nil
}

// prepare makes the budgets of kinds, and begins to watch. The caller stops that.
func prepare(ctx context.Context, r *rig.Rig, kinds []*raises) (*watches, error) {
	for _, kind := range kinds {
		kind.took = map[string][]time.Duration{}
		if err := kind.share(ctx, r); err != nil {
			return nil, err
		}
	}
	return watchAll(ctx, r, []string{east, west})
}

// requestEach makes the nth request of each kind.
func requestEach(ctx context.Context, r *rig.Rig, watches *watches, kinds []*raises, n int) error {
	for _, kind := range kinds {
		b := bench{Rig: r, raises: kind, watches: watches, asks: kind.seats[0], gives: kind.seats[1]}
		if kind.donor {
			b.asks, b.gives = kind.seats[n%2], kind.seats[1-n%2]
		}
		if err := b.request(ctx, fmt.Sprintf("pod-%d", n)); err != nil {
			return fmt.Errorf("%s, request %d: %w", kind.Name, n, err)
		}
	}
	return nil
}

// share makes the budgets of a kind.
func (r *raises) share(ctx context.Context, fleet *rig.Rig) error {
	hold := quotav1alpha1.Admission{WaitMilliseconds: new(int32(2000))}
	if r.pool == "" {
		return fleet.Share(ctx, r.seats[0].namespace, cpus(budget).String(), []string{east, west}, hold)
	}
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: r.pool}}
	pool.Spec.Hard = corev1.ResourceList{rig.CPU: *cpus(budget)}
	pool.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{}
	if err := fleet.HubClient.Create(ctx, pool); err != nil {
		return err
	}
	for _, s := range r.seats {
		err := fleet.Share(ctx, s.namespace, cpus(budget).String(), []string{s.member}, hold, rig.In(r.pool, s.member))
		if err != nil {
			return err
		}
	}
	return nil
}

// bench makes one request that does not fit.
type bench struct {
	*rig.Rig
	*raises

	watches     *watches
	asks, gives seat
}

// request makes the request when all is at rest, and adds when which stage was seen. Refused requests count for no
// stage.
func (b *bench) request(ctx context.Context, name string) error {
	var rest state
	waits := time.Now()
	err := rig.Until(ctx, "all to be at rest", func(context.Context) (bool, error) {
		rest = b.watches.now()
		return rest.atRest(b.seats, b.pool), nil
	})
	if err != nil {
		return err
	}
	b.rested += time.Since(waits)
	parts := rest.parts(b.seats, b.pool)
	size := parts[b.asks] + step
	if b.donor {
		size = budget - parts[b.gives]/10 // more than is free beside the donor's part
	}
	free := budget - parts[b.asks] - parts[b.gives]
	if enough := free >= size-parts[b.asks]; enough == b.donor {
		return fmt.Errorf("%d free for a request of %d by %v, with %+v", free, size, b.asks, parts)
	}
	pod := rig.Pod(b.asks.namespace, name, cpus(size).String())
	began := time.Now()
	err = b.Clients[b.asks.member].Create(ctx, pod)
	answered := time.Now()
	b.Requests++
	if apierrors.IsForbidden(err) {
		b.Refused++
		return nil
	}
	if err != nil {
		return err
	}
	seen, err := b.watches.since(ctx, began, b.stagesOf(began, size))
	if err != nil {
		return err
	}
	seen[stageAnswer] = answered
	for what, at := range seen {
		b.took[what] = append(b.took[what], at.Sub(began))
	}
	return client.IgnoreNotFound(b.Clients[b.asks.member].Delete(ctx, pod))
}

// stagesOf says when each stage of a request is reached.
func (b *bench) stagesOf(began time.Time, size int64) map[string]func(*state) bool {
	before := b.watches.before(began)
	asks, gives := b.asks, b.gives
	reached := map[string]func(*state) bool{
		stageDemand:  func(s *state) bool { return s.seats[asks].demand > 0 },
		stageLedger:  func(s *state) bool { return s.seats[asks].granted >= size },
		stageShare:   func(s *state) bool { return s.seats[asks].told >= size },
		stageInForce: func(s *state) bool { return s.seats[asks].hard >= size },
	}
	if b.donor {
		had := before.seats[gives].hard
		reached[stageTaken] = func(s *state) bool { return s.seats[gives].told < had }
		reached[stageLowered] = func(s *state) bool { return s.seats[gives].hard < had }
		reached[stageReturned] = func(s *state) bool { return s.seats[gives].reported >= 0 && s.seats[gives].reported < had }
	}
	if b.pool != "" {
		reached[stageAsked] = func(s *state) bool { return s.quotas[asks.namespace].demand > 0 }
		reached[stagePoolGrants] = func(s *state) bool { return s.quotas[asks.namespace].granted >= size }
	}
	if b.pool != "" && b.donor {
		quota, had := before.quotas[gives.namespace], before.seats[gives].granted
		reached[stagePoolTaken] = func(s *state) bool { return s.quotas[gives.namespace].target < quota.target }
		reached[stageBack] = func(s *state) bool { return s.seats[gives].granted < had }
	}
	return reached
}

func cpus(milli int64) *resource.Quantity {
	return resource.NewMilliQuantity(milli, resource.DecimalSI)
}
