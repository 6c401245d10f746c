package record_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/record"
)

// start is not the beginning of an hour.
var start = time.Date(2026, time.November, 28, 10, 30, 0, 0, time.UTC)

// nearly takes numbers for equal that differ in rounding alone.
var nearly = cmpopts.EquateApprox(1e-6, 1e-6)

// two is a budget of 10 pods over two clusters of equal parts: east has 7, west 3 and asks for more.
func two() *record.Level {
	return &record.Level{
		Names: []corev1.ResourceName{"pods"}, Total: []record.Amounts{{Budget: 10, Granted: 10, Used: 8, Demand: 2}},
		Clusters: []record.Holding{
			{Name: "east", Amounts: []record.Amounts{{Budget: 5, Granted: 7, Used: 5}}},
			{Name: "west", Amounts: []record.Amounts{{Budget: 5, Granted: 3, Used: 3, Demand: 2}}},
		},
	}
}

func TestSums(t *testing.T) {
	gpu, free := two(), two()
	gpu.Names[0], free.Clusters[0].Amounts[0].Granted = "requests.cpu", 6
	gpu.Clusters[1].Silent = true
	for name, c := range map[string]struct {
		level             *record.Level
		total, east, west record.Sums
		name              corev1.ResourceName
		silent            float64
	}{
		"amounts times hours": {
			level: two(), name: "pods", total: record.Sums{Budget: 20, Granted: 20, Used: 16, Demand: 4, Lends: 4, Lent: 4, Waited: 2, Peak: 8},
			east: record.Sums{Budget: 10, Granted: 14, Used: 10, Lent: 4, Peak: 5},
			west: record.Sums{Budget: 10, Granted: 6, Used: 6, Demand: 4, Lends: 4, Waited: 2, Peak: 3},
		},
		"cpu counts in cores, and who is silent has what it had": {
			level: gpu, name: "requests.cpu", silent: 2,
			total: record.Sums{Budget: .02, Granted: .02, Used: .016, Demand: .004, Lends: .004, Lent: .004, Waited: 2, Peak: .008},
			east:  record.Sums{Budget: .01, Granted: .014, Used: .01, Lent: .004, Peak: .005},
			west:  record.Sums{Budget: .01, Granted: .006, Used: .006, Demand: .004, Lends: .004, Waited: 2, Peak: .003},
		},
		"what nobody has is not lent": {
			level: free, name: "pods", total: record.Sums{Budget: 20, Granted: 20, Used: 16, Demand: 4, Lends: 2, Lent: 2, Waited: 2, Peak: 8},
			east: record.Sums{Budget: 10, Granted: 12, Used: 10, Lent: 2, Peak: 5},
			west: record.Sums{Budget: 10, Granted: 6, Used: 6, Demand: 4, Lends: 2, Waited: 2, Peak: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := record.Begin(start, "1")
			tally.Observe(start, c.level)
			tally.Advance(start.Add(2 * time.Hour))
			m := tally.Take()[0]
			got := []record.Sums{*m.Total[c.name], *m.Clusters["east"].Sums[c.name], *m.Clusters["west"].Sums[c.name]}
			if diff := cmp.Diff([]record.Sums{c.total, c.east, c.west}, got, nearly); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var hours []int
			for _, span := range m.Spans {
				hours = append(hours, span.Start)
			}
			first := 27*24 + 10
			if diff := cmp.Diff([]int{first, first + 1, first + 2}, hours); diff != "" {
				t.Errorf("hours (-want +got):\n%s", diff)
			}
			if m.Clusters["west"].Unobserved != c.silent || m.Unobserved != 0 {
				t.Errorf("not observed: %v, in all %v", m.Clusters["west"].Unobserved, m.Unobserved)
			}
		})
	}
}

// levelOf draws what is known of a budget. One that has nothing from its pool yet has no names.
func levelOf(t *rapid.T) *record.Level {
	names := []corev1.ResourceName{"pods", "requests.cpu"}
	level := &record.Level{Names: names[:rapid.IntRange(0, len(names)).Draw(t, "names")]}
	amounts := func(what string) []record.Amounts {
		var list []record.Amounts
		for range level.Names {
			n := rapid.SliceOfN(rapid.Int64Range(0, 1000), 4, 4).Draw(t, what)
			list = append(list, record.Amounts{Budget: n[0], Granted: n[1], Used: n[2], Demand: n[3]})
		}
		return list
	}
	level.Total = amounts("total")
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"east", "west", "north"}), rapid.ID).Draw(t, "clusters") {
		level.Clusters = append(level.Clusters, record.Holding{Name: name, Silent: rapid.Bool().Draw(t, "silent"), Amounts: amounts(name)})
	}
	return level
}

