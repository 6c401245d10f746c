package v1alpha1_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const crdFolder = "../../config/crd/bases"

// exclusion lets a rule of the conventions not hold for the fields whose path matches.
type exclusion struct {
	path   *regexp.Regexp
	rule   string
	reason string
}

const (
	ruleDescription = "the description starts with the name of the field"
	ruleList        = "a list has maxItems"
	ruleListType    = "a list says its listType"
	ruleMap         = "a map has maxProperties"
	ruleString      = "a string has maxLength, an enum or a time format"
	ruleMinimum     = "an integer has a minimum"
	ruleMaximum     = "an integer has a maximum"
	ruleFloat       = "no number is a float"
	ruleDuration    = "a duration is an integer and its name says the unit"
	ruleDefault     = "no default is in the schema"
	ruleNullable    = "nothing is nullable"
	ruleEmpty       = "what is optional may be empty, as charts render it: it has no minItems and no minProperties"
	ruleConditions  = "conditions are a map by type"
)

var exclusions = []exclusion{
	{regexp.MustCompile(`(^|\.)status$`), ruleDefault, "what no hub manager has acted on says so itself, as kinds of Flux do"},
	{regexp.MustCompile(`\{\}$`), ruleString, "a Quantity is parsed by its pattern; its type is imported and takes no bounds"},
	{regexp.MustCompile(`(^|\.)([rR]evision|observedGeneration)$`), ruleMaximum, "a counter goes up for as long as the object lives"},
	{regexp.MustCompile(`\.scopeSelector\.`), ruleDescription, "corev1.ScopeSelector is imported"},
	{regexp.MustCompile(`\.scopeSelector\.`), ruleList, "corev1.ScopeSelector is imported"},
	{regexp.MustCompile(`\.scopeSelector\.`), ruleString, "corev1.ScopeSelector is imported"},
	{regexp.MustCompile(`\.(clusterSelector|machineDeploymentSelector|(exempt|allowed)Namespaces\.selector|namespaces\.selector)\.`), ruleList, "metav1.LabelSelector is imported"},
	{regexp.MustCompile(`\.(clusterSelector|machineDeploymentSelector|(exempt|allowed)Namespaces\.selector|namespaces\.selector)\.`), ruleMap, "metav1.LabelSelector is imported"},
	{regexp.MustCompile(`\.(clusterSelector|machineDeploymentSelector|(exempt|allowed)Namespaces\.selector|namespaces\.selector)\.`), ruleString, "metav1.LabelSelector is imported"},
}

// A name that means a span of time. What comes before its end is up to the field.
var durationName = regexp.MustCompile(`(?i)(timeout|duration|interval|period|wait|delay|ttl)$`)

var durationUnit = regexp.MustCompile(`(Seconds|Milliseconds)$`)

// visitor collects the violations of a schema.
type visitor struct {
	violations []string
	used       map[int]bool
}

func (v *visitor) demand(holds bool, path, rule string) {
	if holds {
		return
	}
	for i, e := range exclusions {
		if e.rule == rule && e.path.MatchString(path) {
			v.used[i] = true
			return
		}
	}
	v.violations = append(v.violations, fmt.Sprintf("%s: %s", path, rule))
}

// visit checks the schema of a field, and those below it. An element of a list is called path[], one of a map path{}.
func (v *visitor) visit(path string, s *apiextensionsv1.JSONSchemaProps) {
	v.demand(s.Default == nil, path, ruleDefault)
	v.demand(!s.Nullable, path, ruleNullable)
	v.demand(s.Type != "number", path, ruleFloat)
	switch s.Type {
	case "array":
		v.visitList(path, s)
	case "object":
		v.visitObject(path, s)
	case "integer":
		v.demand(s.Minimum != nil, path, ruleMinimum)
		v.demand(s.Maximum != nil, path, ruleMaximum)
	case "string", "":
		v.demand(s.MaxLength != nil || s.Enum != nil || s.Format == "date-time", path, ruleString)
	}
}

func (v *visitor) visitList(path string, s *apiextensionsv1.JSONSchemaProps) {
	v.demand(s.MaxItems != nil, path, ruleList)
	v.demand(s.XListType != nil, path, ruleListType)
	if strings.HasSuffix(path, ".conditions") {
		byType := s.XListType != nil && *s.XListType == "map" && slices.Equal(s.XListMapKeys, []string{"type"})
		v.demand(byType, path, ruleConditions)
	}
	v.demand(s.Items.Schema.MinProperties == nil, path+"[]", ruleEmpty)
	v.visit(path+"[]", s.Items.Schema)
}

func (v *visitor) visitObject(path string, s *apiextensionsv1.JSONSchemaProps) {
	if s.AdditionalProperties != nil {
		v.demand(s.MaxProperties != nil, path, ruleMap)
		v.visit(path+"{}", s.AdditionalProperties.Schema)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		below := path + "." + name
		v.demand(strings.HasPrefix(field.Description, name+" "), below, ruleDescription)
		named := durationUnit.MatchString(name) && field.Type == "integer"
		v.demand(slices.Contains(s.Required, name) || field.MinItems == nil && field.MinProperties == nil, below, ruleEmpty)
		v.demand(named || !durationUnit.MatchString(name) && !durationName.MatchString(name), below, ruleDuration)
		v.visit(below, &field)
	}
}

