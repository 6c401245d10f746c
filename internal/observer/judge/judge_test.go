package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

func TestExcess(t *testing.T) {
	raise := func(r *run) bool { return r.see("b", Next, pods(6, 0, 2).Revision("2")) }
	lower := func(r *run) bool { return r.see("a", Next, pods(4, 0, 2).Revision("2")) }
	cases := map[string]struct {
		play            func(r *run)
		seen, confirmed int
		certain         string
	}{
		"donor first": {func(r *run) { lower(r); raise(r) }, 0, 0, "0"},
		"lower late, and read as lower": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("a", 2)
			r.reads("b", 2)
			lower(r)
		}, 1, 0, "0"},
		"raise first, read as both high": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("a", 1)
			r.reads("b", 2)
			lower(r)
		}, 1, 1, "2"},
		"lowered between the reads": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			lower(r)
			r.reads("a", 2)
		}, 1, 0, "0"},
		"charges between do not hide it": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 3)
			r.see("a", Next, pods(6, 1, 2))
			r.see("a", Next, pods(6, 2, 3))
		}, 1, 1, "2"},
		"a member that cannot be read hides it": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.Read("a", Reading{Failed: true})
		}, 1, 0, "0"},
		"a member that cannot be read does not hide another": {func(r *run) {
			r.see("b", Next, pods(13, 0, 2).Revision("2"))
			r.probe()
			r.reads("b", 2)
			r.Read("a", Reading{Failed: true})
		}, 1, 1, "3"},
		"a gap hides it": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 5)
			r.see("a", Gap, pods(6, 0, 5))
		}, 1, 0, "0"},
		"a gap beyond what was read": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 5)
			r.see("a", Gap, pods(6, 0, 7))
		}, 1, 0, "0"},
		"deleted after the raise": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.Read("a", Reading{Absent: true})
			r.seeGone("a")
		}, 1, 0, "0"},
		"given up while waiting": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 2)
			r.Conclude()
			lower(r)
		}, 1, 0, "0"},
		"the second probe finds it": {func(r *run) {
			raise(r)
			r.probe()
			r.Conclude()
			r.probe()
			r.reads("a", 1)
			r.reads("b", 2)
			lower(r)
		}, 1, 1, "2"},
		"destroyed member": {func(r *run) { r.Forget("a", r.tick()); raise(r) }, 0, 0, "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := twoFull()
			tc.play(r)
			if r.Judge.probe != nil {
				t.Error("the probe is still open")
			}
			got := r.resource(t, "pods")
			if got.Seen != tc.seen || got.Confirmed != tc.confirmed {
				t.Errorf("seen %d, confirmed %d; want %d, %d", got.Seen, got.Confirmed, tc.seen, tc.confirmed)
			}
			var certain resource.Quantity
			for _, e := range got.Excesses {
				certain = quantity.Larger(certain, e.Certain)
			}
			if !same(certain, tc.certain) {
				t.Errorf("certain excess %s, want %s", certain.String(), tc.certain)
			}
			if violations := r.Report(r.now).Violations(); (len(violations) > 0) != (tc.confirmed > 0) {
				t.Errorf("violations: %q", violations)
			}
		})
	}
}

func TestExcessSaysWhenAndWhere(t *testing.T) {
	r := twoFull()
	if !r.see("b", Next, pods(6, 0, 2).Revision("2")) {
		t.Error("no probe is wanted for an excess")
	}
	raised := r.now
	r.probe()
	first := r.now
	r.reads("a", 1)
	r.reads("b", 2)
	r.probe()
	last := r.now
	r.reads("a", 1)
	r.reads("b", 2)
	r.see("a", Next, pods(4, 0, 2).Revision("2"))
	want := []report.Excess{{
		Resource: "pods", Start: raised, End: r.now, Largest: amount("2"), Allowed: amount("10"),
		Confirmed: true, Certain: amount("2"), FirstCertain: first, LastCertain: last,
		Holdings: []report.Holding{
			{Member: "a", ResourceVersion: "1", Revision: 1, Hard: amount("6"), Used: amount("0")},
			{Member: "b", ResourceVersion: "2", Revision: 2, Hard: amount("6"), Used: amount("0")},
		},
	}}
	if diff := cmp.Diff(want, r.resource(t, "pods").Excesses); diff != "" {
		t.Errorf("excesses (-want +got):\n%s", diff)
	}
	if len(r.news) != 1 {
		t.Errorf("told %d times, want once", len(r.news))
	}
}

// What native quota charges above a limit in force is measured, and no violation; a limit below usage is ours.
func TestNativeExcess(t *testing.T) {
	r := twoFull()
	if r.see("a", Next, pods(6, 8, 2)) {
		t.Error("a native excess wants a probe")
	}
	r.see("a", Next, pods(6, 7, 3))
	r.see("a", Next, pods(6, 7, 4).Revision("2"))
	got := r.resource(t, "pods")
	if got.Seen != 0 || !same(got.LargestNative, "2") || !same(got.Largest, "12") {
		t.Errorf("seen %d, native %s, largest %s", got.Seen, got.LargestNative.String(), got.Largest.String())
	}

	r = twoFull()
	r.see("a", Gap, pods(6, 8, 9))
	if got := r.resource(t, "pods"); got.Seen != 0 || !same(got.LargestNative, "2") {
		t.Errorf("a charge that a gap hides was not taken as native: %+v", got)
	}

	r = twoFull()
	r.see("a", Next, pods(6, 6, 2))
	r.see("a", Next, pods(3, 6, 3).Revision("2"))
	r.see("b", Next, pods(7, 0, 2).Revision("3"))
	if got := r.resource(t, "pods"); got.Seen != 1 || !same(got.Excesses[0].Largest, "3") {
		t.Errorf("usage above a lowered limit was not added up: %+v", got)
	}
}
