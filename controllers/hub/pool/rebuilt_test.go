package pool

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestRebuiltPoolWaits has a pool, which has raised a budget, rebuild its ledger while another budget has forgotten that
// it stands there: nobody is raised until that one is counted, whatever the pool did before.
func TestRebuiltPoolWaits(t *testing.T) {
	w := newWorld(t)
	w.round()
	vision := w.announces("vision", "2")
	for _, use := range []string{"2", "8"} {
		w.takesUp(vision, use, pods("6"), "")
	}
	const key = "FederatedQuota/vision/compute"
	if got := granted(w.round())[key]; got == "2" {
		t.Fatalf("the pool grants %s of 24, and nobody else is in it", got)
	}

	speech := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "speech", Name: "compute", UID: "u-speech"}}
	speech.Spec.Pool, speech.Spec.Hard = &quotav1alpha1.PoolReference{Name: "research"}, pods("20")
	if err := w.Create(t.Context(), speech); err != nil {
		t.Fatal(err)
	}
	w.takesUp(vision, "8", nil, "")
	had := granted(w.round())[key]
	vision.Status.Pool.Revision += 1 << 30 // which the ledger has not given: it was put back
	if err := w.Status().Update(t.Context(), vision); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.takesUp(vision, had, pods("1"), "")
	}
	if after := granted(w.round())[key]; after > had {
		t.Errorf("the pool raises from %s to %s, and does not know what speech has", had, after)
	}
}