func readCRDs(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", crdFolder, err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		crds = append(crds, crd)
	}
	return crds
}

func TestSchemasKeepTheConventions(t *testing.T) {
	used := map[int]bool{}
	for _, crd := range readCRDs(t) {
		for _, version := range crd.Spec.Versions {
			v := &visitor{used: used}
			for _, part := range partsOf(crd) {
				schema := version.Schema.OpenAPIV3Schema.Properties[part]
				v.demand(strings.HasPrefix(schema.Description, part+" "), part, ruleDescription)
				v.visit(part, &schema)
			}
			for _, violation := range v.violations {
				t.Errorf("%s %s: %s", crd.Spec.Names.Kind, version.Name, violation)
			}
		}
	}
	for i, e := range exclusions {
		if !used[i] {
			t.Errorf("no field needs the exclusion of %s from %q (%s): remove it", e.path, e.rule, e.reason)
		}
	}
}

// partsOf returns the parts of a kind: a report has neither a spec nor a status, as a CSIStorageCapacity has not.
func partsOf(crd *apiextensionsv1.CustomResourceDefinition) []string {
	switch crd.Spec.Names.Kind {
	case "ClusterCapacity":
		return []string{"nodes", "allocatable", "unused", "growth", "reportTime"}
	case "QuotaRecord":
		return []string{"quota", "month", "pool", "from", "until", "unobservedSeconds", "budgetHours", "usedHours", "data"}
	}
	return []string{"spec", "status"}
}

func TestResourcesKeepTheConventions(t *testing.T) {
	for _, crd := range readCRDs(t) {
		kind := crd.Spec.Names.Kind
		if len(crd.Spec.Names.ShortNames) == 0 || len(crd.Spec.Names.Categories) == 0 {
			t.Errorf("%s has no short name or no category", kind)
		}
		for _, version := range crd.Spec.Versions {
			if partsOf(crd)[0] == "spec" && (version.Subresources == nil || version.Subresources.Status == nil) {
				t.Errorf("%s %s has no status subresource", kind, version.Name)
			}
			for _, column := range version.AdditionalPrinterColumns {
				if column.Description == "" {
					t.Errorf("%s %s: the column %s has no description", kind, version.Name, column.Name)
				}
			}
		}
	}
}

func TestConditionsAreFirstInStatus(t *testing.T) {
	for _, status := range []reflect.Type{
		reflect.TypeFor[quotav1alpha1.FederatedQuotaStatus](),
		reflect.TypeFor[quotav1alpha1.QuotaShareStatus](),
		reflect.TypeFor[quotav1alpha1.QuotaRequirementStatus](),
		reflect.TypeFor[quotav1alpha1.QuotaPoolStatus](),
	} {
		first := status.Field(0)
		if first.Anonymous {
			first = first.Type.Field(0)
		}
		if first.Name != "Conditions" {
			t.Errorf("the first field of %s is %s, not Conditions", status.Name(), first.Name)
		}
	}
}

// The schema only shows what is required, so the sources tell whether somebody thought about it.
func TestFieldsSayWhetherTheyAreOptional(t *testing.T) {
	files, err := filepath.Glob("*_types.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no types: %v", err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for node := range ast.Preorder(parsed) {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || strings.HasSuffix(spec.Name.Name, "List") {
				continue
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				checkFields(t, spec.Name.Name, fields.Fields.List)
			}
		}
	}
}

func checkFields(t *testing.T, owner string, fields []*ast.Field) {
	t.Helper()
	for _, field := range fields {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		if strings.Contains(tag, ",inline") {
			continue
		}
		optional, required := marked(field, "+optional"), marked(field, "+required")
		if optional == required {
			t.Errorf("%s, json %q: exactly one of +optional and +required must be said", owner, tag)
		}
		if !strings.Contains(tag, ",omitempty") && !strings.Contains(tag, ",omitzero") {
			t.Errorf("%s, json %q: neither omitempty nor omitzero", owner, tag)
		}
	}
}

func marked(field *ast.Field, marker string) bool {
	return field.Doc != nil && slices.ContainsFunc(field.Doc.List, func(c *ast.Comment) bool {
		return strings.TrimSpace(strings.TrimPrefix(c.Text, "//")) == marker
	})
}

// TestWords has kubectl explain speak of what a user sees, and not of how fedquota works inside.
func TestWords(t *testing.T) {
	inside := regexp.MustCompile(`(?i)\b(ledger|fencing|token|shares?|quotashares?)\b`)
	verb := regexp.MustCompile(`clusters share the budget`)
	for _, kind := range []string{"federatedquotas", "quotapools", "quotarequirements"} {
		content, err := os.ReadFile(filepath.Join(crdFolder, "quota.fedquota.io_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(content), "\n") {
			if word := inside.FindString(line); word != "" && !verb.MatchString(line) {
				t.Errorf("%s, line %d: %q: %s", kind, n+1, word, strings.TrimSpace(line))
			}
		}
	}
}
