package judge

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fedquota/fedquota/internal/observer/quantity"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// probe finds out what was in force in all members at one instant.
type probe struct {
	at      time.Time
	members map[string]*span
}

// span is the versions that can have been in force in one member at the instant of a probe.
type span struct {
	// versions begins with the one that had arrived last at that instant; those that arrived since follow.
	versions []version
	read     *Reading
}

// Reading is what a read that began after the instant of the probe returned.
type Reading struct {
	Failed          bool
	Absent          bool
	ResourceVersion string
	At              time.Time
}

// verdict is how far the reading of a span has been matched with the versions of the watch.
type verdict int

const (
	// waiting: the read, or the watch up to the version that was read, is outstanding.
	waiting verdict = iota
	// unknown: it cannot be told any more which versions were in force.
	unknown
	// known: the versions that can have been in force are known.
	known
)

// possible returns the versions that can have been in force at the instant of the probe.
func (s *span) possible() ([]version, verdict) {
	switch {
	case s.read == nil:
		return nil, waiting
	case s.read.Failed:
		return nil, unknown
	case s.read.Absent:
		return s.upTo(s.deletion())
	default:
		return s.upTo(s.find(s.read.ResourceVersion))
	}
}

// upTo returns the versions up to index end, unless some between are missing.
func (s *span) upTo(end int, found verdict) ([]version, verdict) {
	if found != known {
		return nil, found
	}
	for _, v := range s.versions[1 : end+1] {
		if v.step == Gap {
			return nil, unknown
		}
	}
	return s.versions[:end+1], known
}

// deletion finds the absence that a read saw. An object that was absent before and after is taken as absent between:
// one that was created and deleted within a single read would show as re-created later.
func (s *span) deletion() (int, verdict) {
	for i, v := range s.versions {
		if !v.exists() {
			return i, known
		}
	}
	return 0, waiting
}

// find finds the version that a read returned.
func (s *span) find(resourceVersion string) (int, verdict) {
	for i, v := range s.versions {
		if v.resourceVersion == resourceVersion {
			return i, known
		}
	}
	for _, v := range s.versions {
		if newer, err := resourceversion.CompareResourceVersion(v.resourceVersion, resourceVersion); err == nil && newer > 0 {
			return 0, unknown
		}
	}
	return 0, waiting
}

// resolved reports whether nothing is outstanding.
func (p *probe) resolved() bool {
	for _, s := range p.members {
		if _, state := s.possible(); state == waiting {
			return false
		}
	}
	return true
}

// unknown returns the members about which the probe cannot tell, in order.
func (p *probe) unknown() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if _, state := p.members[name].possible(); state != known {
			names = append(names, name)
		}
	}
	return names
}

// bounds returns the smallest and the largest sum over members that is possible at the instant of the probe, in the
// unit of the resource. Without complete knowledge there is no largest.
func (p *probe) bounds(name corev1.ResourceName) (smallest, largest resource.Quantity, bounded bool) {
	bounded = true
	for _, s := range p.members {
		versions, state := s.possible()
		if state != known {
			bounded = false
			continue
		}
		low, high := extent(versions, name)
		smallest, largest = quantity.Plus(smallest, low), quantity.Plus(largest, high)
	}
	return smallest, largest, bounded
}

// extent returns the smallest and the largest amount that versions hold; there is at least one version.
func extent(versions []version, name corev1.ResourceName) (low, high resource.Quantity) {
	low, high = versions[0].held(name), versions[0].held(name)
	for _, v := range versions[1:] {
		low, high = quantity.Smaller(low, v.held(name)), quantity.Larger(high, v.held(name))
	}
	return low, high
}

// holdings returns, per member, the possible version that holds least.
func (p *probe) holdings(name corev1.ResourceName) []report.Holding {
	var all []report.Holding
	for _, member := range slices.Sorted(maps.Keys(p.members)) {
		versions, state := p.members[member].possible()
		if state != known {
			continue
		}
		least := versions[0]
		for _, v := range versions[1:] {
			if a, b := v.held(name), least.held(name); a.Cmp(b) < 0 {
				least = v
			}
		}
		all = append(all, holding(member, least, name))
	}
	return all
}