// store merges pieces into what is stored, by the month, each as it is read again.
func store(t *rapid.T, stored map[time.Time]*record.Month, pieces []*record.Month) {
	for _, piece := range pieces {
		begin, _ := record.StartOf(piece.From)
		if stored[begin] == nil {
			stored[begin] = record.NewMonth(piece.From, piece.UID)
		}
		stored[begin].Merge(piece)
		content, err := stored[begin].Encode()
		if err != nil {
			t.Fatal(err)
		}
		if stored[begin], err = record.Decode(content); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPieces has any cut of a time into pieces, stored once or, since an answer was lost, twice, say what one piece says.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at, whole, cut := start, record.Begin(start, "1"), record.Begin(start, "1")
		one, many := map[time.Time]*record.Month{}, map[time.Time]*record.Month{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			level := levelOf(t)
			whole.Observe(at, level)
			cut.Observe(at, level)
			move := record.Move{Time: at, Resource: "pods", Cluster: "east"}
			whole.Now().Moves.Add(move)
			cut.Now().Moves.Add(move)
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "for")))
			if rapid.Bool().Draw(t, "stored") {
				cut.Advance(at)
				pieces := cut.Take()
				for range rapid.IntRange(1, 2).Draw(t, "times") {
					store(t, many, pieces)
				}
			}
		}
		at = at.Add(time.Minute)
		whole.Advance(at)
		cut.Advance(at)
		store(t, one, whole.Take())
		store(t, many, cut.Take())
		if diff := cmp.Diff(one, many, nearly, cmpopts.IgnoreUnexported(record.Audit{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("in one piece (-), in pieces (+):\n%s", diff)
		}
	})
}

