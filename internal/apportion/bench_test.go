package apportion

import (
	"fmt"
	"testing"
)

// BenchmarkFill1000 hands out ties, the most that there is to correct.
func BenchmarkFill1000(b *testing.B) {
	bounds := equals(1000)
	for _, budget := range []int64{1500, 1e6 + 500, 1<<62 + 500} {
		b.Run(fmt.Sprint("budget=", budget), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fill(budget, bounds)
			}
		})
	}
}
