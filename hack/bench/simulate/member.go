package simulate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/webhooks/admission/lanes"
)

// member is a cluster: a native quota, an agent that enforces and reports, and a webhook that holds requests.
type member struct {
	*fleet
	hub      *hub
	index    int   // among those of its hub
	revision int64 // of the share in force
	told     int64 // the target of that share
	limit    int64 // in force
	used     int64
	wants    int64 // the level, in a load of levels
	waiting  []*waiter
	vain     lanes.Vain
	book     *demand.Book
	askers   int // who have asked, each of them once

	reported  time.Duration // when the last report was sent
	reporting bool          // one that may wait is scheduled
	sending   bool          // one is sent at the end of this moment
	urgent    bool          // somebody waits or was refused since the last report
	looking   bool          // a look is scheduled at demand that time alone changes
	last      report        // the last one
	measured  time.Duration // up to when pending demand is counted
}

// report is what a member says of itself, out of one moment.
type report struct {
	revision    int64
	limit, used int64
	demand      int64
	shapes      []round.Shape // of the demand; none if it comes in any amounts
	expected    int64
	replacing   int64 // what workloads have given up to replace it
	urgent      bool
}

// waiter is a request that does not fit.
type waiter struct {
	*Request
	owner demand.Owner
	retry time.Duration // how long its owner waits before it asks again
	since time.Time     // it is held
}

// lookInterval is how often the agent looks at demand that time alone changes.
const lookInterval = time.Second

// share is what the book is asked about.
var (
	share = &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Hard: corev1.ResourceList{resource: {}}}}
	key   = types.NamespacedName{}
)

// time is that of the book.
func (m *member) time() time.Time { return time.Unix(0, 0).Add(m.now) }

// asked is what a request asks for.
func (r *Request) asked() amount.List { return amount.List{resource: r.Size} }

// newWaiter is a request of somebody who has not asked before, as those are whom no controller makes that is known.
func (m *member) newWaiter(r *Request) *waiter {
	m.askers++
	return &waiter{Request: r, owner: demand.Owner{Kind: "Pod", Name: fmt.Sprint(m.askers)}}
}

// arrive judges a new request.
func (m *member) arrive(r *Request) { m.ask(m.newWaiter(r)) }

// ask judges a request, be it new or one that was refused.
func (m *member) ask(w *waiter) {
	if m.fits(w.Request) {
		m.book.Admitted(key, w.owner, w.asked(), m.time())
		m.admit(w.Request)
		return
	}
	m.book.Hold(key, w.owner, nil, w.asked(), m.time())
	m.lookSoon()
	if m.setup.Policy.Hold == 0 || m.vain.Covers(w.asked(), m.time()) {
		m.refuse(w)
		return
	}
	w.since = m.time()
	m.waiting = append(m.waiting, w)
	m.after(m.setup.Policy.Hold, func() { m.release(w) })
	m.report(true)
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

// refuse turns a request away. It counts as demand for a while, and comes again if its owner has patience.
func (m *member) refuse(w *waiter) {
	if w.retry = max(2*w.retry, FirstRetry); m.now-w.At+w.retry > m.setup.Patience {
		m.refused(w.Request)
	} else {
		m.after(w.retry, func() { m.ask(w) })
	}
	m.book.End(key, w.owner, w.asked(), false, m.time())
	m.report(true)
}

// release ends the waiting of a request, if it still waits.
func (m *member) release(w *waiter) {
	if i := slices.Index(m.waiting, w); i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
		m.vain.Ended(w.asked(), w.since, m.time())
		m.refuse(w)
	}
}

// lookSoon looks again and again at the demand that time alone changes, and reports it when it has.
func (m *member) lookSoon() {
	if m.looking {
		return
	}
	m.looking = true
	m.after(lookInterval, func() {
		m.looking = false
		r, pending := m.see()
		if r.demand != m.last.demand || r.expected != m.last.expected || r.replacing != m.last.replacing {
			m.report(false)
		}
		if pending {
			m.lookSoon()
		}
	})
}

// admitWaiting lets the requests through that fit now, the oldest first.
func (m *member) admitWaiting() {
	still := m.waiting[:0]
	for _, w := range m.waiting {
		if m.fits(w.Request) {
			m.book.End(key, w.owner, w.asked(), true, m.time())
			m.admit(w.Request)
		} else {
			still = append(still, w)
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

// end ends a part of the level, which is used again as far as the limit allows.
func (m *member) end(size int64) {
	m.integrate()
	m.use(-min(size, m.used))
	m.followDown()
	m.use(max(min(m.wants, m.limit)-m.used, 0))
}

// use changes what is used.
func (m *member) use(more int64) {
	m.used += more
	m.moved(more, 0)
	if more != 0 {
		m.reportSoon()
	}
}

// enforce puts a share in force.
func (m *member) enforce(revision, target int64) {
	if revision <= m.revision {
		return
	}
	limit := m.limitOf(revision, target)
	m.revision, m.told = revision, target
	m.setLimit(limit)
	if m.wants > m.used {
		m.integrate()
		m.use(min(m.wants, m.limit) - m.used)
	}
	m.admitWaiting()
	m.report(false)
}

// followDown lowers a limit that was to be lowered below usage, as usage falls.
func (m *member) followDown() {
	if limit := m.limitOf(m.revision, m.told); limit < m.limit {
		m.setLimit(limit)
		m.report(false)
	}
}

// limitOf is what the agent enforces of a share.
func (m *member) limitOf(revision, target int64) int64 {
	list := func(value int64) corev1.ResourceList { return amount.List{resource: value}.ToList(nil) }
	quota := ledger.Quota{Managed: true, Revision: m.revision, Spec: list(m.limit), Used: list(m.used)}
	return amount.Saturate(quota.Limits(revision, list(target)), amount.Up)[resource]
}

func (m *member) setLimit(limit int64) {
	if limit > m.limit {
		m.vain.Forget()
	}
	m.moved(0, limit-m.limit)
	m.limit = limit
}

// see is what the member says of itself, and whether time alone changes it.
func (m *member) see() (r report, pending bool) {
	r = report{revision: m.revision, limit: m.limit, used: m.used, demand: max(m.wants-m.used, 0), urgent: m.urgent}
	wants := r.demand > 0
	needs, pending := m.book.Demand(share, m.time())
	for _, need := range needs {
		r.demand += need.Amounts[resource]
		r.shapes = append(r.shapes, round.Shape{Amounts: need.Amounts, Unit: need.Unit})
	}
	if wants {
		r.shapes = nil
	}
	r.expected = m.book.Expected(share, m.time())[resource]
	replacing, rolling := m.book.Replacing(share, m.time())
	r.replacing = replacing[resource]
	return r, pending || rolling || r.expected > 0
}

// report sends what is so at the end of this moment. An urgent one unblocks somebody.
func (m *member) report(urgent bool) {
	m.urgent = m.urgent || urgent
	if m.sending {
		return
	}
	m.sending = true
	m.after(0, func() {
		r, _ := m.see()
		m.sending, m.urgent, m.reported, m.last = false, false, m.now, r
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
