//go:build e2e

package native_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// page is where the page is written, which make native copies to docs.
var page = filepath.Join("..", "..", "bin", "e2e", "native.md")

// writePage writes what the rows showed.
func writePage(version string, rows []row, seen map[string]sight) error {
	var b strings.Builder
	slips := 0
	for _, s := range seen {
		slips += s.slips
	}
	fmt.Fprintf(&b, preamble, len(rows), version, slips)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.text)
		fmt.Fprintf(&b, "| %s | charge | limits at first | %s | |\n", s.columns, s.moments)
		fmt.Fprintf(&b, "|---|---|---:|---:|---:|---:|---|\n")
		for i := range rows {
			if r := &rows[i]; r.section == s.title {
				shown := seen[r.title()]
				fmt.Fprintf(&b, "| %s | %s |%s %s |\n", s.cells(r), r.unit, shown.columns(), cmp.Or(shown.note, r.note))
			}
		}
	}
	b.WriteString(unseen)
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(b.String()), 0o600)
}

// columns are the limits of both members at the three moments.
func (s sight) columns() string {
	var b strings.Builder
	for _, limits := range s.limits {
		cell := ""
		if limits != [2]resource.Quantity{} {
			cell = limits[0].String() + " + " + limits[1].String()
		}
		fmt.Fprintf(&b, " %s |", cell)
	}
	return b.String()
}

// table is a part of the page.
type table struct {
	title   section
	text    string
	columns string
	cells   func(*row) string
	moments string // when limits are read after the first time
}

const usual = "with all in `east` | with one in each"

var sections = []table{
	{sectionNames, textNames, "name | object", nameAndKind, usual},
	{sectionCounts, textCounts, "name | object", nameAndKind, usual},
	{sectionScopes, textScopes, "scope | name", whatAndName, usual},
	{sectionFeatures, textFeatures, "what | name", whatAndName, usual},
	{sectionWhole, textWhole, "budget | name", whatAndName, "with 3 pods | at last"},
}

func whatAndName(r *row) string { return fmt.Sprintf("%s | `%s`", r.what, r.name) }

func nameAndKind(r *row) string {
	var object struct{ Kind string }
	if err := yaml.Unmarshal([]byte(r.object), &object); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("`%s` | %s", r.name, object.Kind)
}

const preamble = `# What native quota counts, over two clusters

Written by ` + "`make native`" + `. It starts a hub and the members ` + "`east` and `west`" + `, real control planes with the whole
product on them, and plays %[1]d rows with real objects on Kubernetes %[2]s. Each row has a namespace of its own, and a
` + "`FederatedQuota`" + ` in mode ` + "`Auto`" + ` without headroom, whose budget has room for two objects. Unless the row says
something else, these are its steps, and each of them must come true:

1. **Charged.** An object is created in ` + "`east`" + `, and ` + "`status.used`" + ` of its ` + "`ResourceQuota`" + ` is the charge.
2. **Moved.** ` + "`east`" + ` has no room for a second object. It is created all the same: the part of ` + "`west`" + ` moves to
   ` + "`east`" + `.
3. **Refused.** A third object is refused in ` + "`east`" + `, and a first one in ` + "`west`" + `, by the agent in the words of native
   quota. They name what is requested, used and limited, so agent and native quota agree about the charge.
4. **Released.** An object is deleted in ` + "`east`" + `, and ` + "`status.used`" + ` falls.
5. **Moved back.** An object is created in ` + "`west`" + `.

The page is written only if every row comes out so. Limits are those in force, of ` + "`east`" + ` and ` + "`west`" + `. Native quota let
%[3]d requests through beyond a limit in this run, because it had not counted an object that was just made
([limits](../limits.md#native-quota-is-imprecise-under-a-storm)). Such a step was played again. Pods do not run: there is
no kubelet, and no charge depends on one.
`

const textNames = "The names that Kubernetes gives a meaning. `gold` and `gpu` stand for classes, `nvidia.com/gpu` for any extended\n" +
	"resource. Each namespace has a `ConfigMap` that Kubernetes makes, and the `ResourceQuota` itself. They are charged, too."

const textCounts = "Every kind of object that a member serves in namespaces, and a custom resource, `widgets.example.com`. No quota counts\n" +
	"events, and of `QuotaShare`, which the hub alone may create, there is no row. The test asks the API server for its\n" +
	"kinds, and fails if one has no row."

const textScopes = "All scopes, written in `scopes` and in `scopeSelector`, with every operator that each takes. Once `east` has all, an\n" +
	"object that the scope leaves out is created there, and not charged. The last column says what is counted, and what is\n" +
	"left out."

const textFeatures = "What decides what an object is charged beyond its own text, and what changes its charge while it is there. An object\n" +
	"that grows asks for all in `east`, is refused more, and makes room for one in `west` as it shrinks.\n\n" +
	"Native quota counts down as soon as an object is deleted, a pod ends, the status of a container says less, or a\n" +
	"Service changes its type. It counts down for a smaller claim, for fewer ports of a Service and for a smaller pod that\n" +
	"does not run only when it counts everything again: every five minutes by default, and every ten seconds here. Limits\n" +
	"follow what it counts."

const textWhole = "Limits of counts, extended resources and bytes are whole numbers, in every mode; those of cpu are whole thousandths. In\n" +
	"mode `Auto`, a raise for a request is for all of it: no cluster gets a part of a request that another cluster could use\n" +
	"([decision 0039](../decisions/0039-whole-units-and-kinds.md)). While nobody asks, the rest is split by weight, and a limit\n" +
	"may be less than a request, as the limits at first show. It becomes what fits once somebody asks. With `granularity`,\n" +
	"limits are whole steps, except where that would keep somebody from what it needs."

const unseen = `
## What the agent does not see

Native quota alone judges a ` + "`ResourceClaim`" + ` that the scheduler makes for the extended resources of a pod, and charges it
for what it does not charge the pod: [what happens](../what-happens-when.md#the-webhook-cannot-tell-what-a-request-is-charged).

Names that a ` + "`ResourceQuota`" + ` takes and never counts, such as ` + "`nvidia.com/gpu` without `requests.`" + `, are refused in a
` + "`FederatedQuota`" + `: [conformance](conformance.md#the-same-is-refused).
`
