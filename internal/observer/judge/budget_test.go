package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func (r *run) cut(budget string) bool { r.tick(); return r.SetBudget(amounts(budget), r.now, r.now) }

// settled probes with every member read at the version that arrived last.
func (r *run) settled() {
	r.probe()
	for name, m := range r.members {
		r.Read(name, Reading{ResourceVersion: m.last.resourceVersion, Absent: !m.last.exists(), At: r.now})
	}
}

func TestTimeline(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	epochs := newTimeline(amounts("pods=10"), at(0))
	epochs = epochs.withBudget(amounts("pods=4,secrets=1"), at(10))
	epochs = epochs.withGranted(amounts("pods=7,services=9"), at(20))
	epochs = epochs.withBudget(amounts("pods=5,secrets=1"), at(15)) // late news cannot change the past
	epochs = epochs.withGranted(amounts("pods=1"), at(30))
	cases := map[string]struct {
		when            time.Time
		budget, ceiling string
	}{
		"before the start":         {at(-1), "pods=10", "pods=10"},
		"at the start":             {at(0), "pods=10", "pods=10"},
		"after a cut":              {at(10), "pods=4,secrets=1", "pods=10,secrets=1"},
		"the ledger came down":     {at(20), "pods=5,secrets=1", "pods=7,secrets=1"},
		"never below the budget":   {at(30), "pods=5,secrets=1", "pods=5,secrets=1"},
		"long after the last step": {at(99), "pods=5,secrets=1", "pods=5,secrets=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := epochs.at(tc.when)
			want := []corev1.ResourceList{amounts(tc.budget), amounts(tc.ceiling)}
			if diff := cmp.Diff(want, []corev1.ResourceList{got.budget, got.ceiling}); diff != "" {
				t.Errorf("budget and ceiling (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCut(t *testing.T) {
	raise := func(r *run, hard int64) { r.see("b", Next, pods(hard, 0, 9).Revision("9")); r.settled() }
	lower := func(r *run, hard int64) { r.see("a", Next, pods(hard, 0, 8).Revision("8")); r.settled() }
	cases := map[string]struct {
		play               func(r *run)
		confirmed, growths int
	}{
		"drains":                     {func(r *run) { r.cut("pods=5"); r.settled(); lower(r, 2); lower(r, 1) }, 0, 0},
		"never drains":               {func(r *run) { r.cut("pods=5"); r.settled(); r.settled() }, 0, 0},
		"grows again, within before": {func(r *run) { r.cut("pods=5"); r.settled(); lower(r, 2); raise(r, 8) }, 0, 1},
		"grows above what was":       {func(r *run) { r.cut("pods=5"); r.settled(); raise(r, 5) }, 1, 1},
		"grows above the ledger": {func(r *run) {
			r.cut("pods=5")
			lower(r, 2)
			r.SetGranted(amounts("pods=6"), r.tick(), r.now)
			raise(r, 5)
		}, 1, 1},
		"grows within the budget": {func(r *run) {
			r.cut("pods=9")
			lower(r, 1)
			raise(r, 8)
		}, 0, 0},
		"cut and raised again": {func(r *run) { r.cut("pods=5"); lower(r, 2); r.cut("pods=10"); r.settled(); raise(r, 8) }, 0, 0},
		"raised, then used":    {func(r *run) { r.cut("pods=12"); raise(r, 6) }, 0, 0},
		"raised too little":    {func(r *run) { r.cut("pods=11"); raise(r, 6) }, 1, 0},
		"a probe from before the cut tells nothing": {func(r *run) {
			lower(r, 1)
			r.probe()
			r.reads("a", 8)
			r.see("b", Next, pods(9, 0, 9).Revision("9"))
			r.cut("pods=6")
			r.reads("b", 1)
			r.settled()
		}, 0, 0},
		"an unreadable member bounds nothing": {func(r *run) {
			r.cut("pods=5")
			r.probe()
			r.reads("b", 1)
			r.Read("a", Reading{Failed: true})
			r.settled()
		}, 0, 0},
		"a probe is judged by what was allowed at its instant": {func(r *run) {
			r.probe()
			r.reads("a", 1)
			r.cut("pods=5")
			r.SetGranted(amounts("pods=5"), r.tick(), r.now)
			r.reads("b", 1)
		}, 0, 0},
		"no longer judged": {func(r *run) { r.cut("secrets=11"); raise(r, 60) }, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := twoFull()
			tc.play(r)
			got := r.resource(t, "pods")
			if got.Confirmed != tc.confirmed || got.Growths != tc.growths {
				t.Errorf("confirmed %d, growths %d; want %d, %d", got.Confirmed, got.Growths, tc.confirmed, tc.growths)
			}
			report := r.Report(r.now)
			if got := len(report.Violations()); got != tc.confirmed {
				t.Errorf("%d violations, want %d", got, tc.confirmed)
			}
			report.StrictCuts = true
			if got, want := len(report.Violations()), tc.confirmed+min(tc.growths, 1); got != want {
				t.Errorf("%d strict violations, want %d", got, want)
			}
		})
	}
}

func TestCutWantsAProbe(t *testing.T) {
	r := twoFull()
	if !r.cut("pods=5") {
		t.Error("a cut below what is in force wants no probe")
	}
	r.settled()
	if r.see("a", Next, pods(6, 1, 2)) {
		t.Error("a charge below the limit wants a probe")
	}
	if !r.see("a", Next, pods(5, 1, 3).Revision("2")) {
		t.Error("a move above the budget wants no probe")
	}
}

func TestAboveBudget(t *testing.T) {
	r := twoFull()
	r.cut("pods=7")
	from := r.now
	r.see("a", Next, pods(4, 0, 2).Revision("2"))
	r.see("a", Next, pods(3, 0, 3).Revision("3"))
	got := r.resource(t, "pods")
	if got.AboveBudget.Duration != r.now.Sub(from) || !same(got.LargestAboveBudget, "3") {
		t.Errorf("above the budget for %s by %s", got.AboveBudget.Duration, got.LargestAboveBudget.String())
	}
}
