package quota

import (
	"errors"
	"strings"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// eastOnlyOfMore is eastOnly with another name, which every cluster of the ledger has to confirm.
const eastOnlyOfMore = `
hard: {pods: "30", services: "6"}
placement: {clusterSelector: {matchLabels: {name: east}}}
rebalance: {mode: Static}`

// onceTold returns a world in which the share of west was told what shall become of its ResourceQuota, and must confirm
// another name before it goes.
func onceTold(t *testing.T) *world {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.edit(eastOnly)
	for range 5 {
		if w.share("west").Annotations[quotav1alpha1.RemovalAnnotation] != "" {
			w.edit(eastOnlyOfMore)
			return w
		}
		w.round()
		w.act()
	}
	t.Fatal("west was told nothing")
	return nil
}

// TestLateUpdateOfAShareThatIsDeleted has another hub manager delete a share while this one is about to write to it:
// the agent still has to read what it was told, or the limit stays behind, managed by nobody.
func TestLateUpdateOfAShareThatIsDeleted(t *testing.T) {
	w := onceTold(t)
	w.before = func(write string) error {
		if write == "west: patch QuotaShare compute" {
			w.before = nil
			return servers["west"].Delete(t.Context(), w.share("west"))
		}
		return nil
	}
	if _, err := w.reconcile(quotaName); err == nil || !strings.Contains(err.Error(), "the object has been modified") {
		t.Errorf("got %v, want a conflict", err)
	}
	if got := w.share("west").Annotations[quotav1alpha1.RemovalAnnotation]; got != "Retain" {
		t.Errorf("the share says %q", got)
	}
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestLostShareThatIsWrittenAgain has somebody delete a share that was told what shall become of its ResourceQuota, and
// is about to be told otherwise: no share is no proof that the agent has acted on it.
func TestLostShareThatIsWrittenAgain(t *testing.T) {
	w := onceTold(t)
	w.before = func(write string) error {
		if write == "west: patch QuotaShare compute" {
			return errors.New("no")
		}
		return nil
	}
	w.round()
	w.before = nil
	w.loseShare("west")
	w.settle()
	w.wantLedger("east 30/30 Settled")
	if got := w.agents["west"].removal; got != "Retain" {
		t.Errorf("west was told %q", got)
	}
}

// TestMarkedWithoutAWrite marks a Cluster that has its share already: a ledger that is lost knows of it by that alone.
func TestMarkedWithoutAWrite(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	w.unmark("east")
	w.settle()
	if members.MarkerOf(w.cluster("east")) == 0 {
		t.Error("east is not marked")
	}
}
