package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is what is kept of a package whose tests have ended on a fleet.
type result struct {
	// Ended is when they did, and Seconds how long they took.
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"`
	// Smoke says whether the smoke test has passed.
	Smoke bool `json:"smoke,omitempty"`
	// Passed counts the scenarios or the rows that have passed.
	Passed int `json:"passed"`
	// Less are rows that were left out, and Failed are tests that have failed.
	Less   []less   `json:"less,omitempty"`
	Failed []string `json:"failed,omitempty"`
}

// less is something that a version does not have.
type less struct {
	// Row is what cannot be shown, What is why, and Told is what the product says of it.
	Row  string `json:"row"`
	What string `json:"what"`
	Told string `json:"told"`
}

// event is one of test2json.
type event struct {
	Action, Test, Output string
	Elapsed              float64
	Time                 time.Time
}

const (
	scenario = "TestScenarios/"
	native   = "TestNative/"
	mark     = "LESS: "
)

// keep keeps what the output of a package's tests says. It leaves the file as it is if they have not run to their end.
func keep(output, kept string) error {
	r, err := resultOf(output)
	if err != nil {
		return fmt.Errorf("%s: %w", output, err)
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return err
	}
	return os.WriteFile(kept, append(content, '\n'), 0o644)
}

// resultOf reads the events of a package.
func resultOf(output string) (*result, error) {
	f, err := os.Open(output)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	r, tests, decoder := &result{}, 0, json.NewDecoder(f)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if e.Test != "" {
			tests++
		}
		r.take(e)
	}
	if r.Ended.IsZero() || tests == 0 {
		return nil, errors.New("no tests that have ended")
	}
	slices.SortFunc(r.Less, func(a, b less) int { return strings.Compare(a.Row, b.Row) })
	slices.Sort(r.Failed)
	r.Failed = leaves(r.Failed)
	return r, nil
}

// take takes one event into account.
func (r *result) take(e event) {
	if e.Action == "output" {
		if _, told, found := strings.Cut(e.Output, mark); found {
			what, told, _ := strings.Cut(strings.TrimSpace(told), ": ")
			r.Less = append(r.Less, less{Row: strings.TrimPrefix(e.Test, native), What: what, Told: told})
		}
		return
	}
	if e.Action != "pass" && e.Action != "fail" {
		return
	}
	switch {
	case e.Test == "":
		r.Ended, r.Seconds = e.Time, e.Elapsed
	case e.Action == "fail":
		r.Failed = append(r.Failed, e.Test)
	default:
		r.passed(e.Test)
	}
}

// passed counts a test: a scenario as a whole, whatever parts it has.
func (r *result) passed(test string) {
	switch {
	case test == "TestSmoke":
		r.Smoke = true
	case strings.HasPrefix(test, scenario) && strings.Count(test, "/") == 1, strings.HasPrefix(test, native):
		r.Passed++
	}
}

// leaves are those of sorted tests that have no part among them.
func leaves(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		return slices.ContainsFunc(tests, func(other string) bool { return strings.HasPrefix(other, test+"/") })
	})
}
