package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/ledger"
)

// list is a list of quantities, given as pairs of name and value.
func list(pairs ...string) corev1.ResourceList {
	quantities := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		quantities[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return quantities
}

func TestLimits(t *testing.T) {
	enforcing := func(used string) ledger.Quota {
		return ledger.Quota{Managed: true, Revision: 4, Spec: list("pods", "5"), Hard: list("pods", "5"), Used: list("pods", used)}
	}
	released := ledger.Quota{Revision: 4, Spec: list("pods", "5"), Hard: list("pods", "5"), Used: list("pods", "7")}
	for name, tc := range map[string]struct {
		quota    ledger.Quota
		revision int64
		share    corev1.ResourceList
		want     corev1.ResourceList
	}{
		"a raise":                                {quota: enforcing("3"), revision: 5, share: list("pods", "9"), want: list("pods", "9")},
		"a lower":                                {quota: enforcing("1"), revision: 5, share: list("pods", "2"), want: list("pods", "2")},
		"not below what is used":                 {quota: enforcing("4"), revision: 5, share: list("pods", "2"), want: list("pods", "4")},
		"not above the limit for an overcharge":  {quota: enforcing("7"), revision: 5, share: list("pods", "2"), want: list("pods", "5")},
		"nothing is raised within a revision":    {quota: enforcing("3"), revision: 4, share: list("pods", "9"), want: list("pods", "5")},
		"usage falls within a revision":          {quota: enforcing("3"), revision: 4, share: list("pods", "2"), want: list("pods", "3")},
		"taken over above what is used":          {quota: released, revision: 5, share: list("pods", "2"), want: list("pods", "5")},
		"taken over at the revision it had":      {quota: released, revision: 4, share: list("pods", "9"), want: list("pods", "5")},
		"one that never enforced anything":       {revision: 1, share: list("pods", "2"), want: list("pods", "2")},
		"a name that comes":                      {quota: enforcing("3"), revision: 4, share: list("pods", "5", "services", "2"), want: list("pods", "5", "services", "2")},
		"a name that goes":                       {quota: enforcing("3"), revision: 5, share: list("services", "2"), want: list("services", "2")},
		"quantities stay as precise as they are": {quota: ledger.Quota{Managed: true, Spec: list("requests.cpu", "1"), Used: list("requests.cpu", "100500u")}, revision: 5, share: list("requests.cpu", "0"), want: list("requests.cpu", "100500u")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.quota.Limits(tc.revision, tc.share)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestYield(t *testing.T) {
	quota := ledger.Quota{Managed: true, Spec: list("pods", "20"), Used: list("pods", "10")}
	for name, tc := range map[string]struct {
		limit   string
		attempt int64
		want    string
	}{
		"the first try":                      {limit: "10", attempt: 0, want: "10"},
		"more room at the next":              {limit: "10", attempt: 1, want: "12"},
		"and at the one after":               {limit: "10", attempt: 2, want: "14"},
		"the last one keeps what there is":   {limit: "10", attempt: 4, want: "20"},
		"a limit above what is used is kept": {limit: "12", attempt: 3, want: "12"},
		"a raise":                            {limit: "30", attempt: 3, want: "30"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(list("pods", tc.want), quota.Yield(list("pods", tc.limit), tc.attempt, 4)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuotaInForce has one version of a ResourceQuota put in force, judged, and reported.
func TestQuotaInForce(t *testing.T) {
	for name, tc := range map[string]struct {
		quota         ledger.Quota
		publish       corev1.ResourceList
		inForce       bool
		limits, usage corev1.ResourceList
	}{
		"a lower that is not in force": {
			quota:   ledger.Quota{Spec: list("pods", "5"), Hard: list("pods", "9"), Used: list("pods", "3")},
			publish: list("pods", "5"), limits: list("pods", "9"), usage: list("pods", "3"),
		},
		"in force": {
			quota:   ledger.Quota{Spec: list("pods", "5"), Hard: list("pods", "5"), Used: list("pods", "3")},
			publish: list("pods", "5"), inForce: true, limits: list("pods", "5"), usage: list("pods", "3"),
		},
		"nothing is counted yet": {
			quota:   ledger.Quota{Spec: list("pods", "5")},
			publish: list(), usage: list(),
		},
		"a name that nobody counts": {
			quota:   ledger.Quota{Spec: list("pods", "5", "typo", "1"), Hard: list("pods", "5", "typo", "1"), Used: list("pods", "3")},
			publish: list("pods", "5", "typo", "1"), inForce: true, limits: list("pods", "5", "typo", "1"), usage: list("pods", "3"),
		},
		"nothing is counted under any name": {
			quota:   ledger.Quota{Spec: list("typo", "0"), Hard: list("typo", "0")},
			publish: list("typo", "0"), inForce: true, limits: list("typo", "0"), usage: list(),
		},
		"nothing is counted, and one name is not taken over": {
			quota:   ledger.Quota{Spec: list("typo", "0", "pods", "1"), Hard: list("typo", "0")},
			publish: list("typo", "0"), limits: list("typo", "0"), usage: list(),
		},
		"a lower of a name that nobody counts, not in force": {
			quota:   ledger.Quota{Spec: list("pods", "5", "typo", "0"), Hard: list("pods", "5", "typo", "1"), Used: list("pods", "3")},
			publish: list("pods", "5", "typo", "0"), limits: list("pods", "5", "typo", "1"), usage: list("pods", "3"),
		},
		"a name that the quota controller has yet to take over": {
			quota:   ledger.Quota{Spec: list("pods", "5", "services", "2"), Hard: list("pods", "5"), Used: list("pods", "3")},
			publish: list("pods", "5"), inForce: true, limits: list("pods", "5"), usage: list("pods", "3"),
		},
		"a name that left stays until the others are counted": {
			quota:   ledger.Quota{Spec: list("services", "2"), Hard: list("pods", "5"), Used: list("pods", "3")},
			publish: list("pods", "5"), limits: list("pods", "5"), usage: list("pods", "3"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits, usage := tc.quota.Report()
			got := map[string]any{"publish": tc.quota.Publish(), "in force": tc.quota.InForce(), "limits": limits, "usage": usage}
			want := map[string]any{"publish": tc.publish, "in force": tc.inForce, "limits": tc.limits, "usage": tc.usage}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		used corev1.ResourceList
		want bool
	}{
		"less":                      {used: list("pods", "3"), want: true},
		"all of it":                 {used: list("pods", "5"), want: true},
		"more":                      {used: list("pods", "6")},
		"usage that is not known":   {want: true},
		"a name of somebody else's": {used: list("secrets", "1"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (ledger.Quota{Spec: list("pods", "5"), Used: tc.used}).Within(); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	for name, tc := range map[string]struct{ used, reported, want corev1.ResourceList }{
		"what is used":                  {used: list("pods", "3"), reported: list("pods", "4"), want: list("pods", "3")},
		"usage that is not known":       {want: list("pods", "5")},
		"more than the limit, reported": {used: list("pods", "7"), reported: list("pods", "7"), want: list("pods", "7")},
		"less than was reported":        {used: list("pods", "7"), reported: list("pods", "9"), want: list("pods", "7")},
		"more than was reported":        {used: list("pods", "9"), reported: list("pods", "7"), want: list("pods", "7")},
		"overcharged since the report":  {used: list("pods", "7"), reported: list("pods", "3"), want: list("pods", "5")},
		"overcharged, never reported":   {used: list("pods", "7"), want: list("pods", "5")},
		"a name of somebody else's":     {used: list("pods", "3", "secrets", "1"), want: list("pods", "3")},
	} {
		t.Run(name, func(t *testing.T) {
			quota := ledger.Quota{Spec: list("pods", "5"), Used: tc.used}
			if diff := cmp.Diff(tc.want, quota.Release(tc.reported)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
