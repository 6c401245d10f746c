package quota

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/shares"
)

// TestReasonsAreFew has the limits of many clusters move: of a few of them it is remembered why.
func TestReasonsAreFew(t *testing.T) {
	var events told
	why := map[corev1.ResourceName]allocate.Reason{corev1.ResourcePods: allocate.Surplus}
	for i := range 2 * mostReasons {
		v := &shares.Verdict{Name: fmt.Sprintf("cluster-%03d", i), Reasons: why, Decided: true}
		events.note(&member{Child: &shares.Child{Name: v.Name}, verdict: v})
	}
	if len(events.why) != mostReasons || events.why["cluster-000"][corev1.ResourcePods] == "" {
		t.Errorf("the reasons of %d clusters are remembered, want %d, the first among them", len(events.why), mostReasons)
	}
}
