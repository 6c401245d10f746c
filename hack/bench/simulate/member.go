package simulate

import (
	"slices"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/round"
)

// member is a cluster: a native quota, an agent that enforces and reports, and a webhook that holds requests.
type member struct {
	*fleet
	index    int
	revision int64 // of the share in force
	told     int64 // the target of that share
	limit    int64 // in force: told, or what is used if that is more
	used     int64
	wants    int64 // the level, in a load of levels
	waiting  []*Request
	refusals aging

	reported  time.Duration // when the last report was sent
	reporting bool          // one that may wait is scheduled
	sending   bool          // one is sent at the end of this moment
	urgent    bool          // somebody waits or was refused since the last report
	measured  time.Duration // up to when pending demand is counted
}

// report is what a member says of itself, out of one moment.
type report struct {
	revision    int64
	limit, used int64
	demand      int64
	unit        int64 // the least that one request asks for
	urgent      bool
}

// shapes are what the allocation is told of the demand: requests that are not of one size are of one shape.
func (r *report) shapes() []round.Shape {
	if r.unit == 0 {
		return nil
	}
	return []round.Shape{{Amounts: amount.List{resource: r.demand}, Unit: amount.List{resource: r.unit}}}
}

// arrive judges a new request.
func (m *member) arrive(r *Request) {
	switch {
	case m.fits(r):
		m.admit(r)
	case m.setup.Policy.Hold > 0:
		m.waiting = append(m.waiting, r)
		m.after(m.setup.Policy.Hold, func() { m.release(r) })
		m.report(true)
	default:
		m.refuse(r)
	}
}

// fits is what native quota decides by.
func (m *member) fits(r *Request) bool { return m.used+r.Size <= m.limit }

func (m *member) admit(r *Request) {
	m.use(r.Size)
	m.admitted(r)
	m.after(r.Life, func() {
		m.use(-r.Size)
		m.followDown()
		m.admitWaiting()
	})
	m.reportSoon()
}

// refuse turns a request away. It counts as demand for a while.
func (m *member) refuse(r *Request) {
	m.refused(r)
	if age := m.setup.Policy.Age; age > 0 {
		m.refusals.add(r.Size, m.now+age)
		m.after(age, m.reportSoon)
	}
	m.report(true)
}

// release ends the waiting of a request, if it still waits.
func (m *member) release(r *Request) {
	if i := slices.Index(m.waiting, r); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
		m.refuse(r)
	}
}

// admitWaiting lets the requests go that fit now, the oldest first.
func (m *member) admitWaiting() {
	still := m.waiting[:0]
	for _, r := range m.waiting {
		if m.fits(r) {
			m.admit(r)
		} else {
			still = append(still, r)
		}
	}
	clear(m.waiting[len(still):])
	m.waiting = still
}

// level sets what the member could use from now on.
func (m *member) level(wants int64) {
	m.integrate()
	more := wants > m.wants
	m.wants = wants
	m.use(min(wants, m.limit) - m.used)
	m.followDown()
	if more && m.used < wants {
		m.report(true)
	}
}

// use changes what is used.
func (m *member) use(more int64) {
	m.used += more
	m.moved(more, 0)
	if more != 0 {
		m.reportSoon()
	}
}

// enforce puts a share in force. A lowering below usage is refused: then what is used is enforced.
func (m *member) enforce(revision, target int64) {
	if revision <= m.revision {
		return
	}
	m.revision, m.told = revision, target
	m.setLimit(max(target, m.used))
	if m.wants > m.used {
		m.integrate()
		m.use(min(m.wants, m.limit) - m.used)
	}
	m.admitWaiting()
	m.report(false)
}

// followDown lowers a limit that was to be lowered below usage, as usage falls.
func (m *member) followDown() {
	if limit := max(m.told, m.used); limit < m.limit {
		m.setLimit(limit)
		m.report(false)
	}
}

func (m *member) setLimit(limit int64) {
	m.moved(0, limit-m.limit)
	m.limit = limit
}

// demand is what the member could use beyond what it uses.
func (m *member) demand() int64 {
	demand := m.refusals.at(m.now) + max(m.wants-m.used, 0)
	for _, r := range m.waiting {
		demand += r.Size
	}
	return demand
}

// unit is the least that one of the requests asks for, 0 if that is not known: a level comes in any.
func (m *member) unit() int64 {
	if m.wants > m.used {
		return 0
	}
	least := m.refusals.least()
	for _, r := range m.waiting {
		if least == 0 || r.Size < least {
			least = r.Size
		}
	}
	return least
}

// report sends what is so at the end of this moment. An urgent one unblocks somebody.
func (m *member) report(urgent bool) {
	m.urgent = m.urgent || urgent
	if m.sending {
		return
	}
	m.sending = true
	m.after(0, func() {
		r := report{revision: m.revision, limit: m.limit, used: m.used, demand: m.demand(), unit: m.unit(), urgent: m.urgent}
		m.sending, m.urgent, m.reported = false, false, m.now
		m.after(m.setup.Latencies.Report, func() { m.hub.receive(m.index, r) })
	})
}

// reportSoon sends a report, at most one per Coalesce.
func (m *member) reportSoon() {
	if m.reporting {
		return
	}
	m.reporting = true
	m.at(m.reported+m.setup.Latencies.Coalesce, func() {
		m.reporting = false
		m.report(false)
	})
}

// integrate counts the level and what is unmet of it, up to now.
func (m *member) integrate() {
	from, to := max(m.measured, m.setup.From), min(m.now, m.setup.To)
	m.measured = m.now
	if to > from {
		m.result.Wanted += float64(m.wants) * (to - from).Seconds()
		m.result.Pending += float64(max(m.wants-m.used, 0)) * (to - from).Seconds()
	}
}
