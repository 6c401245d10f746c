package shares

import (
	"slices"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestConditionsAreSound goes through all states of a child and all states of the spec: whatever the round saw, its
// conditions are sound, and while the budget is Ready nothing is said beside but what does no harm.
func TestConditionsAreSound(t *testing.T) {
	away := Reading{Failure: "away"}
	type state struct {
		entry   *Entry
		reading Reading
		ready   bool
	}
	told := func(target int64, s *Share) Reading {
		s.Hard = entry(1, target, target).Target
		return Reading{Share: s}
	}
	for name, tc := range map[string]state{
		"never read": {entry: entry(0, 0, 10), reading: away},
		"away":       {entry: entry(3, 5, 5), reading: away},
		"settled":    {entry: entry(3, 5, 5), reading: told(5, share(3, 5, 1)), ready: true},
		"no share":   {entry: entry(3, 5, 7)},
		"moving":     {entry: entry(3, 5, 7), reading: Reading{Share: share(2, 7, 1)}},
		"draining":   {entry: entry(3, 5, 7), reading: told(5, share(3, 7, 7)), ready: true},
		"held back":  {entry: entry(3, 5, 7), reading: Reading{HeldBack: Obstacle{"Refused", "no room"}}},
		"stuck":      {entry: entry(3, 5, 7), reading: told(5, share(3, 5, 1, yes("StuckQuotaController", "CanaryNotSynced", "it stands")))},
		"foreign":    {entry: entry(3, 5, 5), reading: told(5, share(3, 5, 1, yes("ForeignQuota", "OtherQuotas", "another"))), ready: true},
		"broken":     {entry: entry(3, 5, 7), reading: told(5, share(3, 5, 1, yes("BreakGlass", "Annotated", "fire")))},
	} {
		for circumstance, set := range map[string]func(in *Input){
			"nothing":      func(*Input) {},
			"was ready":    func(in *Input) { in.Ready = true },
			"out of scope": func(in *Input) { in.OutOfScope = []string{"services"} },
			"strangers":    func(in *Input) { in.Strangers = []string{"spec.placement.clusters: x"} },
			"halted":       func(in *Input) { in.Halted = Obstacle{quotav1alpha1.ReasonConflict, "another is older"} },
			"removing":     func(in *Input) { in.Removing = true },
			"not selected": func(in *Input) { in.Children[0].Selected = false },
			"no child":     func(in *Input) { in.Children = nil },
		} {
			t.Run(name+", "+circumstance, func(t *testing.T) {
				in := inputOf(Child{Name: "p1", Selected: true, Entry: tc.entry, Reading: tc.reading})
				in.Split.Static, in.Children[0].Terms.Max = true, entry(1, 5, 5).Target
				in.SpecRevision = 3
				set(in)
				conditions := New(in).Decide().Conditions
				ready := holds(conditions, "Ready")
				if want := tc.ready && (circumstance == "nothing" || circumstance == "was ready" || circumstance == "out of scope") || name == "moving" && circumstance == "was ready"; ready != want {
					t.Errorf("Ready is %t in %v", ready, conditions)
				}
				if circumstance == "out of scope" && !holds(conditions, "NameNotCounted") {
					t.Errorf("nothing says that services are not counted: %v", conditions)
				}
				for _, fault := range faults(conditions) {
					t.Errorf("%s: %v", fault, conditions)
				}
			})
		}
	}
}

// holds says whether a condition is true.
func holds(conditions []Condition, kind string) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Type == kind && c.True })
}

func faults(conditions []Condition) []string {
	var found []string
	if conditions[0].Type != "Ready" {
		found = append(found, "Ready is not the first")
	}
	ready := conditions[0].True
	reconciling, stalled := holds(conditions, "Reconciling"), holds(conditions, "Stalled")
	if !ready && reconciling == stalled {
		found = append(found, "neither or both of Reconciling and Stalled")
	}
	for _, c := range conditions[1:] {
		if !c.True || ready && !Harmless(c.Type) {
			found = append(found, c.Type)
		}
	}
	for _, c := range conditions {
		if c.Message == "" || c.Reason == "" {
			found = append(found, c.Type+" says nothing")
		}
	}
	return found
}
