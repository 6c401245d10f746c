package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// run is what is known of one fleet.
type run struct {
	// hub and members are versions, of which the members take one after the other.
	hub     string
	members []string
	// scenarios and native are the results of the two packages, or nil where one was not run.
	scenarios, native *result
}

// read reads what is kept of a fleet, v1.36.3+v1.32.13+v1.34.4, from a file per package in the folder.
func read(folder, fleet string) (run, error) {
	versions := strings.Split(fleet, "+")
	r := run{hub: versions[0], members: versions[1:]}
	if len(r.members) == 0 {
		r.members = versions
	}
	var errs [2]error
	r.scenarios, errs[0] = kept(filepath.Join(folder, fleet+".e2e.json"))
	r.native, errs[1] = kept(filepath.Join(folder, fleet+".native.json"))
	return r, errors.Join(errs[:]...)
}

// kept reads the results of a package, or nil where there are none.
func kept(file string) (*result, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &result{}
	return r, json.Unmarshal(content, r)
}

// played are the results that there are.
func (r run) played() []*result {
	return slices.DeleteFunc([]*result{r.scenarios, r.native}, func(r *result) bool { return r == nil })
}

// seconds is how long the tests took.
func (r run) seconds() float64 {
	sum := 0.0
	for _, played := range r.played() {
		sum += played.Seconds
	}
	return sum
}

// day is that of the oldest results.
func (r run) day() string {
	oldest := slices.MinFunc(r.played(), func(a, b *result) int { return a.Ended.Compare(b.Ended) })
	return oldest.Ended.Format(time.DateOnly)
}

// failed are the tests that have failed.
func (r run) failed() []string {
	var failed []string
	for _, played := range r.played() {
		failed = append(failed, played.Failed...)
	}
	return failed
}
