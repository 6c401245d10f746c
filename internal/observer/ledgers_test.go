package observer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// said reads what a version of an object says.
func said(t *testing.T, content string) *ledgerVersion {
	t.Helper()
	v := &ledgerVersion{}
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
		how          step
	}
	for name, tc := range map[string]struct {
		versions []seen
		want     []FindingKind
	}{
		"all that there is": {versions: []seen{{pool, one, stepFirst}}},
		"a raise out of what was given back": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 6, granted: {pods: "8"}}, {key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "2"}}]}}`, stepNext},
		}},
		"a raise before the other has given back": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 6, granted: {pods: "8"}}, {key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "4"}, target: {pods: "2"}}]}}`, stepNext},
		}, want: []FindingKind{RaisedInDebt}},
		"a target that is restored in debt": {versions: []seen{
			{pool, `{metadata: {uid: p}, status: {revision: 4, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 4, granted: {pods: "6"}, target: {pods: "4"}}]}}`, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 5, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 5, granted: {pods: "6"}}]}}`, stepNext},
		}, want: []FindingKind{RaisedInDebt}},
		"versions were missed": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 9, hard: {pods: "5"}, children: [{key: b, uid: b, tenure: 1, revision: 9, granted: {pods: "6"}}]}}`, stepGap},
		}},
		"debt by a report, by a cut, and by one that joins": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 5, hard: {pods: "8"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 3, granted: {pods: "7"}, target: {pods: "6"}}, {key: b, uid: b, tenure: 1, revision: 4, granted: {pods: "4"}}, {key: c, uid: c, tenure: 1, revision: 5, granted: {pods: "3"}}]}}`, stepNext},
		}},
		"another child of the name, and another tenure": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 2, revision: 5, granted: {pods: "8"}}, {key: b, uid: c, tenure: 1, revision: 6, granted: {pods: "8"}}]}}`, stepNext},
		}},
		"nobody knows what is held": {versions: []seen{
			{pool, one, stepFirst},
			{pool, `{metadata: {uid: p}, status: {revision: 6, hard: {pods: "10"}, children: [{key: FederatedQuota/vision/compute, uid: v, tenure: 1, revision: 5, granted: {pods: "9223372036854775807"}, target: {pods: "9"}}, {key: b, uid: b, tenure: 1, revision: 6, granted: {pods: "9"}}]}}`, stepNext},
		}},
		"what was offered is taken up, later than it was offered": {versions: []seen{
			{pool, one, stepFirst},
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "6"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "6"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "6"}}]}}`, stepNext},
		}},
		"more than was offered is taken up, and seen before the offer": {versions: []seen{
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "7"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "7"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "7"}}]}}`, stepFirst},
			{pool, one, stepFirst},
		}, want: []FindingKind{NotOffered}},
		"a budget above the cap": {versions: []seen{
			{quota, `{metadata: {uid: v}, status: {revision: 7, hard: {pods: "7"}, pool: {name: research, uid: p, tenure: 1, revision: 3, cap: {pods: "6"}}, clusters: [{name: east, uid: e, revision: 7, granted: {pods: "6"}}]}}`, stepFirst},
		}, want: []FindingKind{AboveCap}},
		"a ledger that was lost, and one that is not asked about": {versions: []seen{
			{pool, `{metadata: {uid: p}, status: {revision: 0}}`, stepFirst},
			{"QuotaPool/other", one, stepFirst},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuditor([]Ledger{{Kind: "QuotaPool", Name: "research"}, {Kind: "FederatedQuota", Namespace: "vision", Name: "compute"}})
			var got []FindingKind
			for _, v := range tc.versions {
				for _, f := range a.observe(v.key, said(t, v.version), v.how, time.Time{}) {
					got = append(got, f.Kind)
					t.Log(f.line(time.Time{}))
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
	a := newAuditor([]Ledger{{Kind: "QuotaPool", Name: "research"}})
	for _, content := range []string{
		`{status: {revision: 1, hard: {pods: "10"}, children: [{key: b, granted: {pods: "9"}}]}}`,
		`{status: {revision: 2, hard: {pods: "6"}, children: [{key: b, granted: {pods: "8"}}]}}`,
	} {
		a.observe("QuotaPool/research", said(t, content), stepNext, time.Time{})
	}
	r := a.reports()[0]
	if r.Versions != 2 || len(r.Resources) != 1 || !same(r.Resources[0].Budget, "6") || !same(r.Resources[0].Largest, "9") || !same(r.Resources[0].LargestDebt, "2") {
		t.Errorf("got %+v", r)
	}
}
