package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

const (
	// ManagedLabel is that of a ResourceQuota that enforces a share.
	ManagedLabel       = "quota.fedquota.io/managed"
	revisionAnnotation = "quota.fedquota.io/revision"
	releasedAnnotation = "quota.fedquota.io/released"
)

// Step says how a version follows the one before it.
type Step int

const (
	// Next is the very next version of the object.
	Next Step = iota
	// First is what was there when the observer began.
	First
	// Gap comes out of a list that replaced a broken watch: versions before it were missed.
	Gap
)

// version is what one version of a ResourceQuota says. The zero value is an absent object.
type version struct {
	resourceVersion string
	uid             types.UID
	arrived         time.Time
	step            Step
	// labelled is whether this version carries the managed label, managed whether this object ever did.
	labelled bool
	managed  bool
	// released is whether it says that it was handed over to the users of the member.
	released bool
	// scopes is which objects it counts.
	scopes   string
	revision int64
	spec     corev1.ResourceList
	hard     corev1.ResourceList
	used     corev1.ResourceList
	// overcharged is the part of used that native quota let rise above the limit in force.
	overcharged corev1.ResourceList
}

// newVersion reads rq, which is nil when the object is absent, as the version that follows previous.
func newVersion(previous version, rq *corev1.ResourceQuota, arrived time.Time, how Step) version {
	if rq == nil {
		return version{arrived: arrived, step: how}
	}
	labelled := rq.Labels[ManagedLabel] == "true"
	v := version{
		resourceVersion: rq.ResourceVersion,
		uid:             rq.UID,
		arrived:         arrived,
		step:            how,
		labelled:        labelled,
		managed:         labelled || (previous.managed && previous.uid == rq.UID),
		released:        !labelled && rq.Annotations[releasedAnnotation] != "",
		scopes:          ScopesOf(rq),
		revision:        revisionOf(rq),
		spec:            rq.Spec.Hard,
		hard:            rq.Status.Hard,
		used:            rq.Status.Used,
	}
	if v.released && v.managed {
		v.revision = previous.revision // a release takes the annotation away, and is of the revision that was enforced
	}
	v.overcharged = overcharge(previous, v)
	return v
}

