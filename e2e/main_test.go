//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	// Those of the two tests come in any order, and of each one in its own.
	slices.SortStableFunc(list, func(a, b result) int { return strings.Compare(a.test(), b.test()) })
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

Written by ` + "`make safety`" + `. It runs the end-to-end scenarios on a hub and three members with the whole product on them. All
are real control planes on one machine, and one member has two API servers. An observer that shares no code with the
product watches every version of every ResourceQuota.

* **Load.** Where a load is given, writers created and deleted pods as fast as the API servers answered, while the faults
  were injected and limits moved. A request has *failed* if it got no answer, or another one than created or refused.
* **Pods** exist, which is what quota counts, and do not run. There are no nodes, except in the scenario of full ones.
* **Quota controllers** recount everything every 15 seconds, not every five minutes. Until then they keep the charge of
  a pod that could not be made.
* **Excess** is the amount by which the sum over members of max(status.hard, status.used) was above the budget. After a cut
  it is the amount above what was granted before. *Proved* is what no delay of a watch can explain. *By arrival alone* may
  be such a delay.
* **Pools.** Where a scenario has several budgets, each has a row. That of a QuotaPool is about the sum over all that is
  below it, for as long as it was judged.
* **Native overcharge** is what native quota charged above its own limit, whoever had written that limit.
* **Existed** is the largest count of what really existed, object by object, over all members. It is taken once all requests
  of the writers were answered, and before anything of theirs was deleted. Next to it is the budget at that time, and after
  a cut what was granted before.

A scenario is *ok* if four things hold. No excess was proved. No more existed than was allowed, plus the native overcharge.
All clusters were settled at the end. And the pods that were made before the faults, to see whether anybody touches them,
were still there.

The last two columns are for comparison. The same kind of observer watched plain ResourceQuotas, right after and on the same
fleet, in a namespace where fedquota has no part. The same writers wrote there: in the storm until they had half as many
answers, else for 100 requests after the limits were moved. A dash means that it was not measured.

* **Native alone**: nobody moves the limits. For the cut, they are cut once. All excess is overcharge of native quota: no
  federation of native quota can do better.
* **Naive**: somebody writes the limits of the same splits into all members at once, and leaves out a member that does not
  answer. The same member is paused, cut off or without its quota controller. Excess is proved in the same way. The seconds
  say for how long the sum was above the budget, by arrival, and for how long it was watched. What existed beyond the budget
  did so at the end.

A clock is set wrong for a whole process: a manager is built with a standard library whose time.Now is off by an hour, so
all of its libraries have that clock, too. API servers, etcd and quota controllers keep the clock of the machine. A process
whose clock is behind does not accept certificates that are younger than that, so those of the fleet are a day old.

Two things that no protocol can prevent show in no column. A member whose etcd is rolled back to a higher limit enforces
that until it is told again. A cluster that is stated as destroyed while it runs keeps what it has. The scenarios of these
two check that both end by themselves.

`

// table is the results for people.
func table(list []result) string {
	var b strings.Builder
	b.WriteString("| scenario | faults | load: created / refused / failed | limits moved | excess, proved | excess, by arrival alone | existed, of what was allowed | native overcharge | native alone | naive | s | |\n")
	b.WriteString("|---|---|---:|---:|---|---|---|---|---|---|---:|---|\n")
	rows := map[string]int{}
	for _, r := range list {
		rows[r.Scenario]++
	}
	for _, r := range list {
		name := r.Scenario[strings.IndexByte(r.Scenario, '/')+1:]
		if rows[r.Scenario] > 1 {
			name += ": " + r.Of
		}
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
