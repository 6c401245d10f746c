package bundle_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/requirement"
)

// oldest is the version of whose functions new expressions may be made in Kubernetes 1.30: an API server has to be able to
// go back to the version before.
var oldest = environment.MustBaseEnvSet(version.MajorMinor(1, 29))

// TestExpressionsOfTheOldestKubernetes compiles all expressions of policies and CRDs, of hub and members, with the
// functions that the oldest supported version of Kubernetes has.
func TestExpressionsOfTheOldestKubernetes(t *testing.T) {
	compiled := map[string]int{}
	err := filepath.WalkDir(filepath.Join("..", "..", "config"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || strings.Contains(path, "chart") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := bundle.Decode(content)
		if err != nil {
			return nil //nolint:nilerr // other files than manifests have none
		}
		for _, object := range objects {
			compiled[object.GetKind()] += compile(t, object)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"CustomResourceDefinition", "ValidatingAdmissionPolicy"} {
		if compiled[kind] == 0 {
			t.Errorf("no expression of any %s was compiled", kind)
		}
	}
}

func TestRequirementsOfTheOldestKubernetes(t *testing.T) {
	all := quotav1alpha1.QuotaRequirement{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	all.Spec.ExemptNamespaces = quotav1alpha1.NamespaceSet{
		Names: []string{"infra"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}},
	}
	if compilePolicy(t, requirement.Policy([]quotav1alpha1.QuotaRequirement{all}, bundle.Namespace)) == 0 {
		t.Error("no expression was compiled")
	}
}

// compile compiles the expressions of an object, and returns how many it has.
func compile(t *testing.T, object *unstructured.Unstructured) int {
	t.Helper()
	switch object.GetKind() {
	case "CustomResourceDefinition":
		return compileSchemas(t, as[apiextensionsv1.CustomResourceDefinition](t, object))
	case "ValidatingAdmissionPolicy":
		return compilePolicy(t, as[admissionregistrationv1.ValidatingAdmissionPolicy](t, object))
	}
	return 0
}

func as[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

func compilePolicy(t *testing.T, policy *admissionregistrationv1.ValidatingAdmissionPolicy) (compiled int) {
	t.Helper()
	compiler, err := admissioncel.NewCompositedCompiler(oldest)
	if err != nil {
		t.Fatal(err)
	}
	declared := admissioncel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil, HasAuthorizer: true}
	wants := func(result admissioncel.CompilationResult) {
		compiled++
		if result.Error != nil {
			t.Errorf("%s: %v:\n%s", policy.Name, result.Error, result.ExpressionAccessor.GetExpression())
		}
	}
	for _, v := range policy.Spec.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		wants(compiler.CompileAndStoreVariable(variable, declared, environment.NewExpressions))
	}
	var expressions []admissioncel.ExpressionAccessor
	for _, c := range policy.Spec.MatchConditions {
		expressions = append(expressions, &validating.ValidationCondition{Expression: c.Expression})
	}
	for _, v := range policy.Spec.Validations {
		expressions = append(expressions, &validating.ValidationCondition{Expression: v.Expression})
		if v.MessageExpression != "" {
			expressions = append(expressions, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
		}
	}
	for _, e := range expressions {
		wants(compiler.CompileCELExpression(e, declared, environment.NewExpressions))
	}
	return compiled
}

func compileSchemas(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) (compiled int) {
	t.Helper()
	for _, v := range crd.Spec.Versions {
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			v.Schema.OpenAPIV3Schema, &props, nil,
		); err != nil {
			t.Fatal(err)
		}
		structural, err := schema.NewStructural(&props)
		if err != nil {
			t.Fatal(err)
		}
		walker := schema.Visitor{Structural: func(s *schema.Structural) bool {
			results, err := schemacel.Compile(
				s, model.SchemaDeclType(s, s == structural || s.XEmbeddedResource), celconfig.PerCallLimit, oldest, schemacel.NewExpressionsEnvLoader(),
			)
			if err != nil {
				t.Errorf("%s: %v", crd.Name, err)
			}
			for i, result := range results {
				compiled++
				if result.Error != nil || result.MessageExpressionError != nil {
					t.Errorf("%s: %v, %v:\n%s", crd.Name, result.Error, result.MessageExpressionError, s.XValidations[i].Rule)
				}
			}
			return false
		}}
		walker.Visit(structural)
	}
	return compiled
}
