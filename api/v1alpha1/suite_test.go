package v1alpha1_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/apiserver"
)

const (
	assetsVariable = "KUBEBUILDER_ASSETS"
	namespace      = "default"
)

// server is how to reach the API server that TestMain started, if its programs are at hand.
var server *rest.Config

// TestMain runs the tests with an API server that has the CRDs, if its programs are at hand.
func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{Files: []string{"config/crd/bases"}}, func(env *envtest.Environment) error {
		server = env.Config
		return nil
	}))
}

// newClient returns a client of the API server, or skips the test if there is none.
func newClient(t *testing.T) client.Client {
	t.Helper()
	// Asked again here, since go test only caches by the variables that are read after TestMain's m.Run.
	if os.Getenv(assetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds an API server", assetsVariable)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{quotav1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(server, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newObject returns an object of the kind with the spec that the YAML says, which may hold what the Go types cannot.
func newObject(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetGenerateName("test-")
	setSpec(t, object, spec)
	return object
}

func setSpec(t *testing.T, object *unstructured.Unstructured, spec string) {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	object.Object["spec"] = content
}

// unchecked is a cause that the API server adds whenever it cannot evaluate the rules of an object.
const unchecked = "some validation rules were not checked because the object was invalid"

// causes returns why the API server refused, a line for each cause; nothing if it did not.
func causes(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || !apierrors.IsInvalid(err) {
		t.Fatalf("not refused as invalid: %v", err)
	}
	var lines []string
	for _, cause := range status.Status().Details.Causes {
		if !strings.HasPrefix(cause.Message, "Invalid value: null: "+unchecked) {
			lines = append(lines, fmt.Sprintf("%s: %s", cause.Field, cause.Message))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
