//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// resultsDir is where the results of a run go.
var resultsDir = filepath.Join("..", "bin", "e2e")

// TestMain writes what the scenarios showed, when all have ended.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	code := m.Run()
	if err := writeResults(results.list); err != nil {
		fmt.Fprintln(os.Stderr, "writing the results:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func writeResults(list []result) error {
	if len(list) == 0 {
		return nil
	}
	if err := os.MkdirAll(resultsDir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(resultsDir, "safety.json"), append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(resultsDir, "safety.md"), []byte(preamble+table(list)), 0o600)
}

// preamble is what stands above the table in docs/evidence/safety.md.
const preamble = `# Safety under attack

Written by ` + "`make safety`" + `, which runs the end-to-end scenarios: a hub and three members that are real control planes on one machine, one of
them with two API servers, and the whole product on them. Where a load is given, writers created and deleted pods as fast as the API servers
answered, while the faults were injected and limits moved; a request that got another answer than these two, or none, has failed. There are
no nodes, but for the scenario of full ones: pods exist, which is what quota counts, and do not run. The quota controllers recount
everything each minute, not every five: they keep the charge of a pod that failed to be made until then. An observer that shares no code
with the product watches every version of every ResourceQuota. Excess is by how much the sum over members of max(status.hard, status.used)
was above the budget (after a cut: above what was granted before). *Proved* is what no delay of a watch can explain; *by arrival alone* may
be such a delay. *Native overcharge* is what native quota charged above its own limit, whoever had written that. *Existed* is the largest
count of what really existed, object by object, over all members: taken once all requests of the writers were answered, and before anything
of theirs was deleted; next to it the budget then (after a cut: what was granted before). A scenario is ok if nothing was proved, if no more
existed than that and what native quota overcharged, if it ended settled, and if the pods that were made before the faults, to see whether
anybody touches them, were still there.

The last two columns are what the same kind of observer saw, right after and on the same fleet, of plain ResourceQuotas in a namespace
where fedquota has no part, under the same writers: under the storm until they had half as many requests answered, else for 100 requests
after the limits were moved. *Native alone*: limits that nobody moves, or, for the cut, that are cut once. It can show
no excess but what native quota itself lets through, its overcharge, which is the measure of what a federation of it could reach.
*Naive*: somebody writes the limits of such splits into all members at once; whom he does not reach he leaves, and the same
member is paused, cut off or without its quota controller. His excess is proved in the same way; the seconds are for how long the sum
was above the budget, by arrival, out of how many that it was watched; what existed too much did so at the end. A dash: not measured.

Clocks are turned in whole processes: a manager is built with a standard library whose time.Now is off by an hour, so that all of its
libraries have that clock too. API servers, etcd and quota controllers keep the clock of the machine. Certificates of a cluster that is
younger than a clock is behind are not valid to it; those of the fleet are a day old.

What no protocol can prevent shows in no column: a member whose etcd is rolled back to a higher limit enforces that until it is told
again, and a cluster stated as destroyed while it runs keeps what it has. The scenarios of these two see that it ends by itself.

`

// table is the results for people.
func table(list []result) string {
	var b strings.Builder
	b.WriteString("| scenario | faults | load: created / refused / failed | limits moved | excess, proved | excess, by arrival alone | existed, of what was allowed | native overcharge | native alone | naive | s | |\n")
	b.WriteString("|---|---|---:|---:|---|---|---|---|---|---|---:|---|\n")
	for _, r := range list {
		name := r.Scenario[strings.IndexByte(r.Scenario, '/')+1:]
		verdict := "ok"
		if !r.Passed {
			verdict = "**failed**"
		}
		arrival := amountsOrNone(r.Unconfirmed)
		if len(r.Unconfirmed) > 0 {
			arrival += fmt.Sprintf(" for %.0f ms", 1000*r.UnconfirmedSeconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %d / %d / %d | %d | %s | %s | %s | %s | %s | %s | %.0f | %s |\n", strings.ReplaceAll(name, "_", " "),
			strings.Join(r.Faults, "; "), r.Load.Created, r.Load.Refused, r.Load.Failed, r.LimitWrites, amountsOrNone(r.Confirmed), arrival,
			r.existed(), amountsOrNone(r.Native), r.NativeAlone, r.Naive, r.Seconds, verdict)
	}
	return b.String()
}

func amountsOrNone(list corev1.ResourceList) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Trim(text(list), "{}")
}
