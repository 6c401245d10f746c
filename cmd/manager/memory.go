package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// cgroupLimit is where Linux says how much memory a container may take, "max" for any amount.
const cgroupLimit = "/sys/fs/cgroup/memory.max"

// limitMemory has garbage collected in time to stay below the limit of the container, whoever set that: without, a heap
// of half the limit may grow to the whole before it is collected. A tenth is left for what the runtime does not count.
// GOMEMLIMIT goes first.
func limitMemory(file string) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return // there is no such limit, or no way to know it
	}
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
