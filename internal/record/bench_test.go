package record_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/record"
)

// BenchmarkObserve has a round over 200 clusters and 3 names be recorded, and says how much memory a budget takes.
func BenchmarkObserve(b *testing.B) {
	level := func() *record.Level {
		l := &record.Level{Names: []corev1.ResourceName{"pods", "requests.cpu", "requests.memory"}, Total: make([]record.Amounts, 3)}
		for i := range 200 {
			l.Clusters = append(l.Clusters, record.Holding{Name: fmt.Sprintf("cluster-%d", i), Amounts: make([]record.Amounts, 3)})
		}
		return l
	}
	b.Run("a new budget", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tally := record.Begin(start, "1")
			tally.Observe(start, level())
			tally.Advance(start.Add(time.Minute))
		}
	})
	b.Run("a round", func(b *testing.B) {
		at, tally := start, record.Begin(start, "1")
		levels := []*record.Level{level(), level()}
		levels[1].Clusters[7].Amounts[0].Used = 1
		for i := 0; b.Loop(); i++ {
			at = at.Add(time.Millisecond)
			tally.Observe(at, levels[i%2])
		}
	})
}

// BenchmarkEncode stores what is recorded of a budget over three clusters, and reads it.
func BenchmarkEncode(b *testing.B) {
	l := &record.Level{Names: []corev1.ResourceName{"pods", "requests.cpu", "requests.memory"}, Total: make([]record.Amounts, 3)}
	for i := range 3 {
		l.Clusters = append(l.Clusters, record.Holding{Name: fmt.Sprintf("cluster-%d", i), Amounts: make([]record.Amounts, 3)})
	}
	tally := record.Begin(start, "1")
	tally.Observe(start, l)
	tally.Advance(start.Add(72 * time.Hour))
	month := tally.Take()[0]
	b.ReportAllocs()
	for b.Loop() {
		content, err := month.Encode()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := record.Decode(content); err != nil {
			b.Fatal(err)
		}
	}
}
