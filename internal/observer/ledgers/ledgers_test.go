package ledgers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// said reads what a version of an object says.
func said(t *testing.T, content string) *Version {
	t.Helper()
	v := &Version{}
	if err := yaml.Unmarshal([]byte(content), v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLedgers shows ledgers of a pool and of a FederatedQuota in it version by version: all of them, and what is found.
func TestLedgers(t *testing.T) {
	const pool, quota = "QuotaPool/research", "FederatedQuota/vision/compute"
	one := `{metadata: {uid: p}, status: {revision: 4, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 3, granted: {pods: "6"}}, {key: b, uid: b, tenure: 1, revision: 4, granted: {pods: "4"}}]}}`
	type seen struct {
		key, version string
		how          judge.Step
	}
	for name, tc := range map[string]struct {
		versions []seen
		want     []report.FindingKind
	}{
		"all that there is": {versions: []seen{{pool, one, judge.First}}},
		"a raise out of what was given back": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 6, granted: {pods: "8"}}, {key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "2"}}]}}`, judge.Next},
		}},
		"a raise before the other has given back": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 6, granted: {pods: "8"}}, {key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "4"}, target: {pods: "2"}}]}}`, judge.Next},
		}, want: []report.FindingKind{report.RaisedInDebt}},
		"a target that is restored in debt": {versions: []seen{
			{pool, `{metadata: {uid: p}, status: {revision: 4, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 4, granted: {pods: "6"}, target: {pods: "4"}}]}}`, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 5, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "6"}}]}}`, judge.Next},
		}, want: []report.FindingKind{report.RaisedInDebt}},
		"versions were missed": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 9, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 9, granted: {pods: "6"}}]}}`, judge.Gap},
		}},
		"debt by a report, by a cut, and by one that joins": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 5, hard: {pods: "8"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 3, granted: {pods: "7"}, target: {pods: "6"}}, {key: b, uid: b, tenure: 1, revision: 4, granted: {pods: "4"}}, {key: c, uid: c, tenure: 1, revision: 5, granted: {pods: "3"}}]}}`, judge.Next},
		}},
		"another child of the name, and another tenure": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 2, revision: 5, granted: {pods: "8"}}, {key: b, uid: c, tenure: 1, revision: 6, granted: {pods: "8"}}]}}`, judge.Next},
		}},
		"nobody knows what is held": {versions: []seen{
			{pool, one, judge.First},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 5, granted: {pods: "9223372036854775807"}, target: {pods: "9"}}, {key: b, uid: b, tenure: 1, revision: 6, granted: {pods: "9"}}]}}`, judge.Next},
		}},
		"what was offered is taken up, later than it was offered": {versions: []seen{
			{pool, one, judge.First},
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "6"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "6"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "6"}}]}}`, judge.Next},
		}},
		"more than was offered is taken up, and seen before the offer": {versions: []seen{
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "7"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "7"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "7"}}]}}`, judge.First},
			{pool, one, judge.First},
		}, want: []report.FindingKind{report.NotOffered}},
		"a budget above the cap": {versions: []seen{
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "7"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "6"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "6"}}]}}`, judge.First},
		}, want: []report.FindingKind{report.AboveCap}},
		"a ledger that was lost, and one that is not asked about": {versions: []seen{
			{pool, `{metadata: {uid: p}, status: {revision: 0}}`, judge.First},
			{"QuotaPool/other", one, judge.First},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := New([]Ledger{{Kind: "QuotaPool", Name: "research"}, {Kind: "FederatedQuota", Namespace: "vision", Name: "compute"}})
			var got []report.FindingKind
			for _, v := range tc.versions {
				for _, f := range a.Observe(v.key, said(t, v.version), v.how, time.Time{}) {
					got = append(got, f.Kind)
					t.Log(f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLedgerReport keeps account of what was granted, and of debt.
func TestLedgerReport(t *testing.T) {
	a := New([]Ledger{{Kind: "QuotaPool", Name: "research"}})
	for _, content := range []string{
		`{status: {revision: 1, hard: {pods: "10"}, children: [{key: b, granted: {pods: "9"}}]}}`,
		`{status: {revision: 2, hard: {pods: "6"}, children: [{key: b, granted: {pods: "8"}}]}}`,
	} {
		a.Observe("QuotaPool/research", said(t, content), judge.Next, time.Time{})
	}
	r := a.Reports()[0]
	if r.Versions != 2 || len(r.Resources) != 1 || r.Resources[0].Budget.Value() != 6 || r.Resources[0].Largest.Value() != 9 || r.Resources[0].LargestDebt.Value() != 2 {
		t.Errorf("got %+v", r)
	}
}
