package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRefused tries what the hub manager would not act upon: the API server refuses it in the words of the condition.
func TestRefused(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{"east", "west"} {
		d.cluster(name)
	}
	const all = "\nplacement: {clusterSelector: {matchLabels: {of: OWN}}}\n"
	for name, tc := range map[string]struct{ spec, want string }{
		"a good one": {spec: `hard: {pods: "10"}` + all},
		"an unknown name": {
			spec: `hard: {foo: "1"}` + all,
			want: `spec.hard[foo]: Invalid value: "foo": is no resource name that ResourceQuota counts: valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.quota("compute", tc.spec), client.DryRunAll, client.FieldValidation("Strict"))
			if diff := cmp.Diff(tc.want, d.refusal(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
