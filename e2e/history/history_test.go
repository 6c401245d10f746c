package history

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/observer"
)

// TestHistory adds up what a member had between two instants, from the version that it had at the first one on.
func TestHistory(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	h := &History{}
	amounts := func(text string) corev1.ResourceList {
		return corev1.ResourceList{"pods": resource.MustParse(strings.TrimPrefix(text, "pods="))}
	}
	for minutes, amountsOf := range [][2]string{{"pods=10", "pods=2"}, {"pods=10", "pods=6"}, {"pods=4", "pods=5"}} {
		h.Add(observer.Version{Member: "a", Arrived: at(60 * minutes), Hard: amounts(amountsOf[0]), Used: amounts(amountsOf[1])})
	}
	h.Add(observer.Version{Member: "b", Arrived: at(0), Hard: amounts("pods=1"), Used: amounts("pods=1")})
	for name, tc := range map[string]struct {
		from, until int
		held, used  float64
		versions    int
	}{
		"before all":       {-60, 0, 0, 0, 1},
		"an hour":          {0, 60, 10, 2, 2},
		"within a version": {15, 45, 5, 1, 1},
		"over three":       {30, 180, 20, 12, 3},
		"the last one":     {150, 210, 5, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			held, used := h.Hours("a", "pods", at(tc.from), at(tc.until))
			if math.Abs(held-tc.held)+math.Abs(used-tc.used) > 1e-9 {
				t.Errorf("got %g and %g, want %g and %g", held, used, tc.held, tc.used)
			}
			if got := len(h.Between("a", at(tc.from), at(tc.until))); got != tc.versions {
				t.Errorf("got %d versions, want %d", got, tc.versions)
			}
		})
	}
}
