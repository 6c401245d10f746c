package web

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	// mostSamples and mostMoves are how many of a budget are remembered: of moves the latest ones, and of samples some since
	// the beginning, the older the fewer.
	mostSamples = 600
	mostMoves   = 1000
	// fine is how far samples are apart at least.
	fine = time.Second
)

// memory remembers what a source has seen of each budget. It lives as long as the command.
type memory struct {
	clock   clock.PassiveClock
	started time.Time

	mutex sync.Mutex
	of    map[client.ObjectKey]*past
}

// past is what was seen of a budget.
type past struct {
	samples []view.Sample
	moves   []moved
	// since is when a cluster was first seen to ask for a resource name beyond what it has.
	since map[claim]metav1.Time
}

// claim is one of a cluster on a resource name.
type claim struct {
	cluster  string
	resource corev1.ResourceName
}

// moved is a move that was heard of.
type moved struct {
	view.Moved

	// Key tells it from others.
	Key string `json:"-"`
}

func newMemory(clock clock.PassiveClock) *memory {
	return &memory{clock: clock, started: clock.Now(), of: map[client.ObjectKey]*past{}}
}

// past returns what is remembered of a budget. Who calls it has locked the memory.
func (r *memory) past(key client.ObjectKey) *past {
	if r.of[key] == nil {
		r.of[key] = &past{since: map[claim]metav1.Time{}}
	}
	return r.of[key]
}

// see remembers what a FederatedQuota is now.
func (r *memory) see(object client.Object) {
	fq := object.(*quotav1alpha1.FederatedQuota)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p, now := r.past(client.ObjectKeyFromObject(fq)), r.clock.Now()
	p.wait(fq, metav1.NewTime(now))
	s := view.Sample{At: now.UnixMilli(), Levels: levelsOf(fq)}
	switch last := len(p.samples) - 1; {
	case last < 0 || now.Sub(time.UnixMilli(p.samples[last].At)) >= fine:
		p.samples = append(p.samples, s)
	default:
		p.samples[last].Levels = s.Levels
	}
	if len(p.samples) > mostSamples {
		p.samples = thinned(p.samples)
	}
}

// thinned returns every other sample, with the first one and the last one. What is thinned again and again is the thinner
// the older it is.
func thinned(samples []view.Sample) []view.Sample {
	last := len(samples) - 1
	var some []view.Sample
	for i := range samples {
		if i%2 == 0 || i == last {
			some = append(some, samples[i])
		}
	}
	return some
}

// levelsOf returns what a FederatedQuota is now.
func levelsOf(fq *quotav1alpha1.FederatedQuota) []view.SampleLevel {
	var levels []view.SampleLevel
	for _, f := range view.BudgetOf(fq, view.Only{}).Resources {
		number := func(list corev1.ResourceList) float64 {
			q := list[f.Resource]
			return q.AsApproximateFloat64()
		}
		l := view.SampleLevel{
			Resource: f.Resource, Used: number(fq.Status.Used), Demand: number(fq.Status.Demand), Budget: number(view.Hard(fq)),
		}
		if f.Granted != view.Unknown {
			l.Granted = new(number(fq.Status.Granted))
		}
		levels = append(levels, l)
	}
	return levels
}

// wait remembers since when clusters ask for more than they have.
func (p *past) wait(fq *quotav1alpha1.FederatedQuota, now metav1.Time) {
	since := map[claim]metav1.Time{}
	for i := range fq.Status.Clusters {
		c := &fq.Status.Clusters[i]
		for name, demand := range c.Demand {
			if demand.Sign() <= 0 {
				continue
			}
			key := claim{string(c.Name), name}
			since[key] = now
			if before, known := p.since[key]; known {
				since[key] = before
			}
		}
	}
	p.since = since
}

// hear remembers what an event of a FederatedQuota tells of.
func (r *memory) hear(object client.Object) {
	e := object.(*corev1.Event)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.past(client.ObjectKey{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name})
	key := string(e.UID) + "/" + e.ResourceVersion
	if slices.ContainsFunc(p.moves, func(m moved) bool { return m.Key == key }) {
		return // it was listed again
	}
	for _, m := range history.MovesOf(e) {
		p.moves = append(p.moves, moved{view.Moved{Move: m, Words: history.Why(m.Why)}, key})
	}
	slices.SortStableFunc(p.moves, func(a, b moved) int { return a.Time.Compare(b.Time.Time) })
	p.moves = p.moves[max(0, len(p.moves)-mostMoves):]
}

// recall returns what is remembered of a budget.
func (r *memory) recall(key client.ObjectKey) past {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.past(key)
	return past{samples: slices.Clone(p.samples), moves: slices.Clone(p.moves), since: p.since}
}
