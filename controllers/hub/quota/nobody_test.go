package quota

import (
	"fmt"
	"testing"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestNobody says why the hub is nobody in a member, where it reads and where it writes.
func TestNobody(t *testing.T) {
	const why = "the hub's ServiceAccount fedquota-system/fedquota-hub is not there; install the agent's manifests"
	err := fmt.Errorf("Get %q: %w", "https://east", &members.AccountError{Why: why})
	if got := (&Reconciler{}).unreadable("east", "", err); got != why {
		t.Errorf("reading: %q", got)
	}
	s := &scope{}
	outcome, refused := s.outcomeOf(t.Context(), &member{verdict: &shares.Verdict{}}, err)
	if outcome.Message != why || refused {
		t.Errorf("writing: %+v, refused: %t", outcome, refused)
	}
}
