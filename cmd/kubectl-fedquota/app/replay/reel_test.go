package replay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/replay"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/record"
)

const cpu = corev1.ResourceRequestsCPU

var (
	noon    = time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)
	formats = corev1.ResourceList{cpu: resource.MustParse("12"), "requests.memory": resource.MustParse("40Gi")}
)

// minute returns an instant of the day, after noon or before it.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// move is one of requests.cpu.
func move(at int, cluster, from, to string) record.Move {
	return record.Move{Time: minute(at), Resource: cpu, Cluster: cluster, From: from, To: to, Why: "Demand"}
}

// told is a move that an event tells of.
func told(at int, cluster, from, to string) view.Move {
	return view.Move{Time: metav1.NewTime(minute(at)), Reason: "LimitsMoved", Resource: cpu, Cluster: cluster, From: from, To: to, Why: "Demand"}
}

// recorded is a month of a budget of 12 cores, of which 4 are used until 30 minutes before noon, and then 8.
func recorded(from, until int, moves ...record.Move) records.Record {
	level := func(used int64) *record.Level {
		a := []record.Amounts{{Budget: 12000, Granted: 9000, Used: used}}
		return &record.Level{Names: []corev1.ResourceName{cpu}, Total: a, Clusters: []record.Holding{{Name: "east", Amounts: a}}}
	}
	tally := record.Begin(minute(from), "1")
	tally.Observe(minute(from), level(4000))
	tally.Observe(minute(-30), level(8000))
	tally.Advance(minute(until))
	month := tally.Take()[0]
	month.Moves.Add(moves...)
	return records.Record{Month: month}
}

// limits returns the limit of each cluster of which something is known.
func limits(past *view.Past) map[string]string {
	limits := map[string]string{}
	for _, c := range past.Clusters {
		limits[c.Name] = c.Limit
	}
	return limits
}

