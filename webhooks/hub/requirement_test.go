package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// requirement returns a QuotaRequirement of a spec.
func (d *door) requirement(spec string) *unstructured.Unstructured {
	d.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("QuotaRequirement"))
	object.SetName(d.namespace)
	d.demands(object, spec)
	return object
}

func (d *door) demands(object *unstructured.Unstructured, spec string) {
	d.Helper()
	var content map[string]any
	d.must(yaml.Unmarshal([]byte(spec), &content))
	object.Object["spec"] = content
}

// TestRequirement tries what no cluster would enforce, and what none enforces yet.
func TestRequirement(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	const (
		everywhere = "clusterSelector: {}\nresources: [requests.nvidia.com/gpu]"
		unreadable = "clusterSelector: {matchLabels: {a b: c}}\nresources: [requests.nvidia.com/gpu]"
	)
	for name, tc := range map[string]struct{ spec, want, warned string }{
		"a good one": {spec: everywhere},
		"selects nothing": {
			spec:   "clusterSelector: {matchLabels: {tier: none}}\nresources: [requests.nvidia.com/gpu]",
			warned: "spec.clusterSelector: selects no Cluster in namespace default now: nothing is required anywhere",
		},
		"a selector that cannot be read": {
			spec: unreadable,
			want: `spec.clusterSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
		"a name that no quota can cover": {
			spec: "clusterSelector: {}\nresources: [requests.kubernetes.io/gpu]",
			want: `spec.resources[0]: Invalid value: "requests.kubernetes.io/gpu": is accepted by ResourceQuota and never counted, since Kubernetes keeps kubernetes.io to itself: valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.requirement(tc.spec), client.DryRunAll, client.FieldValidation("Strict"))
			if diff := cmp.Diff(tc.want, d.refusal(err)); diff != "" {
				t.Errorf("refused -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.warned, d.warned()); diff != "" {
				t.Errorf("warned -want +got:\n%s", diff)
			}
		})
	}
	stored := d.requirement(everywhere)
	d.must(d.Create(t.Context(), stored))
	d.demands(stored, unreadable)
	if d.refusal(d.Update(t.Context(), stored)) == "" {
		t.Error("a good one may become bad")
	}
	d.must(d.Delete(t.Context(), stored))
}
