package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun measures one small cell and what needs no load, and skips what needs traces.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "replay.json")
	var out strings.Builder
	args := []string{"--traces", "", "--loads", "0.7", "--clusters", "3", "--seeds", "1", "--out", path}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"skipped helios", "skipped lcg", "0.70/3", "admitted ÷ pooled, worst cell"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in:\n%s", part, out.String())
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	check(t, &got)
}

// check checks what is known of any run: the order of the policies, and the targets.
func check(t *testing.T, got *report) {
	t.Helper()
	value := map[string]row{}
	for _, r := range got.Synthetic {
		value[r.Policy] = r
	}
	if value[pooled].OfPooled != 1 || value[static].OfPooled > .95 || value[held].OfPooled < .99 {
		t.Errorf("synthetic: %+v", got.Synthetic)
	}
	for _, target := range got.Targets {
		if !target.Met {
			t.Errorf("missed %+v", target)
		}
		if strings.Contains(target.Name, ".85") {
			t.Errorf("%+v, although no such load was played", target)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{{"--parts", "lunch"}, {"--loads", "0"}, {"--clusters", "-1"}, {"--hold", "soon"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

// TestCompare has numbers just on and just off the targets.
func TestCompare(t *testing.T) {
	r := report{
		Synthetic: []row{
			{Policy: held, Load: .95, OfPooled: .99, Writes: 9},
			{Policy: held, Load: .85, OfPooled: 1, Writes: 2},
			{Policy: static, Load: .85, OfPooled: .5},
		},
		Steady: []row{{Policy: held, Writes: .01}},
		Helios: []row{{Policy: asynchronous, Pending: .001}, {Policy: static, Pending: .1}},
		LCG:    []row{{Policy: held, FalseDenials: .031, WorkOfPooled: .989, Over: 1}},
	}
	want := map[string]bool{
		"synthetic: admitted ÷ pooled, worst cell":              true,
		"synthetic: limit writes per cluster and minute at .85": true,
		"steady: limit writes per cluster and minute":           false,
		"Helios: demand left pending":                           true,
		"LCG: refused although the budget had room":             false,
		"LCG: work done ÷ pooled":                               false,
		"LCG: above the budget, held requests":                  false,
	}
	found := 0
	for _, target := range r.compare() {
		if met, ok := want[target.Name]; ok {
			found++
			if target.Met != met {
				t.Errorf("%+v, want met: %v", target, met)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d targets found in %+v", found, len(want), r.compare())
	}
}
