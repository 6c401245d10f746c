package record

import "time"

// Merge adds to what is stored of a month what was recorded since. A gap between the two counts with what was known
// last, as not observed, if it is the same object. What is in both is not counted twice.
func (m *Month) Merge(more *Month) {
	if !more.Until.After(m.Until) {
		return
	}
	switch {
	case more.From.Before(m.Until): // somebody else has recorded a part of it: what is left counts as not observed
		m.Advance(more.Until, false)
	default:
		m.bridge(more)
		m.add(more)
	}
	m.Until, m.UID, m.Level = more.Until, more.UID, more.Level
	m.Moves.add(&more.Moves)
	m.Audit.add(&more.Audit)
}

// bridge counts the gap up to another piece.
func (m *Month) bridge(more *Month) {
	if m.UID == more.UID {
		m.Advance(more.From, false)
		return
	}
	m.Audit.Generation = 0 // another object of the same name
}

// add adds the sums of a later piece.
func (m *Month) add(more *Month) {
	m.Unobserved += more.Unobserved
	m.Total.add(more.Total)
	for name, c := range more.Clusters {
		known := m.cluster(name)
		known.Unobserved += c.Unobserved
		known.Sums.add(c.Sums)
	}
	for _, span := range more.Spans {
		known := m.span(span.Start)
		known.Unobserved += span.Unobserved
		known.Sums.add(span.Sums)
	}
}

// Next returns the month after this one, of which nothing is known but how it begins.
func (m *Month) Next() *Month {
	_, end := StartOf(m.From)
	return m.after(end)
}

// after returns a piece that begins at an instant with what is known.
func (m *Month) after(at time.Time) *Month {
	next := NewMonth(at, m.UID)
	next.Level, next.Audit.Spec, next.Audit.Generation = m.Level, m.Audit.Spec, m.Audit.Generation
	return next
}

const day = 24

// Close makes days of the hours of a month that is over.
func (m *Month) Close() {
	hours := m.Spans
	m.Spans = nil
	for _, hour := range hours {
		span := m.span(hour.Start / day * day)
		span.Unobserved += hour.Unobserved
		span.Sums.add(hour.Sums)
	}
}

// Tally records a budget as it is seen. What is taken from it is added to what is stored.
type Tally struct {
	months []*Month
}

// Begin returns a tally of a budget that is seen for the first time.
func Begin(at time.Time, uid string) *Tally { return &Tally{months: []*Month{NewMonth(at, uid)}} }

// Now returns the month that it records.
func (t *Tally) Now() *Month { return t.months[len(t.months)-1] }

// Advance has what is known hold until an instant.
func (t *Tally) Advance(to time.Time) {
	for {
		_, end := StartOf(t.Now().From)
		if to.Before(end) {
			t.Now().Advance(to, true)
			return
		}
		t.Now().Advance(end, true)
		t.months = append(t.months, t.Now().Next())
	}
}

// Observe takes what is known from an instant on; nothing once the budget is gone. While that stays the same in a
// month, there is nothing to add up: most rounds over most budgets see nothing new.
func (t *Tally) Observe(at time.Time, level *Level) {
	if _, end := StartOf(t.Now().From); at.Before(end) && t.Now().Level.equal(level) {
		return
	}
	t.Advance(at)
	t.Now().Level = level
}

// Take returns what was recorded, a piece for each month, the first one first. The tally goes on from there. A piece of
// no time stays: nobody could tell whether it was stored.
func (t *Tally) Take() []*Month {
	last := t.Now()
	if !last.Until.After(last.From) {
		taken := t.months[:len(t.months)-1]
		t.months = []*Month{last}
		return taken
	}
	taken := t.months
	t.months = []*Month{last.after(last.Until)}
	return taken
}
