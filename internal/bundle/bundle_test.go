package bundle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/requirement"
)

// TestObjects has nothing come before what it needs, accounts come when their roles are there, and the agent come last.
func TestObjects(t *testing.T) {
	objects, err := bundle.Objects(bundle.Options{Image: "registry.example/fedquota:v1"})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	first := []string{"Namespace", "CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
	if diff := cmp.Diff(first, slices.Compact(slices.Clone(kinds))[:len(first)]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ServiceAccount", "ServiceAccount", "Deployment"}, kinds[len(kinds)-3:]); diff != "" {
		t.Error(diff)
	}
	last := objects[len(objects)-1]
	if last.GetKind() != "Deployment" || last.GetName() != bundle.DeploymentName {
		t.Errorf("last comes %s %s", last.GetKind(), last.GetName())
	}
	containers, _, err := unstructured.NestedSlice(last.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	if image := containers[0].(map[string]any)["image"]; image != "registry.example/fedquota:v1" {
		t.Errorf("the image is %v", image)
	}
}

// TestScaleOut has the hub's account in a member be given one right more where nodes are added, in the agent's namespace,
// and look at what gives it.
func TestScaleOut(t *testing.T) {
	const name = "fedquota-hub-scaleout-in-member"
	for _, scaleOut := range []bool{false, true} {
		objects, err := bundle.Objects(bundle.Options{Image: "i", Namespace: "quota", ScaleOut: scaleOut})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, object := range objects {
			if object.GetName() != name {
				continue
			}
			kinds = append(kinds, object.GetKind())
			text, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			for kind, want := range map[string]string{
				"ClusterRole":        `"resourceNames":["` + name + `"],"resources":["clusterroles","clusterrolebindings"],"verbs":["get"]`,
				"ClusterRoleBinding": `"namespace":"quota"`,
			} {
				if object.GetKind() == kind && !strings.Contains(string(text), want) {
					t.Errorf("%s lacks %s: %s", kind, want, text)
				}
			}
		}
		if want := 2 * map[bool]int{true: 1}[scaleOut]; len(kinds) != want {
			t.Errorf("adding nodes: %v; there are %v", scaleOut, kinds)
		}
	}
}

// TestPriorityClass has the agent's pods take the class that the manifests bring, or another one that is there.
func TestPriorityClass(t *testing.T) {
	for class, want := range map[string][]string{
		"":                        {"fedquota-agent", "fedquota-agent"},
		"fedquota-agent":          {"fedquota-agent", "fedquota-agent"},
		"system-cluster-critical": {"system-cluster-critical"},
	} {
		objects, err := bundle.Objects(bundle.Options{Image: "i", PriorityClass: class})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, object := range objects {
			switch object.GetKind() {
			case "PriorityClass":
				got = append(got, object.GetName())
			case "Deployment":
				name, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "priorityClassName")
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", class, diff)
		}
	}
}

// TestLooks has the hub's account in a member be allowed to look at each of the manifests.
func TestLooks(t *testing.T) {
	objects, err := bundle.Objects(bundle.Options{Image: "i"})
	if err != nil {
		t.Fatal(err)
	}
	looks := map[string]bool{}
	for _, object := range objects {
		if object.GetName() != "fedquota-hub-in-member" || !strings.HasSuffix(object.GetKind(), "Role") {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, name := range rule.ResourceNames {
					if name == requirement.Name {
						continue // is made of QuotaRequirements
					}
					looks[object.GetNamespace()+" "+resource+"."+rule.APIGroups[0]+" "+name] = slices.Contains(rule.Verbs, "get")
				}
			}
		}
	}
	for _, object := range objects {
		resource, _ := apimeta.UnsafeGuessKindToResource(object.GroupVersionKind())
		look := object.GetNamespace() + " " + resource.Resource + "." + resource.Group + " " + object.GetName()
		if !looks[look] {
			t.Errorf("the hub may not get %s", look)
		}
		delete(looks, look)
	}
	for look := range looks {
		t.Errorf("the hub may get %s, which is no manifest", look)
	}
}

// TestNamespace puts the agent into another namespace: nothing names the first one any more, and the guard knows the
// agent there.
func TestNamespace(t *testing.T) {
	objects, err := bundle.Objects(bundle.Options{Image: "i", Namespace: "quota"})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, object := range objects {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	if strings.Contains(all.String(), bundle.Namespace) {
		t.Error("the first namespace is still named")
	}
	for _, want := range []string{"system:serviceaccount:quota:fedquota-agent", "--namespace=quota"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing says %s", want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, options := range map[string]bundle.Options{
		"image of the agent: not known":  {},
		`namespace of the agent "Quota"`: {Image: "i", Namespace: "Quota"},
	} {
		if _, err := bundle.Objects(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
