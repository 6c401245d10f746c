package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/version"
)

const preamble = `# Kubernetes versions

Written by ` + "`make e2e-versions`" + `. Each line is a fleet of real control planes with the whole product on them. It plays the
smoke test, scenarios of the protocol and the [native table](evidence/native.md), which has a row for each name, kind and
scope that quota knows. Members of several versions take them in turn. What was *not run* has shown nothing.

| hub | members | smoke | scenarios | native rows | not there to show | s | failed |
|---|---|---|---:|---:|---:|---:|---|
`

const lessPreamble = `
## What is less

Kubernetes itself has less by default in older versions. What the members of a fleet do not all have cannot be shown
there, and everything else goes on. Where a budget depends on it, its conditions on the hub say so, in these words.
Elsewhere there is nothing to tell: the API server drops or refuses what it does not know, and an object is charged
for what is in it.

| what | not in | rows of the native table | what the hub says |
|---|---|---|---|
`

const elsewhere = `
## Seen on the API server of v1.32.13

Go tests of single packages were run on it by hand, as ` + "`make test`" + ` runs them on v1.36.3:

| package | what it holds | result |
|---|---|---|
| ` + "`controllers/member`" + ` | what policies and the agent do in a member | 94 tests pass; 2 fail, as they need a ` + "`MutatingAdmissionPolicy`" + `, which 1.36 serves by default |
| ` + "`internal/requirement`" + ` | the policy of ` + "`QuotaRequirement`" + `s | all rows hold but 3, of claims with a ` + "`VolumeAttributesClass`" + `, which 1.34 has by default |
| ` + "`webhooks/hub`" + ` | two tests: ` + "`TestStoredBefore`" + `, and ` + "`TestAgainstNative`" + ` with the specs of each run | pass |
| ` + "`api/v1alpha1`" + ` | the rules of the CRDs | the API server takes the CRDs, and refuses all that v1.36.3 refuses; the rows fail, as it says so in other words, such as ` + "`Invalid value: \"object\"`" + `; ` + "`TestStoredBefore`" + ` fails, as below |

A hub of 1.32 refuses more than a later one: of an object whose spec a later version of fedquota would refuse, it refuses the
status, too, though its spec has not changed. Correct the spec. The code of API servers from 1.33 on looks at such a spec
only when it changes.

## From code

* All expressions of CRDs and policies compile with the functions that Kubernetes 1.30 allows (` + "`internal/bundle`" + `, a test).
* By default, ` + "`ResourceClaim`" + `s in ` + "`resource.k8s.io/v1`" + ` are there from 1.34 on, resizes in place from 1.33, requests of a whole
  pod from 1.34, scope ` + "`VolumeAttributesClass`" + ` from 1.33 and such classes from 1.34, device classes that stand for an extended
  resource and ` + "`MutatingAdmissionPolicy`" + ` from 1.36. Pods that ask for a device class by its name as a resource,
  ` + "`deviceclass.resource.kubernetes.io/gpu`" + `, are charged from 1.35 on. Sidecars are charged in all of them.

## On paper: 1.30 and 1.31

Nothing was run on these. Policies and conditions of webhooks have their stable form since 1.30, so no earlier version will
do. Neither of the two has anything that 1.32 does not have.

## What is built

API servers and controller managers are built from Kubernetes' own module of each version, by the files
` + "`hack/controlplane/v*.mod`" + ` and their checksums. All fleets run the etcd and the kubectl of the newest version. The
controller of endpoint slices in 1.32.13 is that of 1.32.12, and no fleet runs it. Feature gates are at their defaults.
`

// pageOf returns the page of all runs.
func pageOf(runs []run) string {
	slices.SortFunc(runs, func(a, b run) int {
		if a.mixed() != b.mixed() {
			return map[bool]int{false: -1, true: 1}[a.mixed()]
		}
		return compare(a.hub, b.hub)
	})
	var b strings.Builder
	b.WriteString(preamble)
	for _, r := range runs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.hub, strings.Join(r.members, ", "), r.cells())
	}
	b.WriteString(lessPreamble)
	for _, l := range lines(runs) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n",
			l.what, strings.Join(l.versions(), ", "), strings.Join(sets.List(l.rows), "; "), l.told)
	}
	b.WriteString(elsewhere)
	return b.String()
}

// cells are those of a run behind its versions.
func (r run) cells() string {
	const notRun = "*not run* |"
	scenarios, rows := notRun, notRun
	if r.played.Has(packageScenarios) {
		smoke := "ok"
		if !r.smoke {
			smoke = "**failed**"
		}
		scenarios = fmt.Sprintf("%s | %d", smoke, r.scenarios)
	}
	if r.played.Has(packageNative) {
		rows = fmt.Sprintf("%d | %d", r.rows, len(r.less))
	}
	seconds := ""
	if len(r.played) > 0 {
		seconds = fmt.Sprintf("%.0f", r.seconds)
	}
	return fmt.Sprintf("%s | %s | %s | %s", scenarios, rows, seconds, strings.ReplaceAll(strings.Join(r.failed, ", "), "_", " "))
}

func (r run) mixed() bool { return !slices.Equal(r.members, []string{r.hub}) }

func compare(a, b string) int {
	order, _ := version.MustParseSemantic(a).Compare(b)
	return order
}

// line is what several versions do not have.
type line struct {
	what, told string
	rows, in   sets.Set[string]
}

func (l line) versions() []string {
	versions := l.in.UnsortedList()
	slices.SortFunc(versions, compare)
	return versions
}

// lines are what fleets of one version do not have, the most first. Mixed ones have what their oldest member has.
func lines(runs []run) []*line {
	var list []*line
	for _, r := range runs {
		if r.mixed() {
			continue
		}
		for _, seen := range r.less {
			i := slices.IndexFunc(list, func(l *line) bool { return l.what == seen.what })
			if i < 0 {
				i = len(list)
				list = append(list, &line{what: seen.what, told: seen.told, rows: sets.New[string](), in: sets.New[string]()})
			}
			list[i].rows.Insert(strings.ReplaceAll(seen.row, "_", " "))
			list[i].in.Insert(r.hub)
		}
	}
	slices.SortStableFunc(list, func(a, b *line) int {
		if len(a.in) != len(b.in) {
			return len(b.in) - len(a.in)
		}
		return strings.Compare(a.what, b.what)
	})
	return list
}
