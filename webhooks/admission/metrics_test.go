package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/utils/ptr"
)

// counted returns the value of a metric, and of a histogram how much it was told.
func counted(t *testing.T, metric any) float64 {
	t.Helper()
	var m dto.Metric
	if err := metric.(prometheus.Metric).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
}

// TestHoldsAreMeasured measures how long requests were held, and tells how many are.
func TestHoldsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.share.Spec.Admission.WaitMilliseconds = ptr.To[int32](100)
		raised, denied := holdSeconds.WithLabelValues(string(outcomeLetThrough)), holdSeconds.WithLabelValues(string(outcomeDenied))
		before := []float64{counted(t, held), counted(t, raised), counted(t, denied)}
		first, second := s.held(request("3")), s.held(request("4"))
		if now := counted(t, held); now != before[0]+2 {
			t.Errorf("%g are held, want 2", now-before[0])
		}
		s.set("11", "8")
		s.answer(first, 50*time.Millisecond)
		s.answer(second, 150*time.Millisecond)
		if now := counted(t, held); now != before[0] {
			t.Errorf("%g are still held", now-before[0])
		}
		if after := counted(t, raised) - before[1]; after != 1 {
			t.Errorf("%g were let through", after)
		}
		if after := counted(t, denied) - before[2]; after != 1 {
			t.Errorf("%g were denied", after)
		}
	})
}
