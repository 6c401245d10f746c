package replay

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// mostMoves is how many moves are shown that were before an instant.
const mostMoves = 100

// At returns what is known of the budget at an instant, and of what its clusters had of a resource.
func (r *Reel) At(at time.Time, name corev1.ResourceName) *view.Past {
	at = at.Truncate(time.Second)
	past := &view.Past{
		At: metav1.NewTime(at), Resources: []view.PastFilled{}, Clusters: []view.PastCluster{}, Moves: []view.Moved{},
		Unlisted: slices.ContainsFunc(r.gaps, func(g gap) bool { return !at.Before(g.from) && at.Before(g.until) }),
	}
	r.fill(past, at)
	for _, cluster := range r.clusters(at, name) {
		past.Clusters = append(past.Clusters, r.cluster(Claim{cluster, name}, at))
	}
	r.move(past, at, name)
	return past
}

// fill says what was used: what was seen, or else means of the hour or day.
func (r *Reel) fill(past *view.Past, at time.Time) {
	seen, _ := slices.BinarySearchFunc(r.Samples, at.Add(time.Second).UnixMilli(), func(s view.Sample, at int64) int {
		return int(s.At - at)
	})
	if seen > 0 {
		s := r.Samples[seen-1]
		past.Basis, past.Start = view.Seen, new(metav1.NewTime(time.UnixMilli(s.At)))
		for _, l := range s.Levels {
			past.Resources = append(past.Resources, view.PastFilled{Filled: view.FilledOf(l, r.Formats)})
		}
		return
	}
	s := r.spanAt(at)
	if s == nil {
		return
	}
	past.Basis, past.Start, past.End = view.Mean, new(metav1.NewTime(s.start)), new(metav1.NewTime(s.end))
	past.UnobservedMinutes = int(math.Ceil(s.Unobserved * 60))
	for _, l := range s.levels() {
		peak := view.Rounded(l.Resource, s.Sums[l.Resource].Peak, r.Formats)
		past.Resources = append(past.Resources, view.PastFilled{Filled: view.FilledOf(l, r.Formats), Peak: peak.String()})
	}
}

// clusters returns those of which something is known of a resource, by name.
func (r *Reel) clusters(at time.Time, name corev1.ResourceName) []string {
	names := sets.New[string]()
	for of := range r.steps {
		if of.Resource == name {
			names.Insert(of.Cluster)
		}
	}
	for of := range r.Rest {
		if of.Resource == name {
			names.Insert(of.Cluster)
		}
	}
	if m := r.monthAt(at); m != nil {
		for cluster, c := range m.Clusters {
			if c.Sums[name] != nil {
				names.Insert(cluster)
			}
		}
	}
	return sets.List(names)
}

// cluster returns what a cluster had.
func (r *Reel) cluster(of Claim, at time.Time) view.PastCluster {
	c := view.PastCluster{Name: of.Cluster}
	limit, by := r.limit(of, at)
	if c.Limit = limit; by != nil {
		c.Since, c.Why = new(by.Time), history.Why(by.Why)
	}
	c.Mean, c.Peak = mean(r.monthAt(at), of, r.Formats)
	return c
}

// move says what moved before an instant, and when something moves before it and after it.
func (r *Reel) move(past *view.Past, at time.Time, name corev1.ResourceName) {
	next := passed(r.moves, at)
	for _, m := range slices.Backward(r.moves[:next]) {
		if m.Resource != name && m.Resource != "" {
			continue
		}
		if past.Earlier == nil && m.Time.Time.Before(at) {
			past.Earlier = new(m.Time)
		}
		if len(past.Moves) < mostMoves {
			past.Moves = append(past.Moves, view.Moved{Move: m, Words: history.Why(m.Why)})
		}
	}
	for _, m := range r.moves[next:] {
		if m.Resource == name || m.Resource == "" {
			past.Later = new(m.Time)
			return
		}
	}
}

// Marks returns when limits of each resource moved.
func (r *Reel) Marks() map[corev1.ResourceName][]int64 {
	marks := map[corev1.ResourceName][]int64{}
	for _, m := range r.moves {
		if m.Cluster != "" {
			marks[m.Resource] = append(marks[m.Resource], m.Time.UnixMilli())
		}
	}
	return marks
}
