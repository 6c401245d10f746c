// Package record keeps what became of a budget over time: amounts times hours, moves of limits and changes of the spec,
// a month at a time. What is recorded in pieces adds up to what is recorded in one.
package record

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Amounts are those of one resource name at an instant, in the unit of the name. Of a cluster, Budget is its part: what
// falls to it by weight, min and max alone.
type Amounts struct{ Budget, Granted, Used, Demand int64 }

// AmountsOf returns amounts in which a grant that nobody knows counts as the whole budget.
func AmountsOf(budget, granted, used, demand int64) Amounts {
	if granted == math.MaxInt64 {
		granted = budget
	}
	return Amounts{budget, granted, used, demand}
}

// Level is what is known of a budget at an instant, and holds until more is known.
type Level struct {
	// Names are the resource names of the budget. All amounts are in their order.
	Names []corev1.ResourceName `json:"names,omitempty"`
	// Total is that of all clusters.
	Total    []Amounts `json:"total,omitempty"`
	Clusters []Holding `json:"clusters,omitempty"`
}

// Holding is what a cluster has of a budget.
type Holding struct {
	Name string `json:"name"`
	// Silent says that the cluster could not be read: this is what it said last.
	Silent  bool      `json:"silent,omitempty"`
	Amounts []Amounts `json:"amounts"`
}

// Sums are amounts times hours of one resource name, in cores, bytes or objects.
type Sums struct {
	Budget, Granted, Used, Demand float64
	// Lends is what others had of the part of the cluster, and Lent what it had beyond its part.
	Lends, Lent float64
	// Waited is for how many hours it asked for more than it had.
	Waited float64
	// Peak is the most that was used at an instant, in cores, bytes or objects.
	Peak float64
}

// Add adds what somebody else had, or the same one at another time.
func (s *Sums) Add(other *Sums) {
	s.Budget += other.Budget
	s.Granted += other.Granted
	s.Used += other.Used
	s.Demand += other.Demand
	s.Lends += other.Lends
	s.Lent += other.Lent
	s.Waited += other.Waited
	s.Peak = max(s.Peak, other.Peak)
}

// ByName are sums by resource name.
type ByName map[corev1.ResourceName]*Sums

// of returns the sums of a name, to be added to.
func (b ByName) of(name corev1.ResourceName) *Sums {
	if b[name] == nil {
		b[name] = &Sums{}
	}
	return b[name]
}

// add adds the sums of another one.
func (b ByName) add(other ByName) {
	for name, sums := range other {
		b.of(name).Add(sums)
	}
}

// Cluster is what a cluster had in a month.
type Cluster struct {
	// Unobserved is for how many hours it could not be read, or nobody looked: what it had last counts for them.
	Unobserved float64 `json:"unobserved,omitempty"`
	Sums       ByName  `json:"sums,omitempty"`
}

// Span is an hour of a month, or a day of a month that is over.
type Span struct {
	// Start is its first hour, from the beginning of the month.
	Start      int     `json:"start"`
	Unobserved float64 `json:"unobserved,omitempty"`
	Sums       ByName  `json:"sums,omitempty"`
}

// Month is what became of one budget in one month, or in a piece of one.
type Month struct {
	// From and Until say of which time, and UID of which object.
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	UID   string    `json:"uid,omitempty"`
	// Unobserved is for how many of these hours nobody looked: what was known last counts for them.
	Unobserved float64             `json:"unobserved,omitempty"`
	Total      ByName              `json:"total,omitempty"`
	Clusters   map[string]*Cluster `json:"clusters,omitempty"`
	// Spans are hours, the first one first, and days once the month is over.
	Spans []*Span `json:"spans,omitempty"`
	// Level holds from Until on; nil once the budget is gone.
	Level *Level `json:"level,omitempty"`

	Moves Moves `json:"moves,omitzero"`
	Audit Audit `json:"audit,omitzero"`
}

// StartOf returns the beginning of the month of an instant, and that of the next one. Months are those of UTC.
func StartOf(at time.Time) (start, end time.Time) {
	at = at.UTC()
	start = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	return start, start.AddDate(0, 1, 0)
}

// NewMonth returns one of which nothing is known yet.
func NewMonth(from time.Time, uid string) *Month {
	return &Month{From: from.UTC(), Until: from.UTC(), UID: uid, Total: ByName{}, Clusters: map[string]*Cluster{}}
}

// Advance has what is known hold until an instant of the same month, or its end. Observed says that somebody looked.
func (m *Month) Advance(to time.Time, observed bool) {
	to = to.UTC()
	if !to.After(m.Until) {
		return
	}
	if m.Level != nil {
		m.integrate(to, observed)
	}
	m.Until = to
}

