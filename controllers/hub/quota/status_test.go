package quota

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestEventsTellOfOtherClusters has clusters come under a condition and leave it one after another, and numbers change
// between.
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
		if got := members.IsAbsentKind(tc.err); got != tc.want {
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
			fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			fq.Status = quotav1alpha1.FederatedQuotaStatus{BudgetStatus: quotav1alpha1.BudgetStatus{ObservedGeneration: 3, Conditions: tc.conditions}}
			if diff := cmp.Diff(tc.want, lint(fq)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
