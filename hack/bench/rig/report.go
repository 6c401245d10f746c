package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// Main runs a benchmark with the arguments of the program, until it ends or is interrupted.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Loads reads loads of a command line, parts of the budget with commas between.
func Loads(text string) (loads []float64, err error) {
	for load := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseFloat(load, 64)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("load %q is not a number above 0", load)
		}
		loads = append(loads, n)
	}
	return loads, nil
}

// Machine says what a benchmark ran on.
type Machine struct {
	Cores     int    `json:"cores"`
	MemoryGiB int    `json:"memoryGiB"`
	Go        string `json:"go"`
	// Load is the load average of the last minute when the benchmark began: above zero, others were at work.
	Load string `json:"load"`
}

// ThisMachine describes this machine as it is now; what it does not tell stays empty.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	memory, _ := os.ReadFile("/proc/meminfo")
	var kib int
	if _, err := fmt.Sscanf(string(memory), "MemTotal: %d kB", &kib); err == nil {
		m.MemoryGiB = (kib + 1<<19) >> 20
	}
	load, _ := os.ReadFile("/proc/loadavg")
	m.Load, _, _ = strings.Cut(string(load), " ")
	return m
}

// String is the line for a table.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores, %d GiB, %s; load when it began: %s", m.Cores, m.MemoryGiB, m.Go, m.Load)
}

// Write writes a report as JSON.
func Write(path string, report any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

// Table writes lines with their cells, which tabs part, in columns.
func Table(out io.Writer, lines string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, lines); err != nil {
		return err
	}
	return w.Flush()
}

// Percentile is the value below which so many percent of the values lie, and 0 if there are none.
func Percentile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

// Target is a number that the project wants to reach.
type Target struct {
	Name string  `json:"name"`
	Want string  `json:"want"`
	Got  float64 `json:"got"`
	Met  bool    `json:"met"`
}

// AtMost is a target that is met by a value up to the bound.
func AtMost(name string, bound, got float64) Target {
	return Target{name, fmt.Sprintf("at most %g", bound), got, got <= bound}
}

// AtLeast is a target that is met by a value from the bound on.
func AtLeast(name string, bound, got float64) Target {
	return Target{name, fmt.Sprintf("at least %g", bound), got, got >= bound}
}

// WriteTargets writes the table of targets, its cells parted by tabs.
func WriteTargets(out *strings.Builder, targets []Target) {
	fmt.Fprint(out, "\ntarget\twant\tgot\t\n")
	for _, t := range targets {
		met := "met"
		if !t.Met {
			met = "MISSED"
		}
		fmt.Fprintf(out, "%s\t%s\t%.4g\t%s\n", t.Name, t.Want, t.Got, met)
	}
}
