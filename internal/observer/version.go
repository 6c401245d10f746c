package observer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

const (
	managedLabel       = "quota.fedquota.io/managed"
	revisionAnnotation = "quota.fedquota.io/revision"
	releasedAnnotation = "quota.fedquota.io/released"
)

// step says how a version follows the one before it.
type step int

const (
	// stepNext is the very next version of the object.
	stepNext step = iota
	// stepFirst is what was there when the observer began.
	stepFirst
	// stepGap comes out of a list that replaced a broken watch: versions before it were missed.
	stepGap
)

// version is what one version of a ResourceQuota says. The zero value is an absent object.
type version struct {
	resourceVersion string
	uid             types.UID
	arrived         time.Time
	step            step
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
func newVersion(previous version, rq *corev1.ResourceQuota, arrived time.Time, how step) version {
	if rq == nil {
		return version{arrived: arrived, step: how}
	}
	labelled := rq.Labels[managedLabel] == "true"
	v := version{
		resourceVersion: rq.ResourceVersion,
		uid:             rq.UID,
		arrived:         arrived,
		step:            how,
		labelled:        labelled,
		managed:         labelled || (previous.managed && previous.uid == rq.UID),
		released:        !labelled && rq.Annotations[releasedAnnotation] != "",
		scopes:          scopesOf(rq),
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

// scopesOf returns the scopes of rq in one form, however they are written.
func scopesOf(rq *corev1.ResourceQuota) string {
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
	return larger(v.hard[name], v.used[name])
}

// held returns what is recorded without the part that native quota overcharged.
func (v version) held(name corev1.ResourceName) resource.Quantity {
	if !v.managed {
		return resource.Quantity{}
	}
	return minus(v.recorded(name), v.overcharged[name])
}

// overcharge returns, per resource name, how much of the usage of next rose above the limit in force by charges: what
// previous carried plus what this step added, as far as usage is still above the limit. Across a gap a charge is
// assumed wherever there can have been one, so that a gap accuses nobody.
func overcharge(previous, next version) corev1.ResourceList {
	total := corev1.ResourceList{}
	for name, used := range next.used {
		hard, limited := next.hard[name]
		over, isOver := above(used, hard)
		if !limited || !isOver {
			continue
		}
		carried := previous.overcharged[name]
		if _, known := previous.used[name]; known {
			carried = plus(carried, chargedAbove(previous.used[name], used, hard))
		}
		if part := smaller(carried, over); !part.IsZero() {
			total[name] = part
		}
	}
	return total
}

// chargedAbove returns how much the rise of usage from before to after is above hard.
func chargedAbove(before, after, hard resource.Quantity) resource.Quantity {
	if rise, rose := above(after, larger(before, hard)); rose {
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
func compare(past memory, previous, next version) []Finding {
	if next.step == stepFirst {
		return nil
	}
	findings := compareIdentity(past, previous, next)
	if next.step == stepNext && next.managed && next.uid == previous.uid {
		findings = append(findings, compareLimits(previous, next)...)
		findings = append(findings, compareUsage(previous, next)...)
	}
	return findings
}

func compareIdentity(past memory, previous, next version) []Finding {
	var findings []Finding
	add := func(kind FindingKind, format string, args ...any) {
		findings = append(findings, Finding{Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
	if previous.managed && !next.exists() {
		add(Deleted, "deleted at revision %d", previous.revision)
	}
	if next.managed && next.revision < past.revision {
		add(RevisionDown, "revision went from %d to %d", past.revision, next.revision)
	}
	if next.managed && past.uid != "" && past.uid != next.uid {
		add(Recreated, "UID went from %s to %s", past.uid, next.uid)
	}
	if previous.labelled && next.managed && !next.labelled {
		findings = append(findings, unlabelled(next))
	}
	return findings
}

// unlabelled is what it means that the managed label is gone.
func unlabelled(v version) Finding {
	if v.released {
		return Finding{Kind: Released, Message: fmt.Sprintf("handed over at revision %d", v.revision)}
	}
	return Finding{Kind: LabelLost, Message: fmt.Sprintf("label %s is gone", managedLabel)}
}

// compareLimits judges a write of spec.hard; previous and next are the same object.
func compareLimits(previous, next version) []Finding {
	var findings []Finding
	for _, name := range namesOf(previous.spec, next.spec) {
		before, had := previous.spec[name]
		after, has := next.spec[name]
		lowered := has && (!had || after.Cmp(before) < 0)
		raised := had && (!has || after.Cmp(before) > 0)
		used := next.used[name]
		if lowered && used.Cmp(after) > 0 {
			findings = append(findings, Finding{Kind: LimitBelowUsage, Resource: name, Message: fmt.Sprintf(
				"limit set from %s to %s below usage %s", text(before, had), after.String(), used.String())})
		}
		if raised && previous.managed && next.revision == previous.revision {
			findings = append(findings, Finding{Kind: RaisedAtSameRevision, Resource: name, Message: fmt.Sprintf(
				"limit raised from %s to %s at revision %d", before.String(), text(after, has), next.revision)})
		}
	}
	return findings
}

// compareUsage judges the usage that next records; previous and next are the same object.
func compareUsage(previous, next version) []Finding {
	var findings []Finding
	for _, name := range sortedKeys(next.used) {
		used, before := next.used[name], previous.used[name]
		_, known := previous.used[name]
		limit, limited := next.spec[name]
		hard, inForce := next.hard[name]
		switch {
		case !known && limited && used.Cmp(limit) > 0:
			findings = append(findings, Finding{Kind: CreatedBelowUsage, Resource: name, Message: fmt.Sprintf(
				"usage first known as %s, limit %s", used.String(), limit.String())})
		case known && inForce && used.Cmp(before) > 0 && used.Cmp(hard) > 0:
			findings = append(findings, Finding{Kind: Overcharged, Resource: name, Message: fmt.Sprintf(
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
func holding(member string, v version, name corev1.ResourceName) Holding {
	return Holding{
		Member: member, ResourceVersion: v.resourceVersion, Revision: v.revision, Hard: v.hard[name], Used: v.used[name],
	}
}
