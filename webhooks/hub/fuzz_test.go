package hub

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// seeds are objects, good and bad.
var seeds = []string{
	`{"spec":{"hard":{"pods":"10","requests.cpu":0.5},"placement":{"clusterSelector":{"matchLabels":{"a":"b"}}}}}`,
	`{"metadata":{"namespace":"a","name":"b","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"hard":{"pods":-1,"count/x":1e30}}}`,
	`{"spec":{"hard":{"pods":9223372036854775807},"distribution":{"rules":[{"min":{"pods":9223372036854775807},"lendable":{"pods":1},"max":{"pods":"-9e99"}},{}]}}}`,
	`{"spec":{"scopes":["Terminating","NotTerminating"],"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]}}}`,
	`{"spec":{"removal":{"destroyed":["east"],"policy":"Delete"}},"status":{"used":{"pods":"5"},"clusters":[{"name":"east","revision":1,"state":"Settled","used":{"pods":"5"}}]}}`,
	`{"spec":{"hard":null,"distribution":{"rules":null}}}`, `[]`, `{"spec":[]}`, ``, `{"spec":{"hard":{"":{}}}}`,
}

// FuzzReview answers reviews of whatever objects, before and after, without a panic: the API server lets a webhook see
// what the schema has let through, and anybody else who reaches the port may send anything.
func FuzzReview(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), []byte(seed))
		f.Add([]byte(seed), []byte(`{}`))
	}
	for _, quantity := range enormousQuantities[:4] { // the long one keeps the fuzzer busy
		f.Add([]byte(`{}`), []byte(`{"spec":{"hard":{"pods":`+quantity+`}}}`))
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: "east", Labels: map[string]string{"a": "b"}}}
	sibling := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "other"}}
	sibling.Spec.Placement.Clusters = []quotav1alpha1.ClusterName{"east"}
	handlers := handlersOf(fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster, sibling).Build())
	f.Fuzz(func(t *testing.T, before, after []byte) {
		for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete} {
			review := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: operation, Namespace: "a", Object: runtime.RawExtension{Raw: after}, OldObject: runtime.RawExtension{Raw: before},
			}}
			for _, handler := range handlers {
				response := handler.Handle(context.Background(), review)
				if _, err := json.Marshal(response); err != nil {
					t.Errorf("an answer cannot be sent: %v", err)
				}
			}
		}
	})
}

// enormousQuantities would take minutes to read.
var enormousQuantities = []string{
	`"1e99999999"`, `1e99999999`, `"1\u0065-99999999"`, `".5E+99999999"`, `"` + strings.Repeat("9", 4<<20) + `"`,
}

// TestEnormous answers reviews at once that no API server sends.
func TestEnormous(t *testing.T) {
	for _, quantity := range enormousQuantities {
		for _, field := range []string{`"spec":{"hard":{"pods":`, `"status":{"used":{"pods":`} {
			review := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(`{` + field + quantity + `}}}`)},
			}}
			for _, handler := range handlersOf(fake.NewClientBuilder().WithScheme(schemes.All()).Build()) {
				if !handler.Handle(t.Context(), review).Allowed {
					t.Errorf("%.20s is refused", quantity)
				}
			}
		}
	}
}

// TestMangled answers reviews of objects that were mangled at random.
func TestMangled(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: "east", Labels: map[string]string{"a": "b"}}}
	handlers := handlersOf(fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(cluster).Build())
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the same at each run
	answered := map[int32]int{}
	for range 5000 {
		review := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete}[r.IntN(3)], Namespace: "a",
			Object: runtime.RawExtension{Raw: mangled(r)}, OldObject: runtime.RawExtension{Raw: mangled(r)},
		}}
		for _, handler := range handlers {
			response := handler.Handle(t.Context(), review)
			code := int32(http.StatusOK)
			if response.Result != nil {
				code = response.Result.Code
			}
			answered[code]++
		}
	}
	t.Logf("answers by code: %v", answered)
	if answered[http.StatusOK] == 0 || answered[http.StatusUnprocessableEntity] == 0 {
		t.Error("what is mangled does not tell the answers apart")
	}
}

// mangled returns one of the seeds with up to three changes.
func mangled(r *rand.Rand) []byte {
	text := seeds[r.IntN(len(seeds))]
	for range r.IntN(4) {
		at := r.IntN(len(text) + 1)
		other := seeds[r.IntN(len(seeds))]
		from := r.IntN(len(other) + 1)
		text = text[:at] + other[from:min(len(other), from+r.IntN(8))] + text[min(len(text), at+r.IntN(8)):]
	}
	return []byte(text)
}

// handlersOf returns what answers reviews, without what recovers from a panic.
func handlersOf(reader client.Reader) []admission.Handler {
	v := &Validator{Reader: reader, Clusters: members.Namespaces{Home: clusterNamespace}, Serves: func(context.Context, string, schema.GroupResource) (bool, error) { return false, nil }}
	return []admission.Handler{v.handler(schemes.All()), Quoter{}}
}
