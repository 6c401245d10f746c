package v1alpha1_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestColumns asks for what kubectl get prints: a message only where something is not ready.
func TestColumns(t *testing.T) {
	c := newClient(t)
	config := rest.CopyConfig(server)
	config.GroupVersion, config.APIPath = &quotav1alpha1.GroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(clientgoscheme.Scheme)
	tables, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		status metav1.ConditionStatus
		want   []any
	}{
		"ready":     {status: metav1.ConditionTrue, want: []any{"True", "2/3", "pods: 9/10, secrets: 1/4", "Enforced", nil}},
		"not ready": {status: metav1.ConditionFalse, want: []any{"False", "2/3", "pods: 9/10, secrets: 1/4", "Enforced", "what is wrong"}},
		"unknown":   {status: metav1.ConditionUnknown, want: []any{"Unknown", "2/3", "pods: 9/10, secrets: 1/4", "Enforced", "what is wrong"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := newObject(t, "FederatedQuota", "hard: {pods: 10}\nplacement: {clusters: [a]}")
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			condition := func(kind string, status metav1.ConditionStatus) any {
				return map[string]any{"type": kind, "status": string(status), "reason": "Enforced", "message": "what is wrong", "lastTransitionTime": "2026-01-01T00:00:00Z"}
			}
			object.Object["status"] = map[string]any{
				"settled": "2/3", "tightest": "pods: 9/10, secrets: 1/4",
				"conditions": []any{condition("Ready", tc.status), condition("Draining", metav1.ConditionTrue)},
			}
			if err := c.Status().Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			table := &metav1.Table{}
			err := tables.Get().AbsPath("/apis", quotav1alpha1.GroupVersion.String(), "namespaces", namespace, "federatedquotas", object.GetName()).
				SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(table)
			if err != nil {
				t.Fatal(err)
			}
			if len(table.Rows) != 1 {
				t.Fatalf("%d rows, want 1", len(table.Rows))
			}
			cells := map[string]any{}
			for i, column := range table.ColumnDefinitions {
				cells[column.Name] = table.Rows[0].Cells[i]
			}
			got := []any{cells["Ready"], cells["Settled"], cells["Tightest"], cells["Reason"], cells["Message"]}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, fmt.Sprint(table.ColumnDefinitions))
			}
		})
	}
}
