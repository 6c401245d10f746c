package observer

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// TestHistory adds up what a member had between two instants, from the version that it had at the first one on.
func TestHistory(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	h := &History{}
	for minutes, amountsOf := range [][2]string{{"pods=10", "pods=2"}, {"pods=10", "pods=6"}, {"pods=4", "pods=5"}} {
		h.Add(Version{"a", at(60 * minutes), amounts(amountsOf[0]), amounts(amountsOf[1])})
	}
	h.Add(Version{"b", at(0), amounts("pods=1"), amounts("pods=1")})
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

// testVersions tells of each version that a member had, in order.
func testVersions(t *testing.T, members map[string]*realMember) {
	namespaces(t, members, "versions")
	h := &History{}
	options := Options{Members: map[string]*rest.Config{"a": members["a"].config}, Namespace: "versions", Name: "compute", OnVersion: h.Add}
	began := time.Now()
	o, err := Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Stop() })
	members["a"].create(t.Context(), t, "versions", "pods=6", "pods=3")
	if err := o.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range h.Between("a", began, time.Now()) {
		held, used := v.Held("pods"), v.Used["pods"]
		got = append(got, held.String()+" "+used.String())
	}
	// The last one comes first: as it is, without its status, and not there.
	if diff := cmp.Diff([]string{"6 3", "0 0", "0 0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
