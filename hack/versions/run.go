package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// run is what the tests told of one fleet.
type run struct {
	// hub and members are versions, of which the members take one after the other.
	hub     string
	members []string
	// played are the packages whose tests have run: scenarios and native table.
	played sets.Set[string]
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

// packages are those whose tests are run.
const (
	packageScenarios = "e2e"
	packageNative    = "native"
)

// read reads what the tests told of a fleet, v1.36.3+v1.32.13+v1.34.4, from a file per package in the folder.
func read(folder, fleet string) (run, error) {
	versions := strings.Split(fleet, "+")
	r := run{hub: versions[0], members: versions[1:], played: sets.New[string]()}
	if len(r.members) == 0 {
		r.members = versions
	}
	for _, name := range []string{packageScenarios, packageNative} {
		f, err := os.Open(filepath.Join(folder, fleet+"."+name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(r.takeAll(f), f.Close())
		}
		if err != nil {
			return r, err
		}
		r.played.Insert(name)
	}
	slices.SortFunc(r.less, func(a, b less) int { return strings.Compare(a.row, b.row) })
	slices.Sort(r.failed)
	r.failed = leaves(r.failed)
	return r, nil
}

// takeAll takes all events of a package into account.
func (r *run) takeAll(events io.Reader) error {
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r.take(e)
	}
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
