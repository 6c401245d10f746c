package nativequota_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

func TestParseRevision(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "5": 5, "9007199254740991": 1<<53 - 1, "9223372036854775807": 1<<63 - 1,
		"": 0, "0": 0, "-5": 0, "+5": 0, "05": 0, " 5": 0, "5 ": 0, "5.0": 0, "1e3": 0, "0x5": 0, "true": 0, "9223372036854775808": 0,
	} {
		if got := nativequota.ParseRevision(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// TestRevision reads the revision of a ResourceQuota that is managed, and of no other.
func TestRevision(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		quotav1alpha1.RevisionAnnotation: "7", quotav1alpha1.ReleasedAnnotation: "3",
	}}}
	if got := nativequota.Revision(quota); got != 0 {
		t.Errorf("not managed: got %d", got)
	}
	if state := nativequota.StateOf(quota); state.Managed || state.Revision != 3 {
		t.Errorf("released: got %+v", state)
	}
	quota.Labels = map[string]string{quotav1alpha1.ManagedLabel: "true"}
	if got := nativequota.Revision(quota); got != 7 {
		t.Errorf("managed: got %d", got)
	}
	if state := nativequota.StateOf(quota); !state.Managed || state.Revision != 7 {
		t.Errorf("managed: got %+v", state)
	}
}
