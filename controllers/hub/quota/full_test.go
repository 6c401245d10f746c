package quota

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/pace"
)

// specOfMany returns a spec of many names, which start with prefix.
func specOfMany(prefix string) string {
	hard := make([]string, 32)
	for i := range hard {
		hard[i] = fmt.Sprintf(`count/%s%d.example.com: "10"`, prefix, i)
	}
	return `{hard: {` + strings.Join(hard, ", ") + `}, placement: {clusterSelector: {}}, rebalance: {mode: Static}}`
}

// TestTooManyNames changes all names of the budget twice while a member is away that may enforce those of before.
func TestTooManyNames(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, specOfMany("a"))
	w.settle()
	w.agents["east"].down = true
	w.edit(specOfMany("b"))
	w.settle()
	w.edit(specOfMany("c"))
	w.settle()
	w.wantConditions("!Ready InvalidSpec", "Stalled InvalidSpec")
	want := `spec.hard: Invalid value: 32: cluster east may still enforce names of earlier budgets: with these it would have 96 names, and at most 64 have room in status: keep to those of status.hard until it has confirmed`
	if diff := cmp.Diff(want, w.message("Stalled")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if granted := w.quota().Status.Clusters[0].Granted; len(granted) != input.MostNames {
		t.Errorf("%d names are granted", len(granted))
	}
	w.agents["east"].down = false
	w.act()
	if result := w.round(); result.RequeueAfter > pace.RetryInterval*12/10 {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.settle()
	w.wantConditions("Ready Enforced")
	hard := corev1.ResourceList{}
	for i := range 32 {
		hard[corev1.ResourceName(fmt.Sprintf("count/c%d.example.com", i))] = resource.MustParse("10")
	}
	if diff := cmp.Diff(hard, corev1.ResourceList(w.share("east").Spec.Hard), quantities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
