//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer"
)

// TestTableOfPools has a scenario of two budgets below a pool, which was exceeded: each has a row, and the pool one of
// its own, which says so.
func TestTableOfPools(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	excess := observer.Excess{Resource: cpu, Certain: resource.MustParse("3"), Largest: resource.MustParse("3"), Confirmed: true}
	report := observer.Report{Start: start, End: start.Add(time.Minute), Levels: []observer.LevelReport{
		{Name: "acme", Resources: []observer.ResourceReport{{Name: cpu, Excesses: []observer.Excess{excess}, Seen: 1}}},
		{Name: "research", Resources: []observer.ResourceReport{{Name: cpu}}},
	}}
	list := append(levelsOf("TestScenarios/a_tree", report),
		result{Scenario: "TestScenarios/a_tree", Of: "vision", Passed: true}, result{Scenario: "TestScenarios/alone", Of: "alone", Passed: true})
	got := table(list)
	for _, row := range []string{
		"| a tree: QuotaPool acme |  | 0 / 0 / 0 | 0 | requests.cpu=3 |", "| a tree: QuotaPool research |  | 0 / 0 / 0 | 0 | none |", "| a tree: vision |", "| alone |",
	} {
		if !strings.Contains(got, row) {
			t.Errorf("no row %q in\n%s", row, got)
		}
	}
	if list[0].Passed || list[0].Seconds != 60 {
		t.Errorf("the row of the pool that was exceeded is %+v", list[0])
	}
}
