package hub

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/validate"
)

func TestTightest(t *testing.T) {
	tests := map[string]struct {
		budget, used amount.List
		want         string
	}{
		"nothing":        {want: ""},
		"unused":         {budget: amount.List{"pods": 3, "cpu": 1000}, want: "cpu: 0/1"},
		"the fullest":    {budget: amount.List{"pods": 3, "cpu": 1000}, used: amount.List{"pods": 2, "cpu": 500}, want: "pods: 2/3"},
		"above":          {budget: amount.List{"pods": 3, "cpu": 1000}, used: amount.List{"pods": 4, "cpu": 1000}, want: "pods: 4/3"},
		"as the user":    {budget: amount.List{"memory": 4 << 30}, used: amount.List{"memory": 1 << 29}, want: "memory: 512Mi/4Gi"},
		"none to be had": {budget: amount.List{"pods": 0, "secrets": 4}, used: amount.List{"secrets": 1}, want: "secrets: 1/4"},
		"first of equal": {budget: amount.List{"pods": 2, "cpu": 2000}, used: amount.List{"pods": 1, "cpu": 1000}, want: "cpu: 1/2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tightest(tc.budget, tc.used, list("memory", "1Gi"))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// round is a scope with one member, whose entry and share are given.
func roundOf(e ledger.Entry, m member) (*scope, *member) {
	fq := quotaOf(`{hard: {pods: "10"}, placement: {clusterSelector: {}}}`)
	m.name, m.cluster = "p1", &clustersOf("p1")[0]
	if m.share != nil {
		m.report = ledger.ReportOf(m.share.Status)
	}
	s := &scope{fq: fq, now: epoch, ledger: ledger.New(amount.List{"pods": 10}, e.Revision, map[string]ledger.Entry{"p1": e})}
	s.members, s.byName = []*member{&m}, map[string]*member{"p1": &m}
	return s, &m
}

// shareOf returns a share that reports a revision, and limit and usage of pods.
func shareOf(revision int64, hard, used string, conditions ...metav1.Condition) *quotav1alpha1.QuotaShare {
	share := &quotav1alpha1.QuotaShare{}
	share.Spec.Revision = revision
	share.Status = quotav1alpha1.QuotaShareStatus{Revision: revision, Hard: list("pods", hard), Used: list("pods", used), Conditions: conditions}
	return share
}

func TestStateOf(t *testing.T) {
	entry := func(revision, target, granted int64) ledger.Entry {
		return ledger.Entry{Revision: revision, Target: amount.List{"pods": target}, Granted: amount.List{"pods": granted}}
	}
	enforced := func(reason string) metav1.Condition {
		return metav1.Condition{Type: "Enforced", Status: metav1.ConditionFalse, Reason: reason, Message: "because of " + reason}
	}
	tests := map[string]struct {
		entry   ledger.Entry
		member  member
		want    quotav1alpha1.ClusterState
		message string
	}{
		"never read":       {entry: entry(0, 0, 10), member: member{selected: true, unreachable: "away"}, want: "Unread", message: "away"},
		"away":             {entry: entry(3, 5, 5), member: member{selected: true, unreachable: "away"}, want: "Unreachable", message: "away"},
		"settled":          {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(3, "5", "1")}, want: "Settled"},
		"on its way":       {entry: entry(3, 5, 7), member: member{selected: true, share: shareOf(2, "7", "1")}, want: "Settling"},
		"no share yet":     {entry: entry(3, 5, 5), member: member{selected: true}, want: "Settling"},
		"above its target": {entry: entry(3, 5, 7), member: member{selected: true, share: shareOf(3, "7", "7")}, want: "Draining", message: "more is used than its target of pods"},
		"leaving":          {entry: entry(3, 0, 7), member: member{share: shareOf(3, "7", "7")}, want: "Leaving", message: "it has not given back pods"},
		"about to be gone": {entry: entry(3, 0, 0), member: member{share: shareOf(3, "0", "0")}, want: "Leaving"},
		"held back":        {entry: entry(3, 5, 5), member: member{selected: true, heldBack: obstacle{reason: "Refused", message: "no room"}}, want: "NotReady", message: "no room"},
		"unknown resource": {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(3, "5", "1", enforced("UnknownResource"))}, want: "NotReady", message: "because of UnknownResource"},
		"name taken":       {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(3, "5", "1", enforced("NameTaken"))}, want: "NotReady", message: "because of NameTaken"},
		"not written":      {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(2, "5", "1", enforced("WriteFailed"))}, want: "NotReady", message: "because of WriteFailed"},
		"not released":     {entry: entry(3, 0, 0), member: member{share: shareOf(3, "5", "1", enforced("WriteFailed"))}, want: "NotReady", message: "because of WriteFailed"},
		"pending":          {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(2, "5", "1", enforced("Pending"))}, want: "Settling"},
		"stuck":            {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(3, "5", "1", yes("StuckQuotaController", "CanaryNotSynced", "it stands"))}, want: "Stuck", message: "it stands"},
		"broken glass":     {entry: entry(3, 5, 5), member: member{selected: true, share: shareOf(3, "5", "1", yes("StuckQuotaController", "CanaryNotSynced", "it stands"), yes("BreakGlass", "Annotated", "fire"))}, want: "BreakGlass", message: "fire"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, m := roundOf(tc.entry, tc.member)
			state, why := s.stateOf(m)
			if state != tc.want || why.message != tc.message || (why.reason != "") != (state == quotav1alpha1.ClusterNotReady) {
				t.Errorf("got %s: %+v, want %s: %q", state, why, tc.want, tc.message)
			}
		})
	}
}

