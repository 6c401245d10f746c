package workload

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/fedquota/fedquota/hack/bench/simulate"
)

// Helios is the trace of the virtual clusters of Helios "Earth", one row a minute: what ran and what waited, of GPUs.
type Helios struct {
	Load simulate.Load
	// Quotas are the static quotas of the virtual clusters, in the order of the load's members.
	Quotas []int64
	// For is the length of the trace.
	For time.Duration
	// RecordedPending is the part of the demand that waited, as recorded.
	RecordedPending float64
}

// ReadHelios reads helios-earth.csv.gz out of a folder.
func ReadHelios(folder string) (h Helios, err error) {
	err = readZipped(filepath.Join(folder, "helios-earth.csv.gz"), func(r io.Reader) error {
		rows, err := csv.NewReader(r).ReadAll()
		if err != nil {
			return err
		}
		return h.take(rows[1:])
	})
	return h, err
}

// take reads the rows: vc, minute, quota_gpus, running_gpus, pending_gpus.
func (h *Helios) take(rows [][]string) error {
	members := map[string]int{}
	var wanted, pending int64
	for _, row := range rows {
		n, err := integers(row[1:])
		if err != nil {
			return fmt.Errorf("row %v: %w", row, err)
		}
		if _, known := members[row[0]]; !known {
			members[row[0]] = len(members)
			h.Quotas = append(h.Quotas, n[1])
		}
		wanted, pending = wanted+n[2]+n[3], pending+n[3]
		at := time.Duration(n[0]) * time.Minute
		h.For = max(h.For, at+time.Minute)
		h.Load.Levels = append(h.Load.Levels, simulate.Level{At: at, Member: members[row[0]], Wants: n[2] + n[3]})
	}
	h.Load.Members = len(members)
	h.RecordedPending = float64(pending) / float64(wanted)
	slices.SortStableFunc(h.Load.Levels, func(a, b simulate.Level) int { return cmp.Compare(a.At, b.At) })
	return nil
}

// integers parses numbers.
func integers(fields []string) ([]int64, error) {
	numbers := make([]int64, len(fields))
	var errs []error
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		numbers[i], errs = n, append(errs, err)
	}
	return numbers, errors.Join(errs...)
}

// readZipped reads a gzipped file.
func readZipped(path string, read func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := read(unzipped); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
