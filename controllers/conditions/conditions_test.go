package conditions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Unix(1_700_000_000, 0)

func condition(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func TestMessagesStayWithinTheirBounds(t *testing.T) {
	var conditions []metav1.Condition
	Replace(&conditions, []metav1.Condition{condition("Debt", "X", strings.Repeat("é", limit))}, 1, epoch)
	if message := conditions[0].Message; len(message) > limit || !strings.HasSuffix(message, "é...") {
		t.Errorf("%d bytes, ending with %q", len(message), message[len(message)-10:])
	}
}

func TestConditionsKeepTheTime(t *testing.T) {
	var conditions []metav1.Condition
	Replace(&conditions, []metav1.Condition{condition("Debt", "X", "a"), condition("Draining", "X", "a")}, 1, epoch)
	Replace(&conditions, []metav1.Condition{condition("Debt", "Y", "b")}, 2, epoch.AddDate(0, 0, 1))
	want := []metav1.Condition{{Type: "Debt", Status: "True", Reason: "Y", Message: "b", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(epoch)}}
	if diff := cmp.Diff(want, conditions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