// FuzzDecode demands that all that is read can be added to, by records of any kind, and stored again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:30:00Z","uid":"1","spans":[{"start":658}],"clusters":{"east":{}}}`,
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:30:00Z","spans":[null]}`,
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:30:00Z","clusters":{"east":null}}`,
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:30:00Z","total":{"pods":null}}`,
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:20:00Z","uid":"1","level":{"names":["pods"]}}`,
		`{"from":"2026-11-28T10:00:00Z","until":"2026-11-28T10:20:00Z","uid":"1","level":{"names":["pods"],"total":[[1]],"clusters":[{"name":"east"}]}}`,
		`{"from":"2026-11-28T10:00:00Z","uid":"1","level":{"names":["pods"],"total":[[1,2,3,4]]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var buffer bytes.Buffer
		writer := gzip.NewWriter(&buffer)
		if _, err := writer.Write(content); err != nil || writer.Close() != nil {
			t.Fatal("nothing can be compressed")
		}
		stored, err := record.Decode(buffer.Bytes())
		if err != nil {
			return
		}
		tally := record.Begin(start, "1")
		tally.Observe(start, two())
		tally.Advance(start.Add(time.Hour))
		stored.Merge(tally.Take()[0])
		stored.Close()
		if _, err := stored.Encode(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGaps has what was known last count for a time that nobody saw, once.
func TestGaps(t *testing.T) {
	hour := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Hour))) }
	piece := func(uid string, from, until float64, level *record.Level) *record.Month {
		tally := record.Begin(hour(from), uid)
		tally.Observe(hour(from), level)
		tally.Advance(hour(until))
		return tally.Take()[0]
	}
	idle := two()
	idle.Total[0].Used = 0
	for name, c := range map[string]struct {
		pieces           []*record.Month
		used, unobserved float64
		until            time.Time
	}{
		"none":                   {[]*record.Month{piece("1", 0, 1, two()), piece("1", 1, 2, two())}, 16, 0, hour(2)},
		"an hour":                {[]*record.Month{piece("1", 0, 1, two()), piece("1", 2, 3, idle)}, 16, 1, hour(3)},
		"a store that went back": {[]*record.Month{piece("1", 0, 1, two()), piece("1", 3, 4, two())}, 32, 2, hour(4)},
		"of another object":      {[]*record.Month{piece("1", 0, 1, two()), piece("2", 2, 3, two())}, 16, 0, hour(3)},
		"after the end":          {[]*record.Month{piece("1", 0, 1, nil), piece("1", 2, 3, two())}, 8, 0, hour(3)},
		"stored twice":           {[]*record.Month{piece("1", 0, 1, two()), piece("1", 0, 1, two())}, 8, 0, hour(1)},
		"by two":                 {[]*record.Month{piece("1", 0, 2, two()), piece("1", 1, 3, idle)}, 24, 1, hour(3)},
		"an older one":           {[]*record.Month{piece("1", 1, 2, two()), piece("1", 0, 1, two())}, 8, 0, hour(2)},
	} {
		t.Run(name, func(t *testing.T) {
			m := record.NewMonth(c.pieces[0].From, c.pieces[0].UID)
			for _, p := range c.pieces {
				m.Merge(p)
			}
			if used := m.Total["pods"].Used; math.Abs(used-c.used) > 1e-9 || m.Unobserved != c.unobserved || !m.Until.Equal(c.until) {
				t.Errorf("used %v, not observed %v, until %s; want %v, %v, %s", used, m.Unobserved, m.Until, c.used, c.unobserved, c.until)
			}
		})
	}
}

// filled returns a month of many clusters and names of which no number is like another.
func filled(clusters, names int) *record.Month {
	random := rand.New(rand.NewPCG(1, 2))
	sums := func() record.ByName {
		byName := record.ByName{}
		for j := range names {
			f := random.Float64
			byName[corev1.ResourceName(fmt.Sprintf("requests.example.com/%d", j))] = &record.Sums{
				Budget: f() * 1e6, Granted: f() * 1e6, Used: f() * 1e6, Demand: f() * 1e6, Lends: f() * 1e6, Lent: f() * 1e6, Waited: f(), Peak: f() * 1e6,
			}
		}
		return byName
	}
	m := record.NewMonth(start.AddDate(0, 0, -27), "1")
	m.Total, m.Level = sums(), &record.Level{}
	for j := range names {
		m.Level.Names = append(m.Level.Names, corev1.ResourceName(fmt.Sprintf("requests.example.com/%d", j)))
		m.Level.Total = append(m.Level.Total, record.Amounts{Budget: random.Int64N(1e9)})
	}
	for i := range clusters {
		name, amounts := fmt.Sprintf("cluster-%d", i), []record.Amounts{}
		for range names {
			amounts = append(amounts, record.Amounts{Budget: random.Int64N(1e9), Granted: random.Int64N(1e9), Used: random.Int64N(1e9)})
		}
		m.Clusters[name] = &record.Cluster{Sums: sums()}
		m.Level.Clusters = append(m.Level.Clusters, record.Holding{Name: name, Amounts: amounts})
	}
	for i := range 31 * 24 {
		span := &record.Span{Start: i, Sums: sums()}
		for _, s := range span.Sums {
			s.Lends, s.Lent = 0, 0
		}
		m.Spans = append(m.Spans, span)
	}
	for i := range 3000 {
		m.Moves.Add(record.Move{Time: start.Add(time.Duration(i) * time.Second), Resource: "pods", Cluster: fmt.Sprintf("cluster-%d", random.IntN(200)), From: fmt.Sprint(i), To: fmt.Sprint(random.IntN(1000)), Why: "Demand"})
	}
	return m
}

// TestSize bounds what is stored, of the fullest of months.
func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		m    *record.Month
		most int
	}{
		"3 clusters and 3 names":   {filled(3, 3), 80 << 10},
		"200 clusters and 3 names": {filled(200, 3), 160 << 10},
		"2000 clusters, 32 names":  {filled(2000, 32), 512 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			open, err := c.m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			total := *c.m.Total["requests.example.com/0"]
			c.m.Close()
			closed, err := c.m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes, %d once the month is over", len(open), len(closed))
			if len(open) > c.most || len(closed) > len(open) {
				t.Errorf("%d bytes, %d once the month is over; want at most %d", len(open), len(closed), c.most)
			}
			again, err := record.Decode(closed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(total, *again.Total["requests.example.com/0"], nearly); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
