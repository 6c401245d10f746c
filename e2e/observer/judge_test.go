package observer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// quota builds a version of the managed object as a member would deliver it.
type quota struct{ rq *corev1.ResourceQuota }

func makeQuota(resourceVersion int) quota {
	return quota{&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Name: "compute", Namespace: "team-a", UID: "one", ResourceVersion: strconv.Itoa(resourceVersion),
		Labels:      map[string]string{"quota.fedquota.io/managed": "true"},
		Annotations: map[string]string{"quota.fedquota.io/revision": "1"},
	}}}
}

func (q quota) UID(uid types.UID) quota { q.rq.UID = uid; return q }
func (q quota) Unmanaged() quota        { q.rq.Labels = nil; return q }
func (q quota) Revision(r string) quota {
	q.rq.Annotations["quota.fedquota.io/revision"] = r
	return q
}
func (q quota) Spec(hard string) quota { q.rq.Spec.Hard = amounts(hard); return q }
func (q quota) Hard(hard string) quota { q.rq.Status.Hard = amounts(hard); return q }
func (q quota) Used(used string) quota { q.rq.Status.Used = amounts(used); return q }

// Limit sets the limit both in the spec and in force.
func (q quota) Limit(hard string) quota    { return q.Spec(hard).Hard(hard) }
func (q quota) Obj() *corev1.ResourceQuota { return q.rq }
func pods(hard, used int64, rv int) quota {
	return makeQuota(rv).Limit(podText(hard)).Used(podText(used))
}
func podText(n int64) string                     { return fmt.Sprintf("pods=%d", n) }
func amount(text string) resource.Quantity       { return resource.MustParse(text) }
func same(q resource.Quantity, text string) bool { return q.Cmp(amount(text)) == 0 }

// amounts reads "pods=3,requests.cpu=500m".
func amounts(text string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			list[corev1.ResourceName(name)] = resource.MustParse(value)
		}
	}
	return list
}

// run drives a judge along a clock of its own, one millisecond per call.
type run struct {
	*judge
	now time.Time
}

func newRun(budget string, members ...string) *run {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &run{judge: newJudge(members, amounts(budget), start), now: start}
}

func (r *run) tick() time.Time {
	r.now = r.now.Add(time.Millisecond)
	return r.now
}

func (r *run) see(member string, how step, q quota) bool {
	return r.observe(member, q.Obj(), r.tick(), how)
}
func (r *run) seeGone(member string) bool { return r.observe(member, nil, r.tick(), stepNext) }
func (r *run) probe()                     { r.begin(r.tick()) }
func (r *run) reads(member string, rv int) {
	r.read(member, reading{resourceVersion: strconv.Itoa(rv), at: r.tick()})
}

func (r *run) resource(t *testing.T, name corev1.ResourceName) ResourceReport {
	t.Helper()
	resources := r.report(r.now).Resources
	i := slices.IndexFunc(resources, func(res ResourceReport) bool { return res.Name == name })
	if i < 0 {
		t.Fatalf("no report for %s", name)
	}
	return resources[i]
}