// TestLimits sees that a limit is said where moves tell it, and nothing where they do not.
func TestLimits(t *testing.T) {
	r := recorded(-90, -10, move(-80, "east", "4", "6"), move(-60, "west", "5", "3"), move(-40, "east", "6", "9"))
	known := replay.Known{
		Months: []records.Record{r}, Told: []view.Move{told(-60, "west", "5", "3"), told(-5, "east", "9", "7")}, ToldSince: minute(-60), Now: noon,
		Rest: map[replay.Claim]string{{Cluster: "west", Resource: cpu}: "3", {Cluster: "north", Resource: cpu}: "2"}, Formats: formats,
	}
	written := known
	written.Rest = map[replay.Claim]string{{Cluster: "west", Resource: cpu}: "3000m"}
	lost := known
	lost.Months = []records.Record{recorded(-90, -10, move(-80, "east", "4", "6"), move(-40, "east", "7", "9"))}
	lost.Rest = map[replay.Claim]string{{Cluster: "east", Resource: cpu}: "8"}
	deaf := known
	deaf.Told, deaf.ToldSince = nil, noon
	for name, c := range map[string]struct {
		known replay.Known
		at    int
		want  map[string]string
	}{
		"before the first move": {known, -85, map[string]string{"east": "4", "west": "5", "north": "2"}},
		"at a move":             {known, -80, map[string]string{"east": "6", "west": "5", "north": "2"}},
		"between moves":         {known, -50, map[string]string{"east": "6", "west": "3", "north": "2"}},
		"after a record, before what an event says": {known, -6, map[string]string{"east": "9", "west": "3", "north": "2"}},
		"after what an event says":                  {known, -1, map[string]string{"east": "7", "west": "3", "north": "2"}},
		"it is written in another way now":          {written, -1, map[string]string{"east": "7", "west": "3"}},
		"before a move that is not listed":          {lost, -85, map[string]string{"east": "4"}},
		"around a move that is not listed":          {lost, -60, map[string]string{"east": ""}},
		"after a move that is not listed":           {lost, -30, map[string]string{"east": "9"}},
		"while it is not what it was moved to":      {lost, -1, map[string]string{"east": ""}},
		"no event can be read, in a record":         {deaf, -50, map[string]string{"east": "6", "west": "3", "north": ""}},
		"no event can be read, after the record":    {deaf, -6, map[string]string{"east": "", "west": "", "north": ""}},
	} {
		past := replay.New(c.known).At(minute(c.at), cpu)
		if diff := cmp.Diff(c.want, limits(past)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if unlisted := name == "no event can be read, after the record"; past.Unlisted != unlisted {
			t.Errorf("%s: it is said that moves are not listed: %v", name, past.Unlisted)
		}
	}
}

// TestDropped sees that nothing is said of a time of which moves were counted and not listed.
func TestDropped(t *testing.T) {
	var moves []record.Move
	for i := range 510 {
		moves = append(moves, move(-600+i, "east", resource.NewQuantity(int64(i), "").String(), resource.NewQuantity(int64(i+1), "").String()))
	}
	reel := replay.New(replay.Known{Months: []records.Record{recorded(-700, -10, moves...)}, ToldSince: minute(-60), Now: noon, Formats: formats})
	for at, want := range map[int]string{-650: "", -595: "", -590: "11", -585: "16"} {
		past := reel.At(minute(at), cpu)
		if got := limits(past)["east"]; got != want || past.Unlisted != (want == "") {
			t.Errorf("%d minutes before noon its limit was %q, want %q; not listed: %v", -at, got, want, past.Unlisted)
		}
	}
}

// TestUsed sees that means are said to be means, of the time that they are of, and that what was seen goes before them.
func TestUsed(t *testing.T) {
	seen := view.Sample{At: minute(-5).UnixMilli(), Levels: []view.SampleLevel{{Resource: cpu, Used: 7.5, Granted: new(13.0), Budget: 12}}}
	reel := replay.New(replay.Known{
		Months: []records.Record{recorded(-90, -10)}, Samples: []view.Sample{seen}, ToldSince: minute(-60), Now: noon, Formats: formats,
	})
	type answer struct {
		Basis            view.Basis
		Start, End       int
		Used, Peak, Debt string
	}
	for at, want := range map[int]answer{
		-95: {},
		-80: {Basis: view.Mean, Start: -90, End: -60, Used: "4", Peak: "4"},
		-31: {Basis: view.Mean, Start: -60, End: -10, Used: "5600m", Peak: "8"},
		-8:  {},
		-5:  {Basis: view.Seen, Start: -5, Used: "7500m", Debt: "1"},
		-1:  {Basis: view.Seen, Start: -5, Used: "7500m", Debt: "1"},
	} {
		past, got := reel.At(minute(at), cpu), answer{}
		if got.Basis = past.Basis; past.Start != nil {
			got.Start = int(past.Start.Sub(noon).Minutes())
		}
		if past.End != nil {
			got.End = int(past.End.Sub(noon).Minutes())
		}
		for _, r := range past.Resources {
			got.Used, got.Peak, got.Debt = r.Used, r.Peak, r.Debt
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d minutes before noon: %s", -at, diff)
		}
	}
	if got := reel.At(minute(-31), cpu).Clusters; len(got) != 1 || got[0].Mean != "5" || got[0].Peak != "8" || got[0].Limit != "" {
		t.Errorf("of clusters it is said %+v", got)
	}
	line := reel.Line()
	if len(line) != 5 || line[2].Levels == nil || line[3].At != minute(-10).UnixMilli() || line[3].Levels != nil || line[4].At != seen.At {
		t.Errorf("the line is %+v", line)
	}
}

// TestDays sees that days are days, of a month that is over, and of one that was made smaller.
func TestDays(t *testing.T) {
	tally := record.Begin(noon.AddDate(0, -1, -3), "1")
	tally.Observe(noon.AddDate(0, -1, -3), &record.Level{Names: []corev1.ResourceName{cpu}, Total: []record.Amounts{{Budget: 12000, Used: 3000}}})
	tally.Advance(noon)
	months := tally.Take()
	months[0].Close()
	reel := replay.New(replay.Known{Months: []records.Record{{Month: months[0]}, {Month: months[1]}}, ToldSince: noon, Now: noon, Formats: formats})
	day := time.Date(2026, time.October, 26, 0, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]time.Duration{day.Add(5 * time.Hour): 24 * time.Hour, noon.Add(-90 * time.Minute): time.Hour, noon.AddDate(0, -1, -3): 12 * time.Hour} {
		past := reel.At(at, cpu)
		if past.Basis != view.Mean || past.End.Sub(past.Start.Time) != want || past.Resources[0].Used != "3" {
			t.Errorf("at %v it is %+v, want a mean of %v", at, past, want)
		}
	}
	months[1].Close()
	if past := reel.At(noon.Add(-time.Hour), cpu); past.End.Sub(past.Start.Time) != 12*time.Hour || past.Resources[0].Used != "3" {
		t.Errorf("of a day that is not over it is %+v", past)
	}
}

// TestSteps sees that somebody who goes from move to move gets to each time at which something moved, both ways.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var moves []record.Move
		times := map[time.Time]bool{}
		for _, at := range rapid.SliceOfNDistinct(rapid.IntRange(-80, -11), 0, 20, rapid.ID[int]).Draw(t, "moves") {
			moves = append(moves, move(at, "east", "1", "2"))
			times[minute(at)] = true
		}
		reel := replay.New(replay.Known{Months: []records.Record{recorded(-90, -10, moves...)}, ToldSince: minute(-60), Now: noon, Formats: formats})
		past, seen := reel.At(minute(-90), cpu), 0
		for past.Later != nil {
			past = reel.At(past.Later.Time, cpu)
			if seen++; !times[past.At.UTC()] || seen > len(times) {
				t.Fatalf("step %d leads to %v", seen, past.At)
			}
		}
		back := min(1, seen)
		for past.Earlier != nil {
			past, back = reel.At(past.Earlier.Time, cpu), back+1
		}
		if seen != len(times) || back != seen {
			t.Fatalf("%d steps led there and %d back, of %d", seen, back, len(times))
		}
	})
}
