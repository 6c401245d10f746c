// Package bundle holds the manifests of the agent, as config/member has them, for the hub manager to install.
package bundle

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	// Namespace is the one that the manifests name.
	Namespace = "fedquota-system"
	// DeploymentName is the name of the agent's Deployment.
	DeploymentName = "fedquota-agent"
	// PriorityClass is the name of the class of the agent's pods that the manifests bring.
	PriorityClass = "fedquota-agent"
)

//go:embed agent.yaml
var agent []byte

//go:embed scaleout.yaml
var scaleOut []byte

// Options are what differs between installations.
type Options struct {
	// Image is the image of the agent, with its tag or digest.
	Image string
	// Namespace is where the agent runs; Namespace of this package if empty.
	Namespace string
	// PriorityClass is that of the agent's pods; if empty, the one that the manifests bring. They bring no other.
	PriorityClass string
	// ScaleOut says that the hub manager adds nodes, for which it reads more in members.
	ScaleOut bool
}

// order is that in which kinds are applied: nothing comes before what it needs, nothing enforces before it is guarded,
// and no account is there before it has its roles. Kinds that are not listed come in between, as they stand.
var order = map[string]int{
	"Namespace": -4, "CustomResourceDefinition": -3,
	"ValidatingAdmissionPolicy": -2, "ValidatingAdmissionPolicyBinding": -1,
	"ServiceAccount": 1, "Deployment": 2,
}

// Objects returns the manifests of the agent in the order in which they are applied.
func Objects(options Options) ([]*unstructured.Unstructured, error) {
	if options.Image == "" {
		return nil, errors.New("image of the agent: not known, name it with --agent-image")
	}
	namespace := cmp.Or(options.Namespace, Namespace)
	if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
		return nil, fmt.Errorf("namespace of the agent %q: %s", namespace, wrong[0])
	}
	// All that the manifests say of the namespace they say by this name: the user in the guard and an argument of the
	// agent, too.
	of := func(manifests []byte) ([]*unstructured.Unstructured, error) {
		return Decode(bytes.ReplaceAll(manifests, []byte(Namespace), []byte(namespace)))
	}
	objects, err := of(agent)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(
		objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(order[a.GetKind()], order[b.GetKind()]) },
	)
	if options.PriorityClass != "" && options.PriorityClass != PriorityClass {
		objects = slices.DeleteFunc(
			objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "PriorityClass" },
		)
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if err := setPod(object, options); err != nil {
				return nil, err
			}
		}
	}
	if !options.ScaleOut {
		return objects, nil
	}
	more, err := of(scaleOut)
	return append(objects, more...), err // last: whoever may not give that right installs the agent all the same
}

// Write writes the manifests of the agent as YAML documents, in the order in which they are applied.
func Write(out io.Writer, options Options) error {
	objects, err := Objects(options)
	if err != nil {
		return err
	}
	for _, object := range objects {
		text, err := sigsyaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

func setPod(deployment *unstructured.Unstructured, options Options) error {
	pod, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if err != nil {
		return err
	}
	pod["containers"].([]any)[0].(map[string]any)["image"] = options.Image
	pod["priorityClassName"] = cmp.Or(options.PriorityClass, PriorityClass)
	return unstructured.SetNestedMap(deployment.Object, pod, "spec", "template", "spec")
}

// Decode reads the objects of manifests, in their order.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
