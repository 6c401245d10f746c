package replay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/record"
)

// span is an hour or a day of a record, as far as it is recorded.
type span struct {
	*record.Span

	start, end time.Time
}

// spansOf returns the spans of a month, in order. Each ends where the next one begins, or what is recorded. An hour
// lasts for no more than that; one that begins a day may be the whole day. Where hours follow
// a day that was made of hours because the record was too large, the hour between them is in both in part.
func spansOf(m *record.Month) []span {
	beginning, _ := record.StartOf(m.From)
	spans := make([]span, len(m.Spans))
	for i, s := range m.Spans {
		start, longest := beginning.Add(time.Duration(s.Start)*time.Hour), time.Hour
		if s.Start%24 == 0 {
			longest = 24 * time.Hour
		}
		end := first(start.Add(longest), m.Until)
		if i+1 < len(m.Spans) {
			end = first(end, beginning.Add(time.Duration(m.Spans[i+1].Start)*time.Hour))
		}
		if start.Before(m.From) {
			start = m.From
		}
		spans[i] = span{s, start, end}
	}
	return spans
}

// monthAt returns the record of the month of an instant, nil if there is none.
func (r *Reel) monthAt(at time.Time) *record.Month {
	start, _ := record.StartOf(at)
	for _, m := range r.Months {
		if of, _ := record.StartOf(m.From); of.Equal(start) {
			return m.Month
		}
	}
	return nil
}

// spanAt returns the span of an instant, nil if there is none.
func (r *Reel) spanAt(at time.Time) *span {
	m := r.monthAt(at)
	if m == nil {
		return nil
	}
	spans := spansOf(m)
	i := slices.IndexFunc(spans, func(s span) bool { return !at.Before(s.start) && at.Before(s.end) })
	if i < 0 {
		return nil
	}
	return &spans[i]
}

// levels returns means of a span.
func (s *span) levels() []view.SampleLevel {
	hours := s.end.Sub(s.start).Hours()
	levels := make([]view.SampleLevel, 0, len(s.Sums))
	for _, name := range sets.List(sets.KeySet(s.Sums)) {
		sums := s.Sums[name]
		levels = append(levels, view.SampleLevel{
			Resource: name, Used: sums.Used / hours, Demand: sums.Demand / hours, Granted: new(sums.Granted / hours),
			Budget: sums.Budget / hours,
		})
	}
	return levels
}

// Line returns means of the spans that are recorded, and then what was seen. Where nothing is known, it says so.
func (r *Reel) Line() []view.Sample {
	seen := r.Now
	if len(r.Samples) > 0 {
		seen = time.UnixMilli(r.Samples[0].At)
	}
	var line []view.Sample
	ended := time.Time{}
	for _, m := range r.Months {
		for _, s := range spansOf(m.Month) {
			if !s.start.Before(seen) {
				break
			}
			line = closed(line, ended, s.start)
			line, ended = append(line, view.Sample{At: s.start.UnixMilli(), Levels: s.levels()}), s.end
		}
	}
	return append(closed(line, ended, seen), r.Samples...)
}

// closed returns a line that goes until an instant. If what comes next begins later, nothing is known meanwhile.
func closed(line []view.Sample, ended, next time.Time) []view.Sample {
	if len(line) == 0 || !ended.Before(next) {
		return line
	}
	at := ended.UnixMilli()
	return append(line, view.Sample{At: at - 1, Levels: line[len(line)-1].Levels}, view.Sample{At: at})
}

// mean returns what a cluster used in a month: on average and at most.
func mean(m *record.Month, of Claim, formats corev1.ResourceList) (average, peak string) {
	if m == nil || m.Clusters[of.Cluster] == nil || m.Clusters[of.Cluster].Sums[of.Resource] == nil {
		return "", ""
	}
	sums, hours := m.Clusters[of.Cluster].Sums[of.Resource], m.Until.Sub(m.From).Hours()
	if hours <= 0 {
		return "", ""
	}
	used, most := view.Rounded(of.Resource, sums.Used/hours, formats), view.Rounded(of.Resource, sums.Peak, formats)
	return used.String(), most.String()
}
