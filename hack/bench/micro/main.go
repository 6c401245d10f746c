// Micro runs the microbenchmarks of the packages that decide and answer, prints what they print, and writes it as JSON.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

func main() { rig.Main("micro", run) }

// report is all that was measured.
type report struct {
	Machine    rig.Machine `json:"machine"`
	Benchmarks []benchmark `json:"benchmarks"`
}

// benchmark is one line of go test, its values by unit.
type benchmark struct {
	Name   string             `json:"name"`
	Rounds int                `json:"rounds"`
	Values map[string]float64 `json:"values"`
}

func run(ctx context.Context, _ []string, out io.Writer) error {
	r := report{Machine: rig.ThisMachine()}
	var printed bytes.Buffer
	command := exec.CommandContext(
		ctx, "go", "test", "-run=^$", "-bench=.", "-benchmem", "./internal/allocate",
		"./controllers/hub/pool", "./webhooks/admission",
	)
	command.Stdout, command.Stderr = &printed, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, printed.String())
	}
	var table strings.Builder
	fmt.Fprintln(&table, r.Machine)
	for line := range strings.Lines(printed.String()) {
		if b, ok := parse(line); ok {
			r.Benchmarks = append(r.Benchmarks, b)
			table.WriteString(line)
		}
	}
	if _, err := io.WriteString(out, table.String()); err != nil {
		return err
	}
	return rig.Write(filepath.Join("bin", "bench", "micro.json"), r)
}

// parse reads a line of go test: the name, how often it ran, and pairs of value and unit.
func parse(line string) (b benchmark, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return b, false
	}
	rounds, err := strconv.Atoi(fields[1])
	b = benchmark{Name: fields[0], Rounds: rounds, Values: map[string]float64{}}
	for i := 2; i+1 < len(fields) && err == nil; i += 2 {
		b.Values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64)
	}
	return b, err == nil
}
