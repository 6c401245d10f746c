package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/round"
)

// TestInput decides on what is stored what the hub manager decides, also on another spec, and moves nothing of what is
// stored.
func TestInput(t *testing.T) {
	w := newWorld(t)
	w.announces("vision", "14")
	w.announces("speech", "4")
	p := w.round()
	var quotas quotav1alpha1.FederatedQuotaList
	if err := w.List(t.Context(), &quotas); err != nil {
		t.Fatal(err)
	}
	before := p.DeepCopy()
	targets := func(p *quotav1alpha1.QuotaPool) map[string]int64 {
		l, in := Input(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), p, nil, quotas.Items)
		all := map[string]int64{}
		for key, wanted := range round.Wanted(l, in) {
			all[key] = wanted["pods"]
		}
		return all
	}
	planned := p.DeepCopy()
	planned.Spec.Hard = pods("12")
	want := targets(planned)
	p.Spec.Hard = pods("12")
	if err := w.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, c := range w.round().Status.Children {
		q := c.Target["pods"]
		if c.Target == nil {
			q = c.Granted["pods"]
		}
		got[string(c.Key)] = q.Value()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("planned -, decided +:\n%s", diff)
	}
	if diff := cmp.Diff(before.Status, planned.Status); diff != "" {
		t.Errorf("it has changed what is stored: %s", diff)
	}
}
