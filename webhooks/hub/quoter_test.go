package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestQuotes has quantities that are numbers be taken as a ResourceQuota takes them.
func TestQuotes(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	object := d.quota("compute", `
hard: {requests.storage: 0.5e3, pods: 5, gold.storageclass.storage.k8s.io/requests.storage: "1"}
reserve: {requests.storage: 0.25e2}
distribution: {rules: [{weight: 1}, {min: {requests.storage: 1.5}, lendable: {requests.storage: 1.5}, max: {requests.storage: 2.5}, headroom: {requests.storage: 1.5}}]}`+all)
	d.must(d.Create(t.Context(), object, client.FieldValidation("Strict")))
	if diff := cmp.Diff(map[string]any{
		"requests.storage": int64(500), "pods": int64(5), "gold.storageclass.storage.k8s.io/requests.storage": "1",
	}, object.Object["spec"].(map[string]any)["hard"]); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "distribution", "rules")
	if got, _, _ := unstructured.NestedString(rules[1].(map[string]any), "max", "requests.storage"); got != "2.5" {
		t.Errorf("got %q, want 2.5 as text", got)
	}
	d.warned()
	object = d.quota("cores", `hard: {limits.cpu: 0.5}`+all+"scopes: [Terminating]\ndistribution: {granularity: {limits.cpu: 0.25}}")
	d.must(d.Create(t.Context(), object))
	if diff := cmp.Diff(`numbers with a fraction are taken for text: write limits.cpu: "0.5", limits.cpu: "0.25", else tools that compare what is stored see a difference
spec.hard: namespace OWN refuses pods that do not state limits.cpu in each container, unless a LimitRange there has defaults`, d.warned()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := d.refusal(d.Create(t.Context(), d.quota("pods", "hard: {pods: 0.5}"+all))); got == "" {
		t.Error("half a pod is taken")
	}
}
