package main

import (
	_ "embed" // for beside
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/version"
)

const preamble = `# Kubernetes versions

Written by ` + "`make e2e-versions`" + `. Each line is a fleet of real control planes with the whole product on
them. It plays the smoke test, scenarios of the protocol and the [native table](evidence/native.md), which has a row for
each name, kind and scope that quota knows. Members of several versions take them in turn. What was *not run* has shown
nothing. Results stay until their fleet is run again: a line holds for the product of its day.

| hub | members | smoke | scenarios | native rows | not there to show | s | day | failed |
|---|---|---|---:|---:|---:|---:|---|---|
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

// beside is what is known of older versions beside what fleets have shown.
//
//go:embed beside.md
var beside string

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
	b.WriteString("\n" + beside)
	return b.String()
}

// cells are those of a run behind its versions.
func (r run) cells() string {
	const notRun = "*not run* |"
	scenarios, rows := notRun, notRun
	if r.scenarios != nil {
		smoke := "ok"
		if !r.scenarios.Smoke {
			smoke = "**failed**"
		}
		scenarios = fmt.Sprintf("%s | %d", smoke, r.scenarios.Passed)
	}
	if r.native != nil {
		rows = fmt.Sprintf("%d | %d", r.native.Passed, len(r.native.Less))
	}
	seconds, day := "", ""
	if len(r.played()) > 0 {
		seconds, day = fmt.Sprintf("%.0f", r.seconds()), r.day()
	}
	failed := strings.ReplaceAll(strings.Join(r.failed(), ", "), "_", " ")
	return fmt.Sprintf("%s | %s | %s | %s | %s", scenarios, rows, seconds, day, failed)
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
		if r.mixed() || r.native == nil {
			continue
		}
		for _, seen := range r.native.Less {
			i := slices.IndexFunc(list, func(l *line) bool { return l.what == seen.What })
			if i < 0 {
				i = len(list)
				list = append(list, &line{what: seen.What, told: seen.Told, rows: sets.New[string](), in: sets.New[string]()})
			}
			list[i].rows.Insert(strings.ReplaceAll(seen.Row, "_", " "))
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
