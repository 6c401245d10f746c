package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// run is what the tests told of one fleet.
type run struct {
	// hub and members are versions, of which the members take one after the other.
	hub     string
	members []string
	// played says whether there are results.
	played bool
	// smoke says whether the smoke test has passed.
	smoke bool
	// scenarios and rows count the tests that have passed.
	scenarios, rows int
	// less are rows that were left out, and failed are tests that have failed.
	less   []less
	failed []string
	// seconds is how long it took.
	seconds float64
}

// less is something that a version does not have.
type less struct {
	// row is what cannot be shown, what is why, and told is what the product says of it.
	row, what, told string
}

// event is one of test2json.
type event struct {
	Action, Test, Output string
	Elapsed              float64
}

const (
	scenario = "TestScenarios/"
	native   = "TestNative/"
	mark     = "LESS: "
)

// read reads what the tests told of the fleet that a file is named after: v1.36.3+v1.32.13+v1.34.4.json.
func read(file string) (run, error) {
	versions := strings.Split(strings.TrimSuffix(filepath.Base(file), ".json"), "+")
	r := run{hub: versions[0], members: versions[1:]}
	if len(r.members) == 0 {
		r.members = versions
	}
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }()
	r.played = true
	for decoder := json.NewDecoder(f); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return r, err
		}
		r.take(e)
	}
	slices.SortFunc(r.less, func(a, b less) int { return strings.Compare(a.row, b.row) })
	slices.Sort(r.failed)
	r.failed = leaves(r.failed)
	return r, nil
}

// take takes one event into account.
func (r *run) take(e event) {
	switch e.Action {
	case "output":
		if _, told, found := strings.Cut(e.Output, mark); found {
			what, told, _ := strings.Cut(strings.TrimSpace(told), ": ")
			r.less = append(r.less, less{row: strings.TrimPrefix(e.Test, native), what: what, told: told})
		}
	case "fail":
		if e.Test != "" {
			r.failed = append(r.failed, e.Test)
		}
	case "pass":
		r.passed(e.Test)
	}
	if e.Test == "" {
		r.seconds += e.Elapsed
	}
}

// leaves are those of sorted tests that have no part among them.
func leaves(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		return slices.ContainsFunc(tests, func(other string) bool { return strings.HasPrefix(other, test+"/") })
	})
}

// passed counts a test: a scenario as a whole, whatever parts it has.
func (r *run) passed(test string) {
	switch {
	case test == "TestSmoke":
		r.smoke = true
	case strings.HasPrefix(test, scenario) && strings.Count(test, "/") == 1:
		r.scenarios++
	case strings.HasPrefix(test, native):
		r.rows++
	}
}
