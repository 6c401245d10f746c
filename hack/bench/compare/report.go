package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// columns are the ways in the order of the table.
var columns = []string{"fedquota", "karmada", "static", "pool"}

// row is one line of the table.
type row struct {
	name string
	// value is what was measured of a way, given what was of one pool. A smaller one is better unless more is.
	value  func(r, pool result) float64
	more   bool
	format string
	// fleet says that the row means nothing for one pool.
	fleet bool
	// brief rows are those that the README shows.
	brief bool
}

var rows = []row{
	{
		name: "admitted within 1 s ÷ pooled", more: true, format: "%.3f",
		value: func(r, pool result) float64 { return ratio(r.AdmittedIn1s, pool.AdmittedIn1s) },
	},
	{
		name: "admitted within 5 s ÷ pooled", more: true, format: "%.3f",
		value: func(r, pool result) float64 { return ratio(r.AdmittedIn5s, pool.AdmittedIn5s) },
	},
	{
		name: "first requests refused although the budget had room, %", format: "%.1f", brief: true,
		value: func(r, _ result) float64 { return 100 * ratio(r.InVain, r.Pods) },
	},
	{
		name: "answer to a request, p50, ms", format: "%.1f", brief: true,
		value: func(r, _ result) float64 { return r.Answers.P50 },
	},
	{
		name: "answer to a request, p99, ms", format: "%.1f",
		value: func(r, _ result) float64 { return r.Answers.P99 },
	},
	{
		name: "budget stays: most above it, cpu", format: "%.1f",
		value: func(r, _ result) float64 { return r.Above.Largest },
	},
	{
		name: "budget cut: most above it, cpu", format: "%.1f",
		value: func(r, _ result) float64 { return r.Changes.Cut.Largest },
	},
	{
		name: "budget cut: how long, s", format: "%.2f",
		value: func(r, _ result) float64 { return r.Changes.Cut.Seconds },
	},
	{
		name: "parts moved: most above the budget, cpu", fleet: true, format: "%.1f",
		value: func(r, _ result) float64 { return r.Changes.Moved.Largest },
	},
	{
		name: "parts moved: how long, s", fleet: true, format: "%.2f",
		value: func(r, _ result) float64 { return r.Changes.Moved.Seconds },
	},
	{
		name: "parts moved, one cluster away: most above the budget, cpu", fleet: true, format: "%.1f",
		value: func(r, _ result) float64 { return r.Changes.Away.Largest },
	},
	{
		name: "parts moved, one cluster away: how long, s", fleet: true, format: "%.2f",
		value: func(r, _ result) float64 { return r.Changes.Away.Seconds },
	},
	{
		name: "parts moved: most above the budget by limits, proved, cpu", fleet: true, format: "%.1f",
		value: func(r, _ result) float64 { return r.Changes.Moved.Proved },
	},
	{
		name: "parts moved, one cluster away: most above by limits, proved, cpu", fleet: true, brief: true, format: "%.1f",
		value: func(r, _ result) float64 { return r.Changes.Away.Proved },
	},
	{
		name: "raised budget in force everywhere, p50, ms", format: "%.0f",
		value: func(r, _ result) float64 { return r.InForce.Raised.P50 },
	},
	{
		name: "raised budget in force everywhere, longest, ms", format: "%.0f",
		value: func(r, _ result) float64 { return r.InForce.Raised.Longest },
	},
	{
		name: "cut budget in force everywhere, p50, ms", format: "%.0f",
		value: func(r, _ result) float64 { return r.InForce.Cut.P50 },
	},
	{
		name: "cut budget in force everywhere, longest, ms", format: "%.0f",
		value: func(r, _ result) float64 { return r.InForce.Cut.Longest },
	},
	{
		name: "control programs: CPU under load and changes, s", format: "%.1f",
		value: func(r, _ result) float64 { return r.Cost.CPUSeconds },
	},
	{
		name: "control programs: peak memory, MiB", format: "%.0f",
		value: func(r, _ result) float64 { return r.Cost.PeakMiB },
	},
}

func ratio(part, whole int) float64 { return float64(part) / float64(max(1, whole)) }

// cell is the value of a way as the table shows it.
func (r row) cell(column string, results map[string]result) string {
	if r.fleet && column == "pool" {
		return "-"
	}
	return fmt.Sprintf(r.format, r.value(results[column], results["pool"]))
}

// behind says whether Karmada or static quotas did better than fedquota, as far as the table shows.
func (r row) behind(results map[string]result) bool {
	ours := r.value(results["fedquota"], results["pool"])
	for _, column := range []string{"karmada", "static"} {
		theirs := r.value(results[column], results["pool"])
		better := theirs < ours
		if r.more {
			better = theirs > ours
		}
		if better && r.cell(column, results) != r.cell("fedquota", results) {
			return true
		}
	}
	return false
}

func (r row) line(results map[string]result) string {
	cells := []string{r.name}
	for _, column := range columns {
		cells = append(cells, r.cell(column, results))
	}
	return strings.Join(cells, "\t") + "\n"
}

const head = "\tfedquota\tKarmada\tstatic quotas\tone pool\n"

// sorted returns the lines of the rows in which Karmada or static quotas did better, and those of the others.
func sorted(results map[string]result, shown func(row) bool) (behind, other string) {
	for _, r := range rows {
		switch {
		case !shown(r):
		case r.behind(results):
			behind += r.line(results)
		default:
			other += r.line(results)
		}
	}
	return behind, other
}

// printBrief prints the rows for the README.
func printBrief(out io.Writer, results map[string]result) error {
	behind, other := sorted(results, func(r row) bool { return r.brief })
	return rig.Table(out, head+behind+other)
}

// printTables prints all rows. Those in which Karmada or static quotas did better come first.
func printTables(out io.Writer, results map[string]result) error {
	behind, other := sorted(results, func(row) bool { return true })
	var b strings.Builder
	ours := results["fedquota"]
	for i, column := range columns {
		if i == 0 || results[column].Machine.Load != ours.Machine.Load {
			fmt.Fprintf(&b, "%s (%s)\n", results[column].Machine, column)
		}
	}
	fmt.Fprintf(&b, "%s\nbudget %.3f cpu; %d pods counted\n", ours.Load, float64(ours.Budget)/1000, ours.Pods)
	fmt.Fprintf(&b, "\nKarmada or static quotas do better than fedquota%s%s", head, behind)
	fmt.Fprintf(&b, "\nfedquota does better, or as well%s%s", head, other)
	return rig.Table(out, b.String())
}