func TestFindings(t *testing.T) {
	base := func() quota { return pods(10, 4, 1) }
	cases := map[string]struct {
		steps []quota
		want  []FindingKind
	}{
		"raise with a new revision": {[]quota{base(), pods(12, 4, 2).Revision("2")}, nil},
		"lower down to usage":       {[]quota{base(), pods(4, 4, 2).Revision("2")}, nil},
		"lower below usage":         {[]quota{base(), pods(3, 4, 2).Revision("2")}, []FindingKind{LimitBelowUsage}},
		"raise that stays below usage": {
			[]quota{pods(1, 4, 1), pods(2, 4, 2).Revision("2")}, nil},
		"a status write below usage is not ours": {
			[]quota{base().Spec("pods=3"), base().Spec("pods=3").Hard("pods=3")}, nil},
		"new name below known usage": {
			[]quota{base().Used("pods=4,secrets=2"), makeQuota(2).Revision("2").Spec("pods=10,secrets=1").Hard("pods=10").Used("pods=4,secrets=2")},
			[]FindingKind{LimitBelowUsage}},
		"usage known after creation": {
			[]quota{makeQuota(1).Spec("pods=3"), pods(3, 4, 2)}, []FindingKind{CreatedBelowUsage}},
		"revision down": {[]quota{base().Revision("7"), pods(10, 4, 2).Revision("6")}, []FindingKind{RevisionDown}},
		"one step down": {
			[]quota{base().Revision("7"), pods(10, 4, 2).Revision("5"), pods(10, 4, 3).Revision("5"), pods(10, 4, 4).Revision("6")},
			[]FindingKind{RevisionDown}},
		"revision unreadable":       {[]quota{base(), pods(10, 4, 2).Revision("x")}, []FindingKind{RevisionDown}},
		"raise at the same one":     {[]quota{base(), pods(11, 4, 2)}, []FindingKind{RaisedAtSameRevision}},
		"lower at the same one":     {[]quota{base(), pods(9, 4, 2)}, nil},
		"limit taken away":          {[]quota{base(), makeQuota(2).Hard("pods=10").Used("pods=4")}, []FindingKind{RaisedAtSameRevision}},
		"re-created in a gap":       {[]quota{base(), base().UID("two")}, []FindingKind{Recreated}},
		"label lost":                {[]quota{base(), base().Unmanaged()}, []FindingKind{LabelLost}},
		"not ours":                  {[]quota{base().Unmanaged(), pods(1, 4, 2).Unmanaged()}, nil},
		"adopted":                   {[]quota{base().Unmanaged(), base().Spec("pods=12")}, nil},
		"charged above the limit":   {[]quota{base(), pods(10, 11, 2)}, []FindingKind{Overcharged}},
		"charged below a new spec":  {[]quota{base(), base().Spec("pods=5"), base().Spec("pods=5").Used("pods=6")}, nil},
		"usage falls above a limit": {[]quota{pods(2, 4, 1), pods(2, 3, 2)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRun("pods=100", "a")
			for i, q := range tc.steps {
				r.see("a", map[bool]step{true: stepFirst, false: stepNext}[i == 0], q)
			}
			var got []FindingKind
			for _, f := range r.findings {
				got = append(got, f.Kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletedAndRecreated(t *testing.T) {
	r := newRun("pods=100", "a")
	r.see("a", stepFirst, pods(10, 0, 1).Revision("5"))
	r.seeGone("a")
	if got := r.sum("pods"); !got.recorded.IsZero() {
		t.Errorf("a deleted object still holds %s", got.recorded.String())
	}
	r.see("a", stepNext, pods(10, 0, 3).UID("two").Revision("4"))
	want := map[FindingKind]int{Deleted: 1, Recreated: 1, RevisionDown: 1}
	if diff := cmp.Diff(want, r.counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A gap hides single steps: what differs across it may be several writes.
func TestGapHidesWrites(t *testing.T) {
	r := newRun("pods=100", "a")
	r.see("a", stepFirst, pods(10, 4, 1))
	r.see("a", stepGap, pods(20, 30, 9))
	if len(r.findings) > 0 {
		t.Errorf("judged a write across a gap: %v", r.findings)
	}
	if gaps := r.report(r.now).Members[0].Gaps; len(gaps) != 1 || gaps[0].From != "1" || gaps[0].To != "9" {
		t.Errorf("gaps: %v", gaps)
	}
}

// twoFull returns a run in which a and b hold 6 + 4 of 10.
func twoFull() *run {
	r := newRun("pods=10", "a", "b")
	r.see("a", stepFirst, pods(6, 0, 1))
	r.see("b", stepFirst, pods(4, 0, 1))
	return r
}

func TestExcess(t *testing.T) {
	raise := func(r *run) bool { return r.see("b", stepNext, pods(6, 0, 2).Revision("2")) }
	lower := func(r *run) bool { return r.see("a", stepNext, pods(4, 0, 2).Revision("2")) }
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
			r.see("a", stepNext, pods(6, 1, 2))
			r.see("a", stepNext, pods(6, 2, 3))
		}, 1, 1, "2"},
		"a member that cannot be read hides it": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.read("a", reading{failed: true})
		}, 1, 0, "0"},
		"a member that cannot be read does not hide another": {func(r *run) {
			r.see("b", stepNext, pods(13, 0, 2).Revision("2"))
			r.probe()
			r.reads("b", 2)
			r.read("a", reading{failed: true})
		}, 1, 1, "3"},
		"a gap hides it": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 5)
			r.see("a", stepGap, pods(6, 0, 5))
		}, 1, 0, "0"},
		"a gap beyond what was read": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 5)
			r.see("a", stepGap, pods(6, 0, 7))
		}, 1, 0, "0"},
		"deleted after the raise": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.read("a", reading{absent: true})
			r.seeGone("a")
		}, 1, 0, "0"},
		"given up while waiting": {func(r *run) {
			raise(r)
			r.probe()
			r.reads("b", 2)
			r.reads("a", 2)
			r.conclude()
			lower(r)
		}, 1, 0, "0"},
		"the second probe finds it": {func(r *run) {
			raise(r)
			r.probe()
			r.conclude()
			r.probe()
			r.reads("a", 1)
			r.reads("b", 2)
			lower(r)
		}, 1, 1, "2"},
		"destroyed member": {func(r *run) { r.forget("a", r.tick()); raise(r) }, 0, 0, "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := twoFull()
			tc.play(r)
			if r.judge.probe != nil {
				t.Error("the probe is still open")
			}
			got := r.resource(t, "pods")
			if got.Seen != tc.seen || got.Confirmed != tc.confirmed {
				t.Errorf("seen %d, confirmed %d; want %d, %d", got.Seen, got.Confirmed, tc.seen, tc.confirmed)
			}
			var certain resource.Quantity
			for _, e := range got.Excesses {
				certain = larger(certain, e.Certain)
			}
			if !same(certain, tc.certain) {
				t.Errorf("certain excess %s, want %s", certain.String(), tc.certain)
			}
			if violations := r.report(r.now).Violations(); (len(violations) > 0) != (tc.confirmed > 0) {
				t.Errorf("violations: %q", violations)
			}
		})
	}
}

