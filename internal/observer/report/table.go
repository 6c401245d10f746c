package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// How many unconfirmed excesses per resource name, and how many violations the table shows; the report has more.
const (
	shownUnconfirmed = 3
	shownViolations  = 20
)

// WriteTable writes the report for people.
func (r Report) WriteTable(out io.Writer) error {
	w := &bytes.Buffer{}
	fmt.Fprintf(w, "%s in %d members, watched for %s\n\n",
		r.what(), len(r.Members), r.End.Sub(r.Start).Round(time.Millisecond))
	r.writeResources(w)
	r.writeMembers(w)
	r.writeNotes(w)
	r.writeVerdict(w)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := w.WriteTo(table); err != nil {
		return err
	}
	return table.Flush()
}

func (r Report) writeResources(w *bytes.Buffer) {
	writeResources(w, r.Resources, r.End)
	for _, l := range r.Levels {
		fmt.Fprintf(w, "\n%s\n", l.Name)
		writeResources(w, l.Resources, r.End)
	}
	for _, l := range r.Ledgers {
		fmt.Fprintf(w, "\nLedger of %s, %d versions, %d gaps\n", l.Name, l.Versions, l.Gaps)
		fmt.Fprintln(w, "RESOURCE\tBUDGET\tLARGEST GRANTED\tLARGEST DEBT")
		for _, res := range l.Resources {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", res.Name, res.Budget.String(), res.Largest.String(), res.LargestDebt.String())
		}
	}
}

func writeResources(w *bytes.Buffer, resources []ResourceReport, end time.Time) {
	fmt.Fprintln(
		w,
		"RESOURCE\tBUDGET\tCEILING\tLAST\tLARGEST\tABOVE BUDGET\tBY\tNATIVE\tEXCESSES SEEN\tCONFIRMED\tLONGEST UNCONFIRMED\tGROWTHS",
	)
	for _, res := range resources {
		fmt.Fprintf(
			w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\n", res.Name, res.Budget.String(), res.Ceiling.String(),
			res.Last.String(), res.Largest.String(), res.AboveBudget.Round(time.Microsecond), res.LargestAboveBudget.String(),
			res.LargestNative.String(), res.Seen, res.Confirmed, res.LongestUnconfirmed(end).Round(time.Microsecond),
			res.Growths,
		)
	}
}

// what says what was watched.
func (r Report) what() string {
	if r.Name == "" {
		return "ResourceQuotas"
	}
	return "ResourceQuota " + r.Namespace + "/" + r.Name
}

func (r Report) writeMembers(w *bytes.Buffer) {
	fmt.Fprintln(w, "\nMEMBER\tREVISION\tVERSIONS\tWRITES\tRESUMED\tGAPS\tLONGEST LAG")
	for _, m := range r.Members {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", m.Name, m.Revision, m.Versions, m.Writes, m.Resumed, len(m.Gaps),
			m.LongestLag.Round(time.Microsecond))
	}
	fmt.Fprintf(w, "\n%d probes, %d of them could not tell every member\n", r.Probes.Started, r.Probes.Incomplete)
}

// writeNotes writes what is remarkable and no violation.
func (r Report) writeNotes(w *bytes.Buffer) {
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		if !kind.Violation() {
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == kind })
			fmt.Fprintf(w, "\n%d × %s, first: %s\n", r.Counts[kind], kind, r.Findings[i].line(r.Start))
		}
	}
	for _, res := range r.Resources {
		shown := 0
		for _, e := range res.Excesses {
			if !e.Confirmed && shown < shownUnconfirmed {
				shown++
				fmt.Fprintf(w, "\n%s, seen for %s\n", e.line(r.Start), e.Length(r.End).Round(time.Microsecond))
			}
		}
	}
}

func (r Report) writeVerdict(w *bytes.Buffer) {
	violations := r.Violations()
	fmt.Fprintf(w, "\n%d violations\n", len(violations))
	for _, line := range violations[:min(shownViolations, len(violations))] {
		fmt.Fprintln(w, "  "+line)
	}
	if more := len(violations) - shownViolations; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
}