// TestDebt names who holds most above its target, in an order that stays, and counts the others.
func TestDebt(t *testing.T) {
	s, _ := roundOf(ledger.Entry{}, member{})
	s.fq = quotaOf(`{hard: {pods: "10", memory: 8Gi}, placement: {clusterSelector: {}}}`)
	entries := map[string]ledger.Entry{}
	hold := func(name string, state quotav1alpha1.ClusterState, target, granted amount.List) {
		entries[name] = ledger.Entry{Revision: 1, Target: target, Granted: granted}
		s.fq.Status.Clusters = append(s.fq.Status.Clusters, quotav1alpha1.ClusterStatus{Name: quotav1alpha1.ClusterName(name), State: state})
	}
	want := func(message string) {
		t.Helper()
		s.ledger = ledger.New(amount.List{"pods": 10, "memory": 8 << 30}, 1, entries)
		for i := range s.fq.Status.Clusters {
			c := &s.fq.Status.Clusters[i]
			s.ledger.Store(string(c.Name), c, like(s.fq))
		}
		if diff := cmp.Diff(message, s.debt()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	hold("east", "Draining", amount.List{"pods": 1, "memory": 1 << 30}, amount.List{"pods": 3, "memory": 1 << 30})
	hold("north", "Settled", amount.List{"pods": 4, "memory": 8 << 30}, amount.List{"pods": 4, "memory": 8 << 30})
	want("More is granted than the budget allows, so nobody is raised: 1Gi of memory")
	hold("south", "Settling", amount.List{"pods": 1, "memory": 0}, amount.List{"pods": 3, "memory": 0})
	hold("west", "Unreachable", amount.List{"pods": 2, "memory": 0}, amount.List{"pods": 5, "memory": 3 << 30})
	want("More is granted than the budget allows, so nobody is raised: 4Gi of memory, held by west (Unreachable) 3Gi; 5 of pods, held by west (Unreachable) 3, east (Draining) 2, south (Settling) 2")
	for _, name := range []string{"x1", "x2", "x3"} {
		hold(name, "Unread", amount.List{}, amount.List{"pods": ledger.Unknown, "memory": 0})
	}
	want("More is granted than the budget allows, so nobody is raised: 4Gi of memory, held by west (Unreachable) 3Gi; an unknown amount of pods, held by x1 (Unread), x2 (Unread), x3 (Unread), west (Unreachable) 3, east (Draining) 2 and 1 more")
}

// TestEventsTellOfOtherClusters has clusters come under a condition and leave it one after another, and numbers change between.
func TestEventsTellOfOtherClusters(t *testing.T) {
	w := newWorld(t, "east", "west")
	recorder := events.NewFakeRecorder(1000)
	w.hub.Recorder = recorder
	wantNotes := func(condition string, want ...string) {
		t.Helper()
		var notes []string
		for len(recorder.Events) > 0 {
			if _, note, found := strings.Cut(<-recorder.Events, condition+": "); found {
				notes = append(notes, note)
			}
		}
		if diff := cmp.Diff(want, notes); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	const capped = weighted2 + `
distribution: {rules: [{clusters: [east], max: {pods: "5"}}, {clusters: [west], max: {pods: "%s"}}]}`
	w.create(quotaName, weighted2)
	w.agents["east"].uses(list("pods", "8"))
	w.agents["west"].uses(list("pods", "8"))
	w.settle()
	w.edit(fmt.Sprintf(capped, "10"))
	w.settle()
	w.wantLedger("east 5/8 Draining", "west 10/10 Settled")
	wantNotes("Draining", "east: more is used than its target of pods")
	w.edit(strings.Replace(fmt.Sprintf(capped, "10"), `"5"`, `"4"`, 1)) // it drains on, and nobody is told again
	w.round()
	w.wantLedger("east 4/8 Draining", "west 10/10 Settled")
	w.settle()
	w.wantLedger("east 4/8 Draining", "west 10/10 Settled")
	wantNotes("Draining")
	w.edit(fmt.Sprintf(capped, "5"))
	w.settle()
	w.agents["east"].uses(list("pods", "7"))
	w.settle()
	w.wantLedger("east 5/7 Draining", "west 5/8 Draining")
	wantNotes("Draining", "east: more is used than its target of pods, west: more is used than its target of pods")

	const debt = "More is granted than the budget allows, so nobody is raised: "
	w.edit(`{hard: {pods: "10"}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`)
	w.settle()
	w.agents["east"].uses(list("pods", "6"))
	w.settle()
	w.agents["east"].uses(list("pods", "5"))
	w.settle()
	wantNotes("Debt", debt+"5 of pods, held by west (Draining) 3, east (Draining) 2", debt+"3 of pods, held by west (Draining) 3")
}

// TestConditionsAreSound goes through all states of a cluster and all states of the spec: whatever the round saw, the status
// that it writes is sound, and one that says Ready says nothing else.
func TestConditionsAreSound(t *testing.T) {
	now := metav1.NewTime(epoch)
	for state, m := range map[string]member{
		"never read": {unreachable: "away"}, "away": {unreachable: "away"}, "settled": {share: shareOf(3, "5", "1")}, "no share": {},
		"settling": {share: shareOf(2, "7", "1")}, "draining": {share: shareOf(3, "7", "7")}, "held back": {heldBack: obstacle{reason: "Refused", message: "no room"}},
		"stuck":   {share: shareOf(3, "5", "1", yes("StuckQuotaController", "CanaryNotSynced", "it stands"))},
		"foreign": {share: shareOf(3, "5", "1", yes("ForeignQuota", "OtherQuotas", "another"))},
		"broken":  {share: shareOf(3, "5", "1", yes("BreakGlass", "Annotated", "fire"))},
	} {
		for _, selected := range []bool{false, true} {
			for circumstance, set := range map[string]func(s *scope){
				"nothing":    func(*scope) {},
				"strangers":  func(s *scope) { s.strangers = []string{"spec.placement.clusters: x"} },
				"a conflict": func(s *scope) { s.conflict = "another is older" },
				"problems":   func(s *scope) { s.problems = validate.Spec(&quotaOf(`{hard: {gpu: "1"}}`).Spec) },
				"removing":   func(s *scope) { s.fq.DeletionTimestamp = &now },
				"no cluster": func(s *scope) { s.members, s.byName, s.ledger = nil, nil, ledger.New(amount.List{}, 0, nil) },
			} {
				e := ledger.Entry{Revision: 3, Target: amount.List{"pods": 5}, Granted: amount.List{"pods": 7}}
				switch state {
				case "never read":
					e = ledger.Entry{Target: amount.List{"pods": 0}, Granted: amount.List{"pods": 10}}
				case "settled":
					e.Granted = amount.List{"pods": 5}
				}
				m.selected = selected
				s, _ := roundOf(e, m)
				set(s)
				s.report()
				for _, fault := range lint(s.fq) {
					t.Errorf("%s, selected %t, %s: %s in %v", state, selected, circumstance, fault, conditionsOf(s.fq))
				}
				ready := apimeta.IsStatusConditionTrue(s.fq.Status.Conditions, "Ready")
				if want := state == "settled" && selected && circumstance == "nothing"; ready != want {
					t.Errorf("%s, selected %t, %s: Ready is %t", state, selected, circumstance, ready)
				}
			}
		}
	}
}

func TestIsAbsentKind(t *testing.T) {
	shares := schema.GroupResource{Group: "quota.fedquota.io", Resource: "quotashares"}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"no share":     {err: apierrors.NewNotFound(shares, "compute")},
		"no such API":  {err: apierrors.NewGenericServerResponse(404, "get", shares, "", "", 0, true), want: true},
		"not mapped":   {err: &apimeta.NoKindMatchError{}, want: true},
		"another":      {err: errors.New("timeout")},
		"no right":     {err: apierrors.NewForbidden(shares, "compute", nil)},
		"not by NewXY": {err: apierrors.NewConflict(shares, "compute", nil)},
	}
	for name, tc := range tests {
		if got := isAbsentKind(tc.err); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestLint(t *testing.T) {
	condition := func(kind, status string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: "X", Message: "m", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(epoch)}
	}
	tests := map[string]struct {
		conditions []metav1.Condition
		want       []string
	}{
		"sound":         {conditions: []metav1.Condition{condition("Ready", "True")}},
		"no Ready":      {conditions: []metav1.Condition{condition("Debt", "True")}, want: []string{"Ready is missing"}},
		"contradictory": {conditions: []metav1.Condition{condition("Ready", "True"), condition("Debt", "True")}, want: []string{"Debt is true while Ready is"}},
		"idle":          {conditions: []metav1.Condition{condition("Ready", "False"), condition("Stalled", "False")}, want: []string{"Stalled is there and not true", "not Ready, and neither Reconciling nor Stalled"}},
		"both":          {conditions: []metav1.Condition{condition("Ready", "False"), condition("Stalled", "True"), condition("Reconciling", "True")}, want: []string{"both Reconciling and Stalled"}},
		"bare":          {conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}, want: []string{"Ready lacks its generation, message or time"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fq := quotaOf(`{}`)
			fq.Status = quotav1alpha1.FederatedQuotaStatus{ObservedGeneration: 3, Conditions: tc.conditions}
			if diff := cmp.Diff(tc.want, lint(fq)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
