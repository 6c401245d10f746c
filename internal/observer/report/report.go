// Package report is what the observer tells of what it saw and concluded.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FindingKind names something that one member showed.
type FindingKind string

// Violations: a correct operator never shows these.
const (
	// LimitBelowUsage: a write of spec.hard lowered or set a limit below status.used of the same version.
	LimitBelowUsage FindingKind = "LimitBelowUsage"
	// RevisionDown: the revision annotation went down, or was lost.
	RevisionDown FindingKind = "RevisionDown"
	// RaisedAtSameRevision: a limit was raised or taken away without a new revision, or by a release.
	RaisedAtSameRevision FindingKind = "RaisedAtSameRevision"
	// Recreated: the object has another UID than before.
	Recreated FindingKind = "Recreated"
	// LabelLost: the managed label was taken off, and not by a release.
	LabelLost FindingKind = "LabelLost"
	// SecondQuota: another ResourceQuota of the namespace carries the managed label too and counts the same objects.
	SecondQuota FindingKind = "SecondQuota"
	// RaisedInDebt: a ledger raised somebody, although more was granted than its budget.
	RaisedInDebt FindingKind = "RaisedInDebt"
	// AboveCap: the budget of a ledger was above what its pool gives.
	AboveCap FindingKind = "AboveCap"
	// NotOffered: somebody took up more than its pool offered under that revision.
	NotOffered FindingKind = "NotOffered"
)

// Not violations.
const (
	// CreatedBelowUsage: when usage became known, it was above a limit that was written before anybody could know.
	CreatedBelowUsage FindingKind = "CreatedBelowUsage"
	// Overcharged: native quota let usage rise above status.hard.
	Overcharged FindingKind = "Overcharged"
	// Deleted: the object was deleted.
	Deleted FindingKind = "Deleted"
	// Released: the object was handed over to the users of the member, whose cluster has left.
	Released FindingKind = "Released"
)

// Violation reports whether a finding of this kind is one.
func (k FindingKind) Violation() bool {
	switch k {
	case LimitBelowUsage, RevisionDown, RaisedAtSameRevision, Recreated, LabelLost, SecondQuota,
		RaisedInDebt, AboveCap, NotOffered:
		return true
	default:
		return false
	}
}

