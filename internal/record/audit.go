package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Change is one of a field of a spec.
type Change struct {
	Time time.Time `json:"t"`
	// By is who wrote the spec last then, as far as its managedFields tell.
	By         string `json:"b,omitempty"`
	Generation int64  `json:"g"`
	// Field is the path of the field, and From and To are its values, empty where it was not set.
	Field string `json:"p"`
	From  string `json:"f,omitempty"`
	To    string `json:"o,omitempty"`
}

// Fields are the values of a spec by their paths.
type Fields map[string]string

// Audit says who has changed the spec, and how.
type Audit struct {
	// Changes are the last ones, the first one first, and Dropped says how many there were before them.
	Changes []Change `json:"changes,omitempty"`
	Dropped int64    `json:"dropped,omitempty"`
	// Spec is the one that was seen last, and Generation its generation.
	Spec       Fields `json:"spec,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	// first is the one that was seen first in a piece, by whom, and when.
	first *seen
}

// seen is a spec as it was seen first.
type seen struct {
	fields     Fields
	generation int64
	by         string
	at         time.Time
}

const (
	// mostChanges is how many changes are kept, mostFields of how many fields of a spec, and mostValue of how many bytes a
	// value may be.
	mostChanges = 500
	mostFields  = 1000
	mostValue   = 128
)

// See takes a spec. What has changed since the one that was seen before it is noted.
func (a *Audit) See(at time.Time, by string, generation int64, spec any) error {
	if generation == a.Generation {
		return nil
	}
	fields, err := fieldsOf(spec)
	if err != nil {
		return fmt.Errorf("reading the fields of a spec: %w", err)
	}
	next := &seen{fields: fields, generation: generation, by: by, at: at.UTC()}
	if a.Generation == 0 {
		a.first = next
	}
	a.take(next)
	return nil
}

// take notes what a spec has changed.
func (a *Audit) take(next *seen) {
	if a.Generation > 0 && a.Generation < next.generation {
		a.note(changes(a.Spec, next)...)
	}
	a.Spec, a.Generation = next.fields, next.generation
}

// note adds changes that are later than all others.
func (a *Audit) note(list ...Change) {
	a.Changes = append(a.Changes, list...)
	excess := max(0, len(a.Changes)-mostChanges)
	a.Changes, a.Dropped = a.Changes[excess:], a.Dropped+int64(excess)
}

// add adds what a later piece has seen.
func (a *Audit) add(more *Audit) {
	if more.first != nil {
		a.take(more.first)
	}
	a.Dropped += more.Dropped
	a.note(more.Changes...)
	if more.Generation > 0 {
		a.Spec, a.Generation = more.Spec, more.Generation
	}
}

// changes returns how a spec differs from the one before it, by path.
func changes(before Fields, next *seen) []Change {
	var list []Change
	paths := maps.Clone(before)
	maps.Copy(paths, next.fields)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if was, is := before[path], next.fields[path]; was != is {
			list = append(list, Change{next.at, next.by, next.generation, path, was, is})
		}
	}
	return list
}

// fieldsOf returns the values of a spec by their paths, such as hard.pods and placement.clusters[0].
func fieldsOf(spec any) (Fields, error) {
	content, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return nil, err
	}
	fields := Fields{}
	flatten("", value, fields)
	return fields, nil
}

func flatten(path string, value any, into Fields) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flatten(strings.TrimPrefix(path+"."+key, "."), v[key], into)
		}
	case []any:
		for i, element := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), element, into)
		}
	default:
		if len(into) < mostFields {
			into[cmp.Or(path, ".")] = cut(fmt.Sprint(v))
		}
	}
}

// cut keeps a value short. That of two long ones that differ at the end alone is the same.
func cut(value string) string {
	if len(value) <= mostValue {
		return value
	}
	return strings.ToValidUTF8(value[:mostValue], "") + "…"
}
