package quota

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/shares"
)

// weighted2 gives 20 pods to all clusters, in equal parts.
const weighted2 = `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`

// eastAlone selects nobody but east.
const eastAlone = `
hard: {pods: "30"}
placement: {clusters: [east]}
rebalance: {mode: Static}`

// eastFirst gives all of 30 pods to east.
const eastFirst = `
hard: {pods: "30"}
placement: {clusterSelector: {}}
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, weight: 0}]}
rebalance: {mode: Static}`

// quantities compares quantities by value.
var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

// logs returns a context whose logger notes what is logged, details included, and a function that returns the lines
// that say what.
func logs(t *testing.T) (logged func(what string) []string, ctx context.Context) {
	t.Helper()
	var mutex sync.Mutex
	var lines []string
	logger := funcr.New(func(_, line string) {
		mutex.Lock()
		defer mutex.Unlock()
		lines = append(lines, line)
	}, funcr.Options{Verbosity: 1})
	return func(what string) []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, what) })
	}, ctrl.LoggerInto(t.Context(), logger)
}

// unmark takes the marker off a Cluster.
func (w *world) unmark(name string) {
	w.t.Helper()
	cluster := w.cluster(name)
	delete(cluster.Annotations, quotav1alpha1.MemberAnnotation)
	w.must(servers[hubName].Update(w.t.Context(), cluster))
}

// reported is a condition that an agent reports as true.
func reported(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// scope is a round over the FederatedQuota that has just begun.
func (w *world) scope() *scope {
	w.t.Helper()
	fq := w.quota()
	s := &scope{fq: fq, now: w.clock.Now(), in: input.Of(fq, &input.Surroundings{})}
	s.round = shares.New(s.in)
	return s
}