// Finding is something that one version of the object in one member showed, or of a ledger on the hub.
type Finding struct {
	Kind            FindingKind         `json:"kind"`
	Member          string              `json:"member"`
	Resource        corev1.ResourceName `json:"resource,omitempty"`
	ResourceVersion string              `json:"resourceVersion,omitempty"`
	Revision        int64               `json:"revision"`
	// At is when the version arrived.
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// Holding is what one version of one member holds of one resource name, in the unit of the resource.
type Holding struct {
	Member          string            `json:"member"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Revision        int64             `json:"revision"`
	Hard            resource.Quantity `json:"hard"`
	Used            resource.Quantity `json:"used"`
}

// Excess is one interval during which the sum over members looked larger than allowed. Amounts are in the unit of the
// resource.
type Excess struct {
	Resource corev1.ResourceName `json:"resource"`
	// Start and End are when the excess was seen by arrival; End is zero while it lasts.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	// Largest is the largest excess by arrival, Allowed what it is measured against.
	Largest resource.Quantity `json:"largest"`
	Allowed resource.Quantity `json:"allowed"`
	// Confirmed is whether the excess is proved; Certain is the largest amount that is, at an instant between
	// FirstCertain and LastCertain. Without proof, its length and the longest lag of the watches bound what it was.
	Confirmed    bool              `json:"confirmed"`
	Certain      resource.Quantity `json:"certain"`
	FirstCertain time.Time         `json:"firstCertain,omitzero"`
	LastCertain  time.Time         `json:"lastCertain,omitzero"`
	// Holdings is which versions made up the largest certain excess, or the largest seen one when none is certain.
	Holdings []Holding `json:"holdings"`
}

// Length is how long the excess was seen by arrival, until now if it lasts.
func (e Excess) Length(now time.Time) time.Duration {
	if e.End.IsZero() {
		return now.Sub(e.Start)
	}
	return e.End.Sub(e.Start)
}

// ResourceReport is what became of one resource name. Amounts are in the unit of the resource.
type ResourceReport struct {
	Name corev1.ResourceName `json:"name"`
	// Budget and Ceiling are those at the end.
	Budget  resource.Quantity `json:"budget"`
	Ceiling resource.Quantity `json:"ceiling"`
	// Last and Largest are sums over members of max(status.hard, status.used), by arrival.
	Last      resource.Quantity `json:"last"`
	Largest   resource.Quantity `json:"largest"`
	LargestAt time.Time         `json:"largestAt,omitzero"`
	// AboveBudget is how long that sum was above the budget, by arrival and for whatever reason.
	AboveBudget        metav1.Duration   `json:"aboveBudget"`
	LargestAboveBudget resource.Quantity `json:"largestAboveBudget"`
	// LargestNative is the largest part above the ceiling that native quota alone charged.
	LargestNative resource.Quantity `json:"largestNative"`
	// Seen counts excesses above the ceiling by arrival, Confirmed those of them that are proved.
	Seen      int      `json:"seen"`
	Confirmed int      `json:"confirmed"`
	Excesses  []Excess `json:"excesses,omitempty"`
	// Growths counts probes which prove that the sum grew while it was above the budget.
	Growths         int               `json:"growths"`
	LargestGrowth   resource.Quantity `json:"largestGrowth"`
	LargestGrowthAt time.Time         `json:"largestGrowthAt,omitzero"`
}

// LongestUnconfirmed is the longest listed excess by arrival that is not proved.
func (r ResourceReport) LongestUnconfirmed(now time.Time) time.Duration {
	var longest time.Duration
	for _, e := range r.Excesses {
		if !e.Confirmed {
			longest = max(longest, e.Length(now))
		}
	}
	return longest
}

// Gap is a place where versions were missed: the watch broke and could not go on where it was.
type Gap struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   string    `json:"to"`
}

// MemberReport is what the observer saw of one member.
type MemberReport struct {
	Name string `json:"name"`
	// Revision is the last revision annotation seen.
	Revision int64 `json:"revision"`
	// Versions counts all versions, Writes those in which spec.hard changed.
	Versions int `json:"versions"`
	Writes   int `json:"writes"`
	// Resumed counts watches that broke and went on without a loss.
	Resumed int   `json:"resumed"`
	Gaps    []Gap `json:"gaps,omitempty"`
	// LongestLag is the longest time by which the watch delivered a version later than a read did.
	LongestLag metav1.Duration `json:"longestLag"`
}

// ProbeReport counts the probes: those that were started, and those in which some member could not be told.
type ProbeReport struct {
	Started    int `json:"started"`
	Incomplete int `json:"incomplete"`
}

// Report is everything that the observer saw and concluded.
type Report struct {
	Namespace  string              `json:"namespace"`
	Name       string              `json:"name"`
	Start      time.Time           `json:"start"`
	End        time.Time           `json:"end"`
	StrictCuts bool                `json:"strictCuts"`
	Members    []MemberReport      `json:"members"`
	Resources  []ResourceReport    `json:"resources"`
	Counts     map[FindingKind]int `json:"counts"`
	Findings   []Finding           `json:"findings,omitempty"`
	Probes     ProbeReport         `json:"probes"`
	// Levels are what became of the budgets of some of the places, and Ledgers what those on the hub showed.
	Levels  []LevelReport  `json:"levels,omitempty"`
	Ledgers []LedgerReport `json:"ledgers,omitempty"`
}

// LevelReport is what became of the budget of some of the places.
type LevelReport struct {
	Name      string           `json:"name"`
	Resources []ResourceReport `json:"resources"`
}

// LedgerReport is what the observer saw of one ledger.
type LedgerReport struct {
	// Name is QuotaPool/NAME or FederatedQuota/NAMESPACE/NAME.
	Name string `json:"name"`
	// Versions counts all versions, and Gaps where some were missed.
	Versions  int              `json:"versions"`
	Gaps      int              `json:"gaps,omitempty"`
	Resources []LedgerResource `json:"resources,omitempty"`
}

// LedgerResource is what a ledger granted of one resource name, in its unit.
type LedgerResource struct {
	Name corev1.ResourceName `json:"name"`
	// Budget is the last one.
	Budget resource.Quantity `json:"budget"`
	// Largest is the largest sum of what was granted, and LargestDebt the largest part of such a sum above its budget:
	// while there is any, nobody may be raised.
	Largest     resource.Quantity `json:"largest"`
	LargestDebt resource.Quantity `json:"largestDebt"`
}

// Violations returns, as one line each, what a correct operator never shows: proved excesses, violations in a member,
// and proved growth above the budget where Options.StrictCuts asks for it. Unconfirmed and native excesses are not in
// it, nor are the kinds of findings that are excepted, because what was done to the system brings them.
func (r Report) Violations(except ...FindingKind) []string {
	var lines []string
	for _, res := range r.Resources {
		lines = append(lines, res.violations(r.Start, r.StrictCuts)...)
	}
	for _, l := range r.Levels {
		for _, res := range l.Resources {
			for _, line := range res.violations(r.Start, false) {
				lines = append(lines, l.Name+": "+line)
			}
		}
	}
	for _, f := range r.Findings {
		if f.Kind.Violation() && !slices.Contains(except, f.Kind) {
			lines = append(lines, f.line(r.Start))
		}
	}
	return lines
}

func (r ResourceReport) violations(start time.Time, strictCuts bool) []string {
	var lines []string
	for _, e := range r.Excesses {
		if e.Confirmed {
			lines = append(lines, e.line(start))
		}
	}
	if strictCuts && r.Growths > 0 {
		lines = append(lines, fmt.Sprintf("%s grew while above the budget, %d times, by up to %s at +%s",
			r.Name, r.Growths, r.LargestGrowth.String(), since(start, r.LargestGrowthAt)))
	}
	return lines
}

func (e Excess) line(start time.Time) string {
	if !e.Confirmed {
		return fmt.Sprintf("unconfirmed excess of %s: %s above %s at +%s%s",
			e.Resource, e.Largest.String(), e.Allowed.String(), since(start, e.Start), parts(e.Holdings))
	}
	return fmt.Sprintf("excess of %s: %s above %s, certain from +%s to +%s%s", e.Resource, e.Certain.String(),
		e.Allowed.String(), since(start, e.FirstCertain), since(start, e.LastCertain), parts(e.Holdings))
}

func parts(holdings []Holding) string {
	var text strings.Builder
	for _, h := range holdings {
		fmt.Fprintf(
			&text, "; %s@%s revision %d hard %s used %s", h.Member, h.ResourceVersion, h.Revision, h.Hard.String(),
			h.Used.String(),
		)
	}
	return text.String()
}

func (f Finding) line(start time.Time) string {
	line := fmt.Sprintf("%s in %s@%s at +%s", f.Kind, f.Member, f.ResourceVersion, since(start, f.At))
	if f.Resource != "" {
		line += " " + string(f.Resource)
	}
	return line + ": " + f.Message
}

// since is a time as an offset from the start of the run, to the microsecond.
func since(start, at time.Time) time.Duration {
	return at.Sub(start).Round(time.Microsecond)
}
