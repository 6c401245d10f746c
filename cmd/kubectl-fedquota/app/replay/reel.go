// Package replay says what a budget was at an instant in the past: which limit each cluster had, and how much was used.
// It goes by records, by events, and by what somebody has seen, and leaves out what nobody knows.
package replay

import (
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// Claim is one of a cluster on a resource name.
type Claim struct {
	Cluster  string
	Resource corev1.ResourceName
}

// Known is all that is known of the past of a budget.
type Known struct {
	// Months are records, the first one first.
	Months []records.Record
	// Told are moves that events tell of, and ToldSince is from when on they tell of all.
	Told      []view.Move
	ToldSince time.Time
	// Samples are what was seen, the first one first.
	Samples []view.Sample
	// Rest are limits of now that are at rest, and Now is when that was.
	Rest map[Claim]string
	Now  time.Time
	// Formats are those of the budget.
	Formats corev1.ResourceList
}

// Reel is the past of a budget, in order, to the second.
type Reel struct {
	Known

	// moves are all that are listed, and steps those of each limit.
	moves []view.Move
	steps map[Claim][]view.Move
	// gaps are times of which not all moves are listed.
	gaps []gap
}

// gap is a time of which not all moves are listed.
type gap struct{ from, until time.Time }

// New returns the past of a budget.
func New(known Known) *Reel {
	r := &Reel{Known: known, steps: map[Claim][]view.Move{}}
	recorded := r.recorded()
	for _, m := range r.Told {
		if m.Time.After(recorded) {
			r.moves = append(r.moves, m)
		}
	}
	if recorded.Before(r.ToldSince) {
		r.gaps = append(r.gaps, gap{recorded, r.ToldSince})
	}
	for i := range r.moves {
		r.moves[i].Time = metav1.NewTime(r.moves[i].Time.Truncate(time.Second))
	}
	slices.SortStableFunc(r.moves, func(a, b view.Move) int { return a.Time.Compare(b.Time.Time) })
	for _, m := range r.moves {
		if m.Cluster != "" {
			of := Claim{m.Cluster, m.Resource}
			r.steps[of] = append(r.steps[of], m)
		}
	}
	return r
}

// recorded takes the moves of records, and returns until when these go.
func (r *Reel) recorded() (until time.Time) {
	for _, m := range r.Months {
		moves := history.Recorded(m.Month)
		r.moves = append(r.moves, moves...)
		if len(m.Moves.Earlier) > 0 && len(m.Moves.List) > 0 {
			r.gaps = append(r.gaps, gap{m.From, m.Moves.List[0].Time.Truncate(time.Second)})
		}
		until = m.Until
	}
	return until
}

// From returns since when something is known.
func (r *Reel) From() time.Time {
	from := r.Now
	if len(r.Months) > 0 {
		from = r.Months[0].From
	}
	if len(r.moves) > 0 {
		from = first(from, r.moves[0].Time.Time)
	}
	if len(r.Samples) > 0 {
		from = first(from, time.UnixMilli(r.Samples[0].At))
	}
	return from
}

// first returns the instant that comes before the other one.
func first(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// complete says whether all moves between two instants are listed.
func (r *Reel) complete(from, until time.Time) bool {
	return !slices.ContainsFunc(r.gaps, func(g gap) bool { return g.from.Before(until) && from.Before(g.until) })
}

// passed returns how many moves there were until an instant.
func passed(moves []view.Move, at time.Time) int {
	return sort.Search(len(moves), func(i int) bool { return moves[i].Time.After(at) })
}

// equal says whether two amounts are the same: the format of a budget may have changed between them.
func equal(a, b string) bool {
	before, err := resource.ParseQuantity(a)
	after, other := resource.ParseQuantity(b)
	return err == nil && other == nil && before.Cmp(after) == 0
}

// limit returns which limit a cluster had at an instant, "" if that is not known, and the move by which it came to it,
// nil if that is not listed. The move before tells it, and the one after, or what it is now where there is none. If
// they differ, there was a move between them that is not listed.
func (r *Reel) limit(of Claim, at time.Time) (string, *view.Move) {
	steps := r.steps[of]
	next := passed(steps, at)
	before, after := "", ""
	if next > 0 && r.complete(steps[next-1].Time.Time, at) {
		before = steps[next-1].To
	}
	switch {
	case next == len(steps) && r.complete(at, r.Now):
		after = r.Rest[of]
	case next < len(steps) && r.complete(at, steps[next].Time.Time):
		after = steps[next].From
	}
	switch {
	case before == "":
		return after, nil
	case after == "", equal(before, after):
		return before, &steps[next-1]
	}
	return "", nil
}
