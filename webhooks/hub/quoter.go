package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fedquota/fedquota/controllers/patches"
)

// QuotePath is where the webhook that quotes is served, as its marker says.
const QuotePath = "/quote-federatedquota"

// Quoter takes numbers with a fraction for quantities, as in limits.cpu: 0.5. A ResourceQuota takes them; the schema of
// a CRD lets through whole numbers and text alone.
type Quoter struct{}

// SetupWithManager has the manager serve the webhook.
func (q Quoter) SetupWithManager(mgr ctrl.Manager) {
	mgr.GetWebhookServer().Register(QuotePath, &admission.Webhook{Handler: q})
}

// amounts are the parts of a FederatedQuota or a QuotaPool that have quantities, before anybody held it to the schema.
type amounts struct {
	Hard         map[string]any `json:"hard"`
	Reserve      map[string]any `json:"reserve"`
	Distribution struct {
		Granularity map[string]any `json:"granularity"`
		Rules       []struct {
			Min      map[string]any `json:"min"`
			Lendable map[string]any `json:"lendable"`
			Max      map[string]any `json:"max"`
			Headroom map[string]any `json:"headroom"`
		} `json:"rules"`
	} `json:"distribution"`
}

// quotable is the spec of either: a QuotaPool may have the amounts of other FederatedQuotas in its template.
type quotable struct {
	amounts

	Namespaces struct {
		Template amounts `json:"template"`
	} `json:"namespaces"`
}

// Handle answers a review: whatever is wrong, the schema says it.
func (Quoter) Handle(_ context.Context, review admission.Request) admission.Response {
	object := struct {
		Spec quotable `json:"spec"`
	}{}
	decoder := json.NewDecoder(bytes.NewReader(review.Object.Raw))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return admission.Allowed("")
	}
	q := &quoting{}
	q.all(&object.Spec.amounts, "spec")
	q.all(&object.Spec.Namespaces.Template, "spec", "namespaces", "template")
	if len(q.operations) == 0 {
		return admission.Allowed("")
	}
	return admission.Patched("", q.operations...).WithWarnings("numbers with a fraction are taken for text: write " +
		strings.Join(q.examples, ", ") + ", else tools that compare what is stored see a difference")
}

// quoting collects what to quote.
type quoting struct {
	operations []jsonpatch.JsonPatchOperation
	examples   []string
}

// mostExamples is how many numbers somebody is told to quote.
const mostExamples = 3

// all quotes the numbers of all lists.
func (q *quoting) all(of *amounts, path ...string) {
	at := func(further ...string) []string { return slices.Concat(path, further) }
	q.list(of.Hard, at("hard")...)
	q.list(of.Reserve, at("reserve")...)
	q.list(of.Distribution.Granularity, at("distribution", "granularity")...)
	for i := range of.Distribution.Rules {
		rule, n := &of.Distribution.Rules[i], fmt.Sprint(i)
		q.list(rule.Min, at("distribution", "rules", n, "min")...)
		q.list(rule.Lendable, at("distribution", "rules", n, "lendable")...)
		q.list(rule.Max, at("distribution", "rules", n, "max")...)
		q.list(rule.Headroom, at("distribution", "rules", n, "headroom")...)
	}
}

// list quotes the numbers of one list that are no whole ones.
func (q *quoting) list(list map[string]any, path ...string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		number, ok := list[name].(json.Number)
		if _, err := number.Int64(); !ok || err == nil {
			continue
		}
		at := patches.Pointer(append(slices.Clone(path), name)...)
		q.operations = append(q.operations, jsonpatch.NewOperation("replace", at, number.String()))
		if len(q.examples) < mostExamples {
			q.examples = append(q.examples, fmt.Sprintf("%s: %q", name, number.String()))
		}
	}
}
