package rig

import (
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for percent, want := range map[int]time.Duration{0: 1, 50: 3, 99: 4, 100: 5} {
		if got := Percentile(values, percent); got != want {
			t.Errorf("percentile %d is %d, want %d", percent, got, want)
		}
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("percentile of nothing is %d", got)
	}
}
