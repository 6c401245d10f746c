package shares

import (
	"time"

	"github.com/fedquota/fedquota/internal/ledger"
)

// Birth is what a hub manager knows of a FederatedQuota whose creation it has watched.
type Birth struct {
	// Second says that one of the same name went before it, which a child may still hold a share of.
	Second bool

	// told says that a child was told something of it. Until then revision is where this hub manager has left its ledger,
	// and steady is since when the hub manager had not stood still then.
	told     bool
	revision int64
	steady   time.Time
}

// Fresh says whether nobody was told anything of the FederatedQuota yet, whose ledger is at a revision: this hub
// manager has watched since before it was created, has not stood still since, and finds the ledger as it has left it.
// Then no other one has told anybody.
func (b Birth) Fresh(revision int64, steady time.Time) bool {
	return !b.Second && !b.told && b.revision == revision && b.steady.Equal(steady)
}

// Leave returns what is known once this hub manager has stored the ledger at a revision, with entries of these
// revisions.
func (b Birth) Leave(revision int64, entries []int64, steady time.Time) Birth {
	if b.told {
		return b
	}
	b.revision, b.steady = revision, steady
	for _, told := range entries {
		b.told = b.told || told > 0
	}
	return b
}

// MarkerSuffices says whether the marker on an object will do for a ledger at a revision: one that continues from it
// gives none of the revisions again.
func MarkerSuffices(marker, revision int64) bool { return marker > 0 && revision-marker < ledger.Gap }
