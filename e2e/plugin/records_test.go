//go:build e2e

package plugin_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/report"
)

// recordInterval is how often the hub manager writes records here.
const recordInterval = "--record-interval=1s"

// records has a month be reported, and what happened be known without events.
func (w *world) records() {
	w.must(w.clients[east].Create(w.Context(), deployment("web", 4)))
	w.uses(east, "4")
	began := time.Now()
	w.eventually("a record of 10 seconds", func(context.Context) (bool, error) {
		var answer report.Report
		w.must(json.Unmarshal([]byte(w.out(hub, "report", "compute", "-o", "json")), &answer))
		return answer.Until.Sub(began) >= 10*time.Second, nil
	})
	w.must(w.clients[east].Delete(w.Context(), deployment("web", 0), client.PropagationPolicy("Foreground")))
	w.uses(east, "0")

	w.changesPods("42")
	w.changesPods("40")
	w.eventually("records of both changes", func(context.Context) (bool, error) {
		out := w.out(hub, "history", "compute", "--since", "30d")
		return strings.Contains(out, "hard.pods: 40 → 42") && strings.Contains(out, "hard.pods: 42 → 40"), nil
	})
	w.page("changes", hub, "history compute --since 30d")
	w.page("report", hub, "report compute")
	w.page("priced", hub, "report compute --by budget --prices "+files+"prices.yaml -o csv")
	w.shows(hub, "history compute --since 30d", "SpecChanged", "hard.pods: 40 → 42, by kubectl-patch")
	w.answers(hub, "report --month 2020-01", 1, "nothing is recorded of it")
	w.becomes("the budget to be at rest again", settled)
}

// changesPods changes the budget as people do, and waits until a round has seen it.
func (w *world) changesPods(pods string) {
	w.Helper()
	patch := `{"spec":{"hard":{"pods":"` + pods + `"}}}`
	out, err := w.kubectl(hub, "patch", "fq", "compute", "-n", team, "--type=merge", "-p", patch)
	w.has("patch", out, "patched")
	w.must(err)
	w.becomes(pods+" pods", func(fq *quotav1alpha1.FederatedQuota) bool {
		hard := fq.Status.Hard[corev1.ResourcePods]
		return hard.Cmp(resource.MustParse(pods)) == 0
	})
}
