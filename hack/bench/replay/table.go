package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// compare compares what was measured with what the project wants.
func (r *report) compare() (targets []rig.Target) {
	atMost := func(rows []row, of string, name string, bound float64, value func(row) float64) {
		if worst, ok := extreme(rows, of, value); ok {
			targets = append(targets, rig.AtMost(name, bound, worst))
		}
	}
	atLeast := func(rows []row, of string, name string, bound float64, value func(row) float64) {
		if worst, ok := extreme(rows, of, func(r row) float64 { return -value(r) }); ok {
			targets = append(targets, rig.AtLeast(name, bound, -worst))
		}
	}
	ofPooled := func(r row) float64 { return r.OfPooled }
	workOfPooled := func(r row) float64 { return r.WorkOfPooled }
	writes := func(r row) float64 { return r.Writes }
	at85 := slices.DeleteFunc(slices.Clone(r.Synthetic), func(r row) bool { return r.Load != .85 })
	atLeast(r.Synthetic, held, "synthetic: admitted ÷ pooled, worst cell", .99, ofPooled)
	atLeast(r.Tree, heldInTree, "tree: admitted ÷ pooled, worst load", .99, ofPooled)
	atMost(at85, held, "synthetic: limit writes per cluster and minute at .85", 2, writes)
	atMost(r.Steady, held, "steady: limit writes per cluster and minute", 0, writes)
	atMost(r.Helios, asynchronous, "Helios: demand left pending", .001, func(r row) float64 { return r.Pending })
	atMost(r.LCG, held, "LCG: refused although the budget had room", .03, func(r row) float64 { return r.FalseDenials })
	atLeast(r.LCG, held, "LCG: work done ÷ pooled", .99, workOfPooled)
	over := func(r row) float64 { return float64(r.Over) }
	atMost(r.Tree, heldInTree, "tree: above the budget", 0, over)
	for _, row := range r.Patient {
		if row.Policy == held {
			name := fmt.Sprintf("asked for a minute: above the budget, at %g", row.Load)
			targets = append(targets, rig.AtMost(name, 0, float64(row.Over)))
		}
	}
	for _, policy := range []string{periodic, asynchronous, held} {
		atMost(r.Synthetic, policy, "synthetic: above the budget, "+policy, 0, over)
		atMost(r.Steady, policy, "steady: above the budget, "+policy, 0, over)
		atMost(r.Helios, policy, "Helios: above the budget, "+policy, 0, over)
		atMost(r.LCG, policy, "LCG: above the budget, "+policy, 0, over)
	}
	return targets
}

// extreme is the highest value among the rows of a policy, if there are any.
func extreme(rows []row, policy string, value func(row) float64) (worst float64, ok bool) {
	for _, r := range rows {
		if r.Policy == policy && (!ok || value(r) > worst) {
			worst, ok = value(r), true
		}
	}
	return worst, ok
}

// print prints the tables.
func (r *report) print(out io.Writer) error {
	w := new(strings.Builder)
	for _, source := range r.Sources {
		fmt.Fprintf(w, "used %s\n", source)
	}
	for _, skipped := range r.Skipped {
		fmt.Fprintf(w, "skipped %s\n", skipped)
	}
	pivot(w, "synthetic: admitted ÷ pooled", r.Synthetic, func(r row) string { return fmt.Sprintf("%.3f", r.OfPooled) })
	pivot(w, "synthetic: work ÷ pooled", r.Synthetic, func(r row) string { return fmt.Sprintf("%.3f", r.WorkOfPooled) })
	pivot(
		w, "synthetic: refused although the budget had room", r.Synthetic,
		func(r row) string { return percentOf(r.FalseDenials) },
	)
	pivot(
		w,
		"synthetic: limit writes per cluster and minute (lowered, lifted for headroom)",
		r.Synthetic,
		func(r row) string {
			return fmt.Sprintf("%.2f (%.2f %.2f)", r.Writes, r.Lowered, r.Lifted)
		},
	)
	pivot(w, "synthetic: wait of those held and admitted, p50/p99, ms", r.Synthetic, func(r row) string {
		return fmt.Sprintf("%d/%d", r.WaitP50/time.Millisecond, r.WaitP99/time.Millisecond)
	})
	r.printTree(w)
	r.printPatient(w)
	pivot(
		w, "steady demand: limit writes per cluster and minute", r.Steady,
		func(r row) string { return fmt.Sprintf("%.2f", r.Writes) },
	)
	list(w, "Helios", r.Helios, "pending\twrites", func(r row) string {
		return fmt.Sprintf("%s\t%.2f", percentOf(r.Pending), r.Writes)
	})
	list(w, "LCG, 50 sites", r.LCG, "refused although room\tadmitted ÷ pooled\twork ÷ pooled\twrites", func(r row) string {
		return fmt.Sprintf("%s\t%.3f\t%.3f\t%.2f", percentOf(r.FalseDenials), r.OfPooled, r.WorkOfPooled, r.Writes)
	})
	rig.WriteTargets(w, r.Targets)
	return rig.Table(out, w.String())
}

func (r *report) printTree(w *strings.Builder) {
	list(w, "3 teams × 4 namespaces × 5 clusters", r.Tree,
		"load\tadmitted ÷ pooled\twork ÷ pooled\trefused although room\twrites\twait p50/p99, ms", func(r row) string {
			return fmt.Sprintf("%.2f\t%.3f\t%.3f\t%s\t%.2f\t%d/%d", r.Load, r.OfPooled, r.WorkOfPooled,
				percentOf(r.FalseDenials), r.Writes, r.WaitP50/time.Millisecond, r.WaitP99/time.Millisecond)
		})
}

func percentOf(part float64) string { return fmt.Sprintf("%.2f %%", 100*part) }

// pivot prints one value of each row: a line per policy, a column per load and number of clusters.
func pivot(w *strings.Builder, title string, rows []row, value func(row) string) {
	if len(rows) == 0 {
		return
	}
	var policies []string
	var head strings.Builder
	lines := map[string]string{}
	for _, r := range rows {
		if _, known := lines[r.Policy]; !known {
			policies = append(policies, r.Policy)
		}
		if r.Policy == rows[0].Policy {
			fmt.Fprintf(&head, "\t%.2f/%d", r.Load, r.Clusters)
		}
		lines[r.Policy] += "\t" + value(r)
	}
	fmt.Fprintf(w, "\n%s%s\n", title, head.String())
	for _, policy := range policies {
		fmt.Fprintf(w, "%s%s\n", policy, lines[policy])
	}
}

// list prints a line per row.
func list(w *strings.Builder, title string, rows []row, head string, values func(row) string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\t%s\n", title, head)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r.Policy, values(r))
	}
}