// integrate adds what the level is from Until on.
func (m *Month) integrate(to time.Time, observed bool) {
	hours := to.Sub(m.Until).Hours()
	if !observed {
		m.Unobserved += hours
	}
	m.spread(to, observed)
	parts, units := m.Level.lent(), m.Level.units()
	for j, name := range m.Level.Names {
		m.Total.of(name).integrate(m.Level.Total[j], units[j], hours)
	}
	for i := range m.Level.Clusters {
		holding := &m.Level.Clusters[i]
		c := m.cluster(holding.Name)
		if holding.Silent || !observed {
			c.Unobserved += hours
		}
		for j, name := range m.Level.Names {
			a := holding.Amounts[j]
			sums, total := c.Sums.of(name), m.Total[name]
			lends, lent := float64(a.short())*units[j]*parts[j]*hours, float64(a.beyond())*units[j]*hours
			sums.Lends, total.Lends = sums.Lends+lends, total.Lends+lends
			sums.Lent, total.Lent = sums.Lent+lent, total.Lent+lent
			sums.integrate(a, units[j], hours)
		}
	}
}

// short returns what a cluster was granted less than its part, beyond what it was granted beyond it.
func (a Amounts) short() int64  { return max(0, a.Budget-a.Granted) }
func (a Amounts) beyond() int64 { return max(0, a.Granted-a.Budget) }

// equal says whether two levels say the same. Clusters come in the same order from round to round.
func (l *Level) equal(other *Level) bool {
	if l == nil || other == nil {
		return l == other
	}
	return slices.Equal(l.Names, other.Names) && slices.Equal(l.Total, other.Total) &&
		slices.EqualFunc(l.Clusters, other.Clusters, func(a, b Holding) bool {
			return a.Name == b.Name && a.Silent == b.Silent && slices.Equal(a.Amounts, b.Amounts)
		})
}

// units returns what a unit of each name is in cores, bytes or objects.
func (l *Level) units() []float64 {
	units := make([]float64, len(l.Names))
	for j, name := range l.Names {
		units[j] = amount.InBaseUnits(name, 1)
	}
	return units
}

// lent returns which part of what clusters have less than their part others have, by resource name. The rest is free.
func (l *Level) lent() []float64 {
	parts := make([]float64, len(l.Names))
	for j := range l.Names {
		var short, beyond float64
		for i := range l.Clusters {
			short += float64(l.Clusters[i].Amounts[j].short())
			beyond += float64(l.Clusters[i].Amounts[j].beyond())
		}
		if short > 0 {
			parts[j] = min(1, beyond/short)
		}
	}
	return parts
}

// spread adds to the hours of the month what all clusters have together.
func (m *Month) spread(to time.Time, observed bool) {
	start, _ := StartOf(m.Until)
	for at := m.Until; at.Before(to); {
		hour := int(at.Sub(start) / time.Hour)
		end := start.Add(time.Duration(hour+1) * time.Hour)
		if end.After(to) {
			end = to
		}
		span := m.span(hour)
		if !observed {
			span.Unobserved += end.Sub(at).Hours()
		}
		for j, name := range m.Level.Names {
			span.Sums.of(name).integrate(m.Level.Total[j], amount.InBaseUnits(name, 1), end.Sub(at).Hours())
		}
		at = end
	}
}

// span returns the span that begins with an hour, to be added to. Spans come in order.
func (m *Month) span(hour int) *Span {
	for i := len(m.Spans) - 1; i >= 0 && m.Spans[i].Start >= hour; i-- {
		if m.Spans[i].Start == hour {
			return m.Spans[i]
		}
	}
	m.Spans = append(m.Spans, &Span{Start: hour, Sums: ByName{}})
	return m.Spans[len(m.Spans)-1]
}

// cluster returns what a cluster had, to be added to.
func (m *Month) cluster(name string) *Cluster {
	if m.Clusters[name] == nil {
		m.Clusters[name] = &Cluster{Sums: ByName{}}
	}
	return m.Clusters[name]
}

// integrate adds amounts, which come in units, for some hours.
func (s *Sums) integrate(a Amounts, unit, hours float64) {
	s.Budget += float64(a.Budget) * unit * hours
	s.Granted += float64(a.Granted) * unit * hours
	s.Used += float64(a.Used) * unit * hours
	s.Demand += float64(a.Demand) * unit * hours
	if a.Demand > 0 {
		s.Waited += hours
	}
	s.Peak = max(s.Peak, float64(a.Used)*unit)
}
