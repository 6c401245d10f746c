package main

import (
	"fmt"
	"slices"
	"strings"
)

// all returns every protection, in the order of the table.
func all() []mutant {
	return slices.Concat(ledgerMutants, hubMutants, poolMutants, scaleOutMutants, agentMutants, configMutants)
}

const introduction = `# Protections, and the tests that know them

Written by ` + "`make mutants`" + `. For each protection of the protocol it takes that protection out of a copy of the
tree, and demands that the test named beside it compiles, runs and fails. With all protections in place the same tests
pass. So nobody can remove a protection by mistake without a test that fails.

| protection | where | test that fails without it |
|---|---|---|
`

// document is the table for people.
func document(list []mutant) string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, m := range list {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` in `%s` |\n", m.protection, m.place(), m.test, m.pkg)
	}
	return b.String()
}
