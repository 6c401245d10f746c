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
)

//go:embed agent.yaml
var agent []byte

// Options are what differs between installations.
type Options struct {
	// Image is the image of the agent, with its tag or digest.
	Image string
	// Namespace is where the agent runs; Namespace of this package if empty.
	Namespace string
}

// order is that in which kinds are applied: nothing comes before what it needs, nothing enforces before it is guarded,
// and no account is there before it has its roles. Kinds that are not listed come in between, as they stand.
var order = map[string]int{
	"Namespace": -4, "CustomResourceDefinition": -3, "ValidatingAdmissionPolicy": -2, "ValidatingAdmissionPolicyBinding": -1, "ServiceAccount": 1,
	"Deployment": 2,
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
	objects, err := Decode(bytes.ReplaceAll(agent, []byte(Namespace), []byte(namespace)))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(order[a.GetKind()], order[b.GetKind()]) })
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			if err := setImage(object, options.Image); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
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

func setImage(deployment *unstructured.Unstructured, image string) error {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(deployment.Object, path...)
	if err != nil {
		return err
	}
	containers[0].(map[string]any)["image"] = image
	return unstructured.SetNestedSlice(deployment.Object, containers, path...)
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
