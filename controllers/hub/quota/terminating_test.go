package quota

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/pace"
)

// abandoned is a world in which somebody has deleted the share of west, and no agent runs there.
func abandoned(t *testing.T, namespace bool) *world {
	t.Helper()
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].down = true
	if namespace {
		w.must(servers["west"].Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	}
	w.must(servers["west"].Delete(t.Context(), w.share("west")))
	return w
}

// TestNamespaceThatTerminatesWithoutAnAgent lets the namespace go within a minute. What was granted there is free once
// the namespace is gone, and not before: pods may still end in it when its ResourceQuota is gone.
func TestNamespaceThatTerminatesWithoutAnAgent(t *testing.T) {
	w := abandoned(t, true)
	if next := w.round().RequeueAfter; next > pace.AgentPatience+time.Millisecond {
		t.Errorf("looks again after %s", next)
	}
	w.clock.SetTime(w.clock.Now().Add(pace.AgentPatience))
	w.round()
	if w.share("west") == nil {
		t.Fatal("the share is gone before its agent had time to act")
	}
	w.clock.SetTime(w.clock.Now().Add(time.Millisecond))
	w.round()
	if w.share("west") != nil {
		t.Fatal("the share is still there")
	}
	w.agents["west"].hard = nil
	w.round()
	w.round()
	w.wantLedger("east 18/18 Settled", "west 12/12 NotReady")
	if got, want := w.message("MemberNotReady"), "west: the namespace is being deleted there"; got != want {
		t.Errorf("got %q", got)
	}

	namespace := &corev1.Namespace{}
	w.must(servers["west"].Get(t.Context(), client.ObjectKey{Name: w.namespace}, namespace))
	namespace.Spec.Finalizers = nil
	w.must(servers["west"].SubResource("finalize").Update(t.Context(), namespace))
	w.round() // finds the namespace gone
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
}

// TestShareThatWasDeletedWithoutAnAgent leaves a share alone that was deleted in a namespace which stays: its agent is
// to say what becomes of the limit.
func TestShareThatWasDeletedWithoutAnAgent(t *testing.T) {
	w := abandoned(t, false)
	w.round()
	w.clock.SetTime(w.clock.Now().Add(pace.AgentPatience + time.Millisecond))
	w.written()
	w.round()
	if share := w.share("west"); share == nil || len(share.Finalizers) == 0 {
		t.Error("the hub has let the share go")
	}
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}
