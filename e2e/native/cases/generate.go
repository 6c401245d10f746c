package cases

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// quantities are amounts of all kinds that the schema lets through.
var quantities = []string{
	"0", "1", "10", "500", "0.5", "1.5", "2.0", "1500m", "2000m", "500u", "100n", "1.5k", "1k", "1Ki", "1.5Gi", "8Pi",
	"1e3", "1E2", "1e-3", "12e6", "9223372036854775", "9223372036854776", "9223372036854775807", "9223372036854775807m",
	"10Pi", "9000Pi", "10E", "-1", "-500m", "+5", ".5", "5.",
}

var (
	scopes = []corev1.ResourceQuotaScope{
		"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
		"VolumeAttributesClass", "Terminated", "",
	}
	operators = []corev1.ScopeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Is", ""}
)

// NativeSpec is what a ResourceQuota has, with quantities as they are written.
type NativeSpec struct {
	Hard          map[string]string           `json:"hard"`
	Scopes        []corev1.ResourceQuotaScope `json:"scopes,omitempty"`
	ScopeSelector *corev1.ScopeSelector       `json:"scopeSelector,omitempty"`
}

// Generated returns n specs, by a seed. The first ones are of each name alone and of each quantity alone, so
// that none is missing.
func Generated(n int, seed uint64) []NativeSpec {
	g := generator{rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // the same specs at each run
	names := slices.Sorted(maps.Keys(Names))
	var specs []NativeSpec
	for _, name := range names {
		specs = append(specs, NativeSpec{Hard: map[string]string{string(name): "1"}})
	}
	for _, quantity := range quantities {
		for _, name := range []string{"pods", "requests.cpu", "requests.memory"} {
			specs = append(specs, NativeSpec{Hard: map[string]string{name: quantity}})
		}
	}
	for len(specs) < n {
		specs = append(specs, g.spec(names))
	}
	return specs[:n]
}

type generator struct{ *rand.Rand }

// coin says yes every other time.
func (g generator) coin() bool { return g.IntN(2) == 0 }

func (g generator) spec(names []corev1.ResourceName) NativeSpec {
	spec := NativeSpec{Hard: map[string]string{}}
	// Names that go together with scopes are rare among all.
	if g.coin() {
		names = []corev1.ResourceName{
			"pods", "count/pods", "requests.cpu", "cpu", "limits.memory", "requests.nvidia.com/gpu", "persistentvolumeclaims",
			"requests.storage",
		}
	}
	for range 1 + g.IntN(3) {
		spec.Hard[string(pick(g, names))] = pick(g, []string{"1", "20", "1Ki", pick(g, quantities)})
	}
	if g.coin() {
		// The schema takes no empty list, and native quota the same scope only once.
		set := sets.New[corev1.ResourceQuotaScope]()
		for range 1 + g.IntN(2) {
			set.Insert(pick(g, scopes))
		}
		spec.Scopes = sets.List(set)
	}
	if g.coin() {
		spec.ScopeSelector = &corev1.ScopeSelector{}
		for range 1 + g.IntN(2) {
			spec.ScopeSelector.MatchExpressions = append(spec.ScopeSelector.MatchExpressions, g.requirement())
		}
	}
	return spec
}

func (g generator) requirement() corev1.ScopedResourceSelectorRequirement {
	r := corev1.ScopedResourceSelectorRequirement{ScopeName: pick(g, scopes[:8]), Operator: pick(g, operators[:5])}
	if g.coin() {
		r.ScopeName = corev1.ResourceQuotaScopePriorityClass
	}
	for i := range g.IntN(3) {
		r.Values = append(r.Values, fmt.Sprint("class", i))
	}
	return r
}

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }
