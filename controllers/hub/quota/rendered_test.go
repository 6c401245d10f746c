package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestWhatChartsRender splits a budget whose optional fields are all there and empty as if they were left out, and
// leaves them as they were applied: GitOps sees no difference. Whoever leaves them out later changes nothing.
func TestWhatChartsRender(t *testing.T) {
	const applied = `
hard: {pods: "30"}
placement: {clusterSelector: {}, clusters: []}
scopes: []
scopeSelector: {}
reserve: {}
distribution: {granularity: {}, rules: [{}, {clusters: [east], min: {}, lendable: {}, max: {}}]}
rebalance: {mode: Static}
admission: {}
removal: {destroyed: []}`
	w := newWorld(t, "east", "west")
	var spec map[string]any
	w.must(yaml.UnmarshalStrict([]byte(applied), &spec))
	fq := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	fq.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
	fq.SetNamespace(w.namespace)
	fq.SetName(quotaName)
	w.must(servers[hubName].Create(t.Context(), fq))
	w.settle()
	w.wantLedger("east 15/15 Settled", "west 15/15 Settled")
	w.must(servers[hubName].Get(t.Context(), client.ObjectKeyFromObject(fq), fq))
	if diff := cmp.Diff(spec, fq.Object["spec"]); diff != "" {
		t.Errorf("the spec (-applied +stored):\n%s", diff)
	}
	without := []byte(`{"spec": {"scopes": null, "scopeSelector": null, "reserve": null, "distribution": null, "admission": null, "removal": null}}`)
	w.must(servers[hubName].Patch(t.Context(), fq, client.RawPatch(types.MergePatchType, without)))
	w.settle()
	w.wantConditions("Ready Enforced")
	w.wantLedger("east 15/15 Settled", "west 15/15 Settled")
}