func TestExcessSaysWhenAndWhere(t *testing.T) {
	r := twoFull()
	if !r.see("b", stepNext, pods(6, 0, 2).Revision("2")) {
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
	r.see("a", stepNext, pods(4, 0, 2).Revision("2"))
	want := []Excess{{
		Resource: "pods", Start: raised, End: r.now, Largest: amount("2"), Allowed: amount("10"),
		Confirmed: true, Certain: amount("2"), FirstCertain: first, LastCertain: last,
		Holdings: []Holding{
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
	if r.see("a", stepNext, pods(6, 8, 2)) {
		t.Error("a native excess wants a probe")
	}
	r.see("a", stepNext, pods(6, 7, 3))
	r.see("a", stepNext, pods(6, 7, 4).Revision("2"))
	got := r.resource(t, "pods")
	if got.Seen != 0 || !same(got.LargestNative, "2") || !same(got.Largest, "12") {
		t.Errorf("seen %d, native %s, largest %s", got.Seen, got.LargestNative.String(), got.Largest.String())
	}

	r = twoFull()
	r.see("a", stepNext, pods(6, 6, 2))
	r.see("a", stepNext, pods(3, 6, 3).Revision("2"))
	r.see("b", stepNext, pods(7, 0, 2).Revision("3"))
	if got := r.resource(t, "pods"); got.Seen != 1 || !same(got.Excesses[0].Largest, "3") {
		t.Errorf("usage above a lowered limit was not added up: %+v", got)
	}
}
