package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/observer/report"
)

func TestFindings(t *testing.T) {
	base := func() quota { return pods(10, 4, 1) }
	cases := map[string]struct {
		steps []quota
		want  []report.FindingKind
	}{
		"raise with a new revision": {[]quota{base(), pods(12, 4, 2).Revision("2")}, nil},
		"lower down to usage":       {[]quota{base(), pods(4, 4, 2).Revision("2")}, nil},
		"lower below usage":         {[]quota{base(), pods(3, 4, 2).Revision("2")}, []report.FindingKind{report.LimitBelowUsage}},
		"raise that stays below usage": {
			[]quota{pods(1, 4, 1), pods(2, 4, 2).Revision("2")}, nil},
		"a status write below usage is not ours": {
			[]quota{base().Spec("pods=3"), base().Spec("pods=3").Hard("pods=3")}, nil},
		"new name below known usage": {
			[]quota{base().Used("pods=4,secrets=2"), makeQuota(2).Revision("2").Spec("pods=10,secrets=1").Hard("pods=10").Used("pods=4,secrets=2")},
			[]report.FindingKind{report.LimitBelowUsage}},
		"usage known after creation": {
			[]quota{makeQuota(1).Spec("pods=3"), pods(3, 4, 2)}, []report.FindingKind{report.CreatedBelowUsage}},
		"revision down": {[]quota{base().Revision("7"), pods(10, 4, 2).Revision("6")}, []report.FindingKind{report.RevisionDown}},
		"one step down": {
			[]quota{base().Revision("7"), pods(10, 4, 2).Revision("5"), pods(10, 4, 3).Revision("5"), pods(10, 4, 4).Revision("6")},
			[]report.FindingKind{report.RevisionDown}},
		"revision unreadable":   {[]quota{base(), pods(10, 4, 2).Revision("x")}, []report.FindingKind{report.RevisionDown}},
		"raise at the same one": {[]quota{base(), pods(11, 4, 2)}, []report.FindingKind{report.RaisedAtSameRevision}},
		"lower at the same one": {[]quota{base(), pods(9, 4, 2)}, nil},
		"limit taken away":      {[]quota{base(), makeQuota(2).Hard("pods=10").Used("pods=4")}, []report.FindingKind{report.RaisedAtSameRevision}},
		"re-created in a gap":   {[]quota{base(), base().UID("two")}, []report.FindingKind{report.Recreated}},
		"label lost":            {[]quota{base(), base().Unmanaged()}, []report.FindingKind{report.LabelLost}},
		"released":              {[]quota{base(), pods(4, 4, 2).Released()}, []report.FindingKind{report.Released}},
		"released with more":    {[]quota{base(), pods(11, 4, 2).Released()}, []report.FindingKind{report.Released, report.RaisedAtSameRevision}},
		"taken back at an older revision": {
			[]quota{base().Revision("7"), pods(4, 4, 2).Released(), pods(4, 4, 3).Revision("6")}, []report.FindingKind{report.Released, report.RevisionDown}},
		"not ours":                  {[]quota{base().Unmanaged(), pods(1, 4, 2).Unmanaged()}, nil},
		"adopted":                   {[]quota{base().Unmanaged(), base().Spec("pods=12")}, nil},
		"charged above the limit":   {[]quota{base(), pods(10, 11, 2)}, []report.FindingKind{report.Overcharged}},
		"charged below a new spec":  {[]quota{base(), base().Spec("pods=5"), base().Spec("pods=5").Used("pods=6")}, nil},
		"usage falls above a limit": {[]quota{pods(2, 4, 1), pods(2, 3, 2)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRun("pods=100", "a")
			for i, q := range tc.steps {
				r.see("a", map[bool]Step{true: First, false: Next}[i == 0], q)
			}
			var got []report.FindingKind
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
	r.see("a", First, pods(10, 0, 1).Revision("5"))
	r.seeGone("a")
	if got := r.sum("pods"); !got.recorded.IsZero() {
		t.Errorf("a deleted object still holds %s", got.recorded.String())
	}
	r.see("a", Next, pods(10, 0, 3).UID("two").Revision("4"))
	want := map[report.FindingKind]int{report.Deleted: 1, report.Recreated: 1, report.RevisionDown: 1}
	if diff := cmp.Diff(want, r.counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A gap hides single steps: what differs across it may be several writes.
func TestGapHidesWrites(t *testing.T) {
	r := newRun("pods=100", "a")
	r.see("a", First, pods(10, 4, 1))
	r.see("a", Gap, pods(20, 30, 9))
	if len(r.findings) > 0 {
		t.Errorf("judged a write across a gap: %v", r.findings)
	}
	if gaps := r.Report(r.now).Members[0].Gaps; len(gaps) != 1 || gaps[0].From != "1" || gaps[0].To != "9" {
		t.Errorf("gaps: %v", gaps)
	}
}
