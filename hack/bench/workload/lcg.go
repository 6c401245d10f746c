package workload

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
)

// ReadLCG reads lcg-2005.swf.gz out of a folder: the jobs of those sites that had the most work. The size of a job is
// its processors.
func ReadLCG(folder string, sites int) (load simulate.Load, err error) {
	err = readZipped(filepath.Join(folder, "lcg-2005.swf.gz"), func(r io.Reader) error {
		jobs, err := readJobs(r)
		load = busiest(jobs, sites)
		return err
	})
	return load, err
}

// readJobs reads the Standard Workload Format; the member of a request is its partition. Jobs that never ran are left
// out.
func readJobs(r io.Reader) (jobs []simulate.Request, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], ";") {
			continue
		}
		if len(fields) < 16 {
			return nil, fmt.Errorf("job %s has %d fields, want 16 at least", fields[0], len(fields))
		}
		n, err := integers([]string{fields[1], fields[3], fields[4], fields[15]})
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", fields[0], err)
		}
		if n[1] > 0 && n[2] > 0 {
			jobs = append(jobs, simulate.Request{
				At:     time.Duration(n[0]) * time.Second,
				Life:   time.Duration(n[1]) * time.Second,
				Size:   n[2],
				Member: int(n[3]),
			})
		}
	}
	return jobs, lines.Err()
}

// busiest keeps the jobs of so many sites and numbers these from zero.
func busiest(jobs []simulate.Request, sites int) simulate.Load {
	work := map[int]int64{}
	for _, j := range jobs {
		work[j.Member] += j.Size * int64(j.Life/time.Second)
	}
	order := slices.SortedFunc(maps.Keys(work), func(a, b int) int {
		return cmp.Or(cmp.Compare(work[b], work[a]), cmp.Compare(a, b))
	})
	order = order[:min(sites, len(order))]
	load := simulate.Load{Members: len(order)}
	for _, j := range jobs {
		if place := slices.Index(order, j.Member); place >= 0 {
			j.Member = place
			load.Requests = append(load.Requests, j)
		}
	}
	slices.SortStableFunc(load.Requests, func(a, b simulate.Request) int { return cmp.Compare(a.At, b.At) })
	return load
}

// PeakOf is the most that the requests of a load would use together if none were refused.
func PeakOf(load simulate.Load) (peak int64) {
	type change struct {
		at   time.Duration
		more int64
	}
	changes := make([]change, 0, 2*len(load.Requests))
	for _, r := range load.Requests {
		changes = append(changes, change{r.At, r.Size}, change{r.At + r.Life, -r.Size})
	}
	// What ends goes before what begins at the same time.
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more))
	})
	var used int64
	for _, c := range changes {
		used += c.more
		peak = max(peak, used)
	}
	return peak
}
