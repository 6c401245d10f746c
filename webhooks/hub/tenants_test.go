package hub

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/schemes"
)

// install applies the objects of a file of config.
func (d *door) install(path ...string) {
	d.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "config"}, path...)...))
	d.must(err)
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			d.Fatal(err)
		}
		d.must(d.Apply(d.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership))
	}
}

// tenant returns a client of somebody who may edit FederatedQuotas in the door's namespace.
func (d *door) tenant() client.Client {
	d.Helper()
	d.must(d.Create(d.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fedquota-federatedquota-editor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-" + d.namespace}},
	}))
	own := rest.CopyConfig(config)
	own.Impersonate = rest.ImpersonationConfig{UserName: "tenant-" + d.namespace}
	c, err := client.New(own, client.Options{Scheme: schemes.All()})
	d.must(err)
	return c
}

// TestTenants binds a team by annotations of its namespace, and not who manages.
func TestTenants(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	d.install("rbac", "hub", "federatedquota_roles.yaml")
	d.install("default", "tenants.yaml")
	tenant := d.tenant()
	bind := func(annotations map[string]string) {
		t.Helper()
		namespace := &corev1.Namespace{}
		d.must(d.Get(t.Context(), client.ObjectKey{Name: d.namespace}, namespace))
		namespace.Annotations = annotations
		d.must(d.Update(t.Context(), namespace))
	}
	answer := func(c client.Client, spec string) string {
		err := c.Create(t.Context(), d.quota("compute", spec), client.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) { // invalid is what a policy that fails answers
			t.Fatal(err)
		}
		if err == nil {
			return ""
		}
		_, message, _ := strings.Cut(err.Error(), "denied request: ")
		return strings.ReplaceAll(message, d.namespace, "OWN")
	}
	const (
		prefix = "quota.fedquota.io/tenant-"
		dev    = "\nplacement: {clusterSelector: {matchLabels: {tier: dev}}}\n"
		least  = "hard: {pods: 1, requests.cpu: 1}"
		small  = least + dev
	)
	wait := func(want string) {
		t.Helper()
		for answer(tenant, "hard: {pods: 100}"+all) != want {
			d.must(t.Context().Err())
		}
	}
	wait("")
	bind(map[string]string{prefix + "max": "pods=10, requests.cpu=2500m", prefix + "selector": "tier=dev", prefix + "clusters": "OWN-east, west"})
	wait("spec.hard[pods]: must be there, and at most 10, says namespace OWN")
	for spec, want := range map[string]string{
		small: "",
		"hard: {pods: 10, requests.cpu: '2.5', services: 99}" + dev:                                                          "",
		"hard: {pods: 10, requests.cpu: 2501m}" + dev:                                                                        "spec.hard[requests.cpu]: must be there, and at most 2500m, says namespace OWN",
		"hard: {pods: 1}" + dev:                                                                                              "spec.hard[requests.cpu]: must be there, and at most 2500m, says namespace OWN",
		small + "capacity: {scaleOut: {machineDeploymentSelector: {}}}":                                                      "spec.capacity.scaleOut: must be left out, since namespace OWN says what may be set",
		small + "capacity: {percent: 50}":                                                                                    "",
		small + "scopes: [Terminating]":                                                                                      "spec.scopes, spec.scopeSelector: must be empty, since namespace OWN has a maximum for all objects",
		small + "removal: {policy: Delete}":                                                                                  "spec.removal: policy must be Retain, and destroyed empty, since namespace OWN has a maximum",
		small + "removal: {destroyed: [south]}":                                                                              "spec.removal: policy must be Retain, and destroyed empty, since namespace OWN has a maximum",
		small + "removal: {policy: Retain}":                                                                                  "",
		small + "scopes: []\nscopeSelector: {}\nremoval: {destroyed: []}":                                                    "",
		small + "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}":                          "spec.scopes, spec.scopeSelector: must be empty, since namespace OWN has a maximum for all objects",
		least + "\nplacement: {clusters: [west]}":                                                                            "",
		least + "\nplacement: {clusters: [west, north]}":                                                                     "spec.placement.clusters: may name OWN-east, west, says namespace OWN",
		least + "\nplacement: {clusterSelector: {}}":                                                                         "spec.placement.clusterSelector: matchLabels must demand tier=dev, says namespace OWN",
		least + "\nplacement: {clusterSelector: {matchLabels: {tier: x}}}":                                                   "spec.placement.clusterSelector: matchLabels must demand tier=dev, says namespace OWN",
		least + "\nplacement: {clusters: [west], createNamespace: true, namespaceTemplate: {labels: {a: b}}}":                "spec.placement.namespaceTemplate: must be empty, since namespace OWN says what may be set",
		least + "\nplacement: {clusterSelector: {matchLabels: {tier: dev}, matchExpressions: [{key: a, operator: Exists}]}}": "",
	} {
		if diff := cmp.Diff(want, answer(tenant, spec)); diff != "" {
			t.Errorf("%s -want +got:\n%s", spec, diff)
		}
	}
	if got := answer(d, "hard: {pods: 100}"+all); got != "" {
		t.Errorf("who manages is refused: %s", got)
	}
	d.stored(tenant)
	bind(map[string]string{prefix + "max": "pods=many"})
	wait("expression 'variables.above.size() == 0' resulted in error: composited variable \"above\" fails to evaluate: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
	bind(map[string]string{prefix + "pool": "vision"})
	wait("spec.pool.name: must be vision, says namespace OWN")
	if got := answer(tenant, "pool: {name: vision}\nhard: {pods: 100}"+all); got != "" {
		t.Errorf("in the pool that the namespace says: %s", got)
	}
	bind(map[string]string{prefix + "clusters": "west"})
	wait("spec.placement.clusterSelector: must be empty, says namespace OWN")
}

// stored has a tenant write what an administrator has set above the maximum: all but the spec.
func (d *door) stored(tenant client.Client) {
	d.Helper()
	object := d.quota("big", "hard: {pods: 100}"+all)
	d.must(d.Create(d.Context(), object))
	object.SetLabels(map[string]string{"a": "b"})
	d.must(tenant.Update(d.Context(), object))
	d.setSpec(object, "hard: {pods: 99}"+all)
	if err := tenant.Update(d.Context(), object, client.DryRunAll); !apierrors.IsForbidden(err) {
		d.Errorf("a tenant changes what is above the maximum: %v", err)
	}
}
