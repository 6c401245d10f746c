package workload

import (
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/hack/bench/simulate"
)

// zipped writes a gzipped file and returns its folder.
func zipped(t *testing.T, name, content string) string {
	t.Helper()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(file)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestReadHelios(t *testing.T) {
	folder := zipped(t, "helios-earth.csv.gz", "vc,minute,quota_gpus,running_gpus,pending_gpus\n"+
		"b,0,8,6,0\nb,1,8,8,4\na,0,16,2,0\na,1,16,0,0\n")
	got, err := ReadHelios(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := Helios{
		Load: simulate.Load{Members: 2, Levels: []simulate.Level{
			{At: 0, Member: 0, Wants: 6},
			{At: 0, Member: 1, Wants: 2},
			{At: time.Minute, Member: 0, Wants: 12},
			{At: time.Minute, Member: 1, Wants: 0},
		}},
		Quotas:          []int64{8, 16},
		For:             2 * time.Minute,
		RecordedPending: 4. / 20,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadHelios (-want +got):\n%s", diff)
	}
	if _, err := ReadHelios(zipped(t, "helios-earth.csv.gz", "h,e,l,i,o\nb,0,8,six,0\n")); err == nil {
		t.Error("no error for a number that is none")
	}
	if _, err := ReadHelios(t.TempDir()); err == nil {
		t.Error("no error without the file")
	}
}

func TestReadLCG(t *testing.T) {
	const rest = " -1 -1 -1 -1 -1 -1 1 1 -1 -1 "
	folder := zipped(t, "lcg-2005.swf.gz", "; Version: 2.2\n"+
		" 1 0 -1 100 1"+rest+"7 -1 -1\n"+
		" 2 5 -1 -1 1"+rest+"7 -1 -1\n"+ // never ran
		" 3 5 -1 10 1"+rest+"8 -1 -1\n"+ // the site with the least work
		" 4 5 -1 30 2"+rest+"9 -1 -1\n"+
		" 5 100 -1 30 1"+rest+"9 -1 -1\n")
	got, err := ReadLCG(folder, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := simulate.Load{Members: 2, Requests: []simulate.Request{
		{At: 0, Member: 0, Size: 1, Life: 100 * time.Second},
		{At: 5 * time.Second, Member: 1, Size: 2, Life: 30 * time.Second},
		{At: 100 * time.Second, Member: 1, Size: 1, Life: 30 * time.Second},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadLCG (-want +got):\n%s", diff)
	}
	// The first job ends when the last begins.
	if peak := PeakOf(got); peak != 3 {
		t.Errorf("peak %d, want 3", peak)
	}
	if _, err := ReadLCG(zipped(t, "lcg-2005.swf.gz", "1 2 3\n"), 2); err == nil {
		t.Error("no error for a job without site")
	}
}

// TestSyntheticMean compares what is drawn with what was asked for: the work, the size of the batches, and the order.
func TestSyntheticMean(t *testing.T) {
	s := Bursty(10, 1)
	s.For = 200 * time.Hour
	load := s.Load()
	var work float64
	batches := 0
	for i, r := range load.Requests {
		work += float64(r.Size) * r.Life.Seconds()
		switch {
		case i == 0 || r.At > load.Requests[i-1].At:
			batches++
		case r.At < load.Requests[i-1].At:
			t.Fatalf("request %d comes before the one before", i)
		}
	}
	if got, want := work/s.For.Seconds(), s.Mean(); math.Abs(got/want-1) > .05 {
		t.Errorf("%.0f in use on average, want %.0f", got, want)
	}
	if got := float64(len(load.Requests)) / float64(batches); math.Abs(got/s.Batch-1) > .05 {
		t.Errorf("%.2f pods in a batch, want %.2f", got, s.Batch)
	}
	if again := s.Load(); !slices.Equal(load.Requests, again.Requests) {
		t.Error("the same seed drew another load")
	}
}

// TestSyntheticBusy counts the arrivals of a member per quarter of an hour: bursts make them vary more.
func TestSyntheticBusy(t *testing.T) {
	variance := func(burst float64) float64 {
		s := Bursty(1, 1)
		s.Burst, s.Batch, s.For = burst, 1, 200*time.Hour
		counts := make([]float64, 800)
		load := s.Load()
		for _, r := range load.Requests {
			counts[r.At/(15*time.Minute)]++
		}
		mean, sum := float64(len(load.Requests))/float64(len(counts)), 0.
		for _, n := range counts {
			sum += (n - mean) * (n - mean)
		}
		return sum / float64(len(counts)) / mean
	}
	if calm, bursty := variance(1), variance(3); calm > 1.3 || bursty < 50 {
		t.Errorf("variance/mean is %.2f without and %.2f with bursts, want 1 and far more", calm, bursty)
	}
}
