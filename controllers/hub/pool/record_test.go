package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/internal/record"
)

// TestRoundsAreRecorded records what rounds say of a pool and its children: what each has, and its part by weight, which
// is nothing for one that leaves; and nothing more once the pool is gone.
func TestRoundsAreRecorded(t *testing.T) {
	w := newWorld(t)
	w.r.Records = &recorder.Recorder{Client: w.Client, Live: w.Client, Clock: w.clock, Interval: time.Hour, Months: 1, PoolsIn: "system"}
	stored := func() *record.Month {
		t.Helper()
		w.r.Records.Store(t.Context(), true)
		kept := &quotav1alpha1.QuotaRecord{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "research-2026-01-pool"}, kept); err != nil {
			t.Fatal(err)
		}
		m, err := record.Decode(kept.Data)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	same := func(what string, got, want *record.Sums) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-4)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	const vision, speech = "FederatedQuota/vision/compute", "FederatedQuota/speech/compute"
	w.announces("vision", "14")
	fq := w.announces("speech", "8")
	w.round()
	w.after(time.Hour)
	m := stored()
	same("the pool", m.Total["pods"], &record.Sums{Budget: 24, Granted: 24, Used: 22, Lends: 3, Lent: 3, Peak: 22})
	same("vision", m.Clusters[vision].Sums["pods"], &record.Sums{Budget: 12, Granted: 15, Used: 14, Lent: 3, Peak: 14})
	same("speech", m.Clusters[speech].Sums["pods"], &record.Sums{Budget: 12, Granted: 9, Used: 8, Lends: 3, Peak: 8})

	if err := w.Delete(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	w.round()
	w.after(time.Hour)
	if got := stored().Clusters[speech].Sums["pods"].Budget; got != 12 {
		t.Errorf("who has left has a part of %g", got-12)
	}
	w.after(time.Minute)
	w.r.Records.Forget(client.ObjectKey{Name: "research"})
	if m := stored(); m.Level != nil {
		t.Errorf("a pool that is gone has %+v", m.Level)
	}
}