// revisionOf returns the revision annotation; one that is missing or unreadable is older than any other.
func revisionOf(rq *corev1.ResourceQuota) int64 {
	revision, err := strconv.ParseInt(rq.Annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// ScopesOf returns the scopes of rq in one form, however they are written.
func ScopesOf(rq *corev1.ResourceQuota) string {
	var all []string
	for _, scope := range rq.Spec.Scopes {
		all = append(all, fmt.Sprintln(scope, corev1.ScopeSelectorOpExists, []string{}))
	}
	if selector := rq.Spec.ScopeSelector; selector != nil {
		for _, e := range selector.MatchExpressions {
			all = append(all, fmt.Sprintln(e.ScopeName, e.Operator, slices.Sorted(slices.Values(e.Values))))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "")
}

func (v version) exists() bool { return v.uid != "" }

// recorded returns max(status.hard, status.used) of a managed object, in the unit of the resource, and zero else.
func (v version) recorded(name corev1.ResourceName) resource.Quantity {
	if !v.managed {
		return resource.Quantity{}
	}
	return quantity.Larger(v.hard[name], v.used[name])
}

// held returns what is recorded without the part that native quota overcharged.
func (v version) held(name corev1.ResourceName) resource.Quantity {
	if !v.managed {
		return resource.Quantity{}
	}
	return quantity.Minus(v.recorded(name), v.overcharged[name])
}

// overcharge returns, per resource name, how much of the usage of next rose above the limit in force by charges: what
// previous carried plus what this step added, as far as usage is still above the limit. Across a gap a charge is
// assumed wherever there can have been one, so that a gap accuses nobody.
func overcharge(previous, next version) corev1.ResourceList {
	total := corev1.ResourceList{}
	for name, used := range next.used {
		hard, limited := next.hard[name]
		over, isOver := quantity.Above(used, hard)
		if !limited || !isOver {
			continue
		}
		carried := previous.overcharged[name]
		if _, known := previous.used[name]; known {
			carried = quantity.Plus(carried, chargedAbove(previous.used[name], used, hard))
		}
		if part := quantity.Smaller(carried, over); !part.IsZero() {
			total[name] = part
		}
	}
	return total
}

// chargedAbove returns how much the rise of usage from before to after is above hard.
func chargedAbove(before, after, hard resource.Quantity) resource.Quantity {
	if rise, rose := quantity.Above(after, quantity.Larger(before, hard)); rose {
		return rise
	}
	return resource.Quantity{}
}

// memory is what the last managed version of a member has shown, across deletions and gaps.
type memory struct {
	revision int64
	uid      types.UID
}

// after returns the memory once v was seen.
func (m memory) after(v version) memory {
	if !v.managed {
		return m
	}
	return memory{revision: v.revision, uid: v.uid}
}

// compare returns what is remarkable about the step from previous to next.
func compare(past memory, previous, next version) []report.Finding {
	if next.step == First {
		return nil
	}
	findings := compareIdentity(past, previous, next)
	if next.step == Next && next.managed && next.uid == previous.uid {
		findings = append(findings, compareLimits(previous, next)...)
		findings = append(findings, compareUsage(previous, next)...)
	}
	return findings
}

func compareIdentity(past memory, previous, next version) []report.Finding {
	var findings []report.Finding
	add := func(kind report.FindingKind, format string, args ...any) {
		findings = append(findings, report.Finding{Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
	if previous.managed && !next.exists() {
		add(report.Deleted, "deleted at revision %d", previous.revision)
	}
	if next.managed && next.revision < past.revision {
		add(report.RevisionDown, "revision went from %d to %d", past.revision, next.revision)
	}
	if next.managed && past.uid != "" && past.uid != next.uid {
		add(report.Recreated, "UID went from %s to %s", past.uid, next.uid)
	}
	if previous.labelled && next.managed && !next.labelled {
		findings = append(findings, unlabelled(next))
	}
	return findings
}

// unlabelled is what it means that the managed label is gone.
func unlabelled(v version) report.Finding {
	if v.released {
		return report.Finding{Kind: report.Released, Message: fmt.Sprintf("handed over at revision %d", v.revision)}
	}
	return report.Finding{Kind: report.LabelLost, Message: fmt.Sprintf("label %s is gone", ManagedLabel)}
}

// compareLimits judges a write of spec.hard; previous and next are the same object.
func compareLimits(previous, next version) []report.Finding {
	var findings []report.Finding
	for _, name := range sets.List(sets.KeySet(previous.spec).Union(sets.KeySet(next.spec))) {
		before, had := previous.spec[name]
		after, has := next.spec[name]
		lowered := has && (!had || after.Cmp(before) < 0)
		raised := had && (!has || after.Cmp(before) > 0)
		used := next.used[name]
		if lowered && used.Cmp(after) > 0 {
			findings = append(findings, report.Finding{Kind: report.LimitBelowUsage, Resource: name, Message: fmt.Sprintf(
				"limit set from %s to %s below usage %s", text(before, had), after.String(), used.String())})
		}
		if raised && previous.managed && next.revision == previous.revision {
			findings = append(findings, report.Finding{Kind: report.RaisedAtSameRevision, Resource: name, Message: fmt.Sprintf(
				"limit raised from %s to %s at revision %d", before.String(), text(after, has), next.revision)})
		}
	}
	return findings
}

// compareUsage judges the usage that next records; previous and next are the same object.
func compareUsage(previous, next version) []report.Finding {
	var findings []report.Finding
	for _, name := range slices.Sorted(maps.Keys(next.used)) {
		used, before := next.used[name], previous.used[name]
		_, known := previous.used[name]
		limit, limited := next.spec[name]
		hard, inForce := next.hard[name]
		switch {
		case !known && limited && used.Cmp(limit) > 0:
			findings = append(findings, report.Finding{Kind: report.CreatedBelowUsage, Resource: name, Message: fmt.Sprintf(
				"usage first known as %s, limit %s", used.String(), limit.String())})
		case known && inForce && used.Cmp(before) > 0 && used.Cmp(hard) > 0:
			findings = append(findings, report.Finding{Kind: report.Overcharged, Resource: name, Message: fmt.Sprintf(
				"usage rose from %s to %s above the limit in force %s", before.String(), used.String(), hard.String())})
		}
	}
	return findings
}

func text(q resource.Quantity, set bool) string {
	if !set {
		return "none"
	}
	return q.String()
}

// holding is what a version holds of a resource name.
func holding(member string, v version, name corev1.ResourceName) report.Holding {
	return report.Holding{
		Member: member, ResourceVersion: v.resourceVersion, Revision: v.revision, Hard: v.hard[name], Used: v.used[name],
	}
}
