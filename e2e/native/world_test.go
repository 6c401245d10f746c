//go:build e2e

package native_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	hub, east, west = "hub", "east", "west"
	// patience is how long anything may take that is bound to come.
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
)

// world is fedquota on a hub and two members.
type world struct {
	*testing.T
	*system.System

	clients map[string]client.Client
	// minor is the version of the older one of the members, of 1.
	minor int
}

// startWorld starts a fleet that ends with the test. Quota controllers recount everything every 10 s: now and then they
// miss an object that was just made, and keep that count until then.
func startWorld(t *testing.T) *world {
	t.Helper()
	options := system.Options{}
	for _, name := range []string{east, west} {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{
			Name: name, Labels: map[string]string{"tier": "prod"}, ResourceQuotaSyncPeriod: 10 * time.Second,
		})
	}
	s := systemtest.Start(t, options)
	w := &world{T: t, System: s, clients: map[string]client.Client{}}
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		var err error
		if w.clients[c.Name], err = system.Client(c); err != nil {
			t.Fatal(err)
		}
	}
	w.minor = min(w.minorOf(w.Member(east)), w.minorOf(w.Member(west)))
	for _, member := range []string{east, west} {
		for _, object := range decode(t, "", classes) {
			if err := w.clients[member].Create(t.Context(), object); !apimeta.IsNoMatchError(err) { // see lacks
				w.must(err)
			}
		}
	}
	return w
}

// classes are what objects of the rows refer to, and a kind that Kubernetes does not know.
const classes = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/none
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gold}
provisioner: example.com/none
allowVolumeExpansion: true
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: calm}
value: 10
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: heavy}
handler: heavy
overhead: {podFixed: {cpu: 300m}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: mapped}
spec: {extendedResourceName: example.com/mapped}
---
apiVersion: v1
kind: Node
metadata: {name: node}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mutate}
spec:
  matchConstraints:
    objectSelector: {matchLabels: {mutated: please}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", value: "700m"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: mutate}
spec: {policyName: mutate}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// decode returns the objects that the YAML says, in a namespace if one is given.
func decode(t *testing.T, namespace, content string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(content, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		object.SetNamespace(namespace)
		objects = append(objects, object)
	}
	return objects
}

// await waits until a condition has nothing to complain of.
func await(ctx context.Context, what string, condition func(context.Context) error) error {
	if err := systemtest.Await(ctx, poll, patience, condition); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
