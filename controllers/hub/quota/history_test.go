package quota

import (
	"strings"
	"testing"
	"time"

	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestRespite has a donor keep a part of what it has for a while: what another asks for is taken from it once.
func TestRespite(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `{hard: {pods: "1000"}, placement: {clusterSelector: {}}}`)
	east, west := w.agents["east"], w.agents["west"]
	east.wants, west.wants = 500, 500
	w.settle()
	gave := func(name string) bool {
		_, ok := w.hub.historyOf(&scope{fq: w.quota()}, &member{Child: &shares.Child{Name: name}}).gave["pods"]
		return ok
	}
	if gave("east") || gave("west") {
		t.Error("somebody gave room that nobody took")
	}
	east.wants, west.wants = 400, 600
	w.settle()
	w.wantLedger("east 400/400 Settled", "west 600/600 Settled")
	if !gave("east") || gave("west") {
		t.Errorf("east gave: %t, west gave: %t", gave("east"), gave("west"))
	}
	// Of the 20 that end now, 6 % of 380 less 0.2 % of 1000 stay.
	east.wants, west.wants = 380, 620
	w.settle()
	w.wantLedger("east 400/400 Settled", "west 600/600 Settled")
	w.clock.SetTime(w.clock.Now().Add(pace.RespiteTime))
	w.settle()
	w.wantLedger("east 380/380 Settled", "west 620/620 Settled")
}

// TestRespiteOfWhoWasRaisedSince has a donor be given room itself: what it does not use of that is nobody's, and goes
// at once.
func TestRespiteOfWhoWasRaisedSince(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `{hard: {pods: "1000"}, placement: {clusterSelector: {}}}`)
	east, west := w.agents["east"], w.agents["west"]
	for _, wants := range []int64{600, 500, 530, 510} {
		east.wants, west.wants = wants, 1000-wants
		for range 8 {
			w.act()
			w.round()
		}
	}
	w.wantLedger("east 510/510 Settled", "west 490/490 Settled")
}

// TestRespiteOfWhoAsks has a donor ask for more than what it keeps: that serves nobody, and goes to who can use it.
func TestRespiteOfWhoAsks(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `{hard: {pods: "1000"}, placement: {clusterSelector: {}}}`)
	east, west := w.agents["east"], w.agents["west"]
	east.wants, west.wants = 700, 300
	w.settle()
	atOnce := func() {
		for range 8 {
			w.round()
			w.act()
		}
	}
	east.wants, west.wants = 600, 400
	w.act()
	atOnce()
	w.wantLedger("east 600/600 Settled", "west 400/400 Settled")
	east.wants, west.wants = 0, 420
	east.uses(list("pods", "580"))
	east.asks(list("pods", "30"))
	w.act()
	atOnce()
	w.wantLedger("east 600/600 Settled", "west 400/400 Settled")
	w.clock.SetTime(w.clock.Now().Add(pace.AskingRespiteTime - time.Second))
	if next := w.round().RequeueAfter; next > time.Second {
		t.Errorf("looks again after %s, want when the respite ends", next)
	}
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	atOnce()
	w.wantLedger("east 580/580 Settled", "west 420/420 Settled")
}

// TestWhyLimitsMove has the log say why limits move, and nothing while they do not.
func TestWhyLimitsMove(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.settle()
	logged, ctx := logs(t)
	round := func() []string {
		_, err := w.hub.Reconcile(ctx, w.request(quotaName))
		w.must(err)
		return logged("Moved limits")
	}
	if moves := round(); len(moves) > 0 {
		t.Errorf("nothing has moved, and it says %q", moves)
	}
	w.agents["east"].asks(list("pods", "15"))
	w.act()
	if moves := round(); len(moves) != 1 || !strings.Contains(moves[0], `"Cluster"="west"`) || !strings.Contains(moves[0], `"pods"="Surplus"`) {
		t.Errorf("west gives room away, and it says %q", moves)
	}
}

// TestWhoWasGivenWhatItUsesGetsHeadroomAtOnce has a cluster use something already when the budget is new, while another one
// is late to say what it uses.
func TestWhoWasGivenWhatItUsesGetsHeadroomAtOnce(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.agents["east"].uses(list("pods", "1"))
	w.agents["west"].uncounted = "pods"
	w.create(quotaName, `{hard: {pods: "40"}, placement: {clusterSelector: {}}}`)
	rounds := func() {
		for range 4 {
			w.act()
			w.round()
		}
	}
	rounds()
	w.wantLedger("east 1/1 Settled", "west 0/0 Settled")
	w.clock.SetTime(w.clock.Now().Add(pace.FirstReportWait))
	rounds()
	w.wantLedger("east 31/31 Settled", "west 0/0 Settled")
}
