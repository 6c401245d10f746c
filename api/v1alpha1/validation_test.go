package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The API server refuses a CRD whose rules could cost too much, so that the CRDs are in use is a result by itself.
func TestCRDsAreInUse(t *testing.T) {
	c := newClient(t)
	for _, crd := range readCRDs(t) {
		stored := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(crd), stored); err != nil {
			t.Fatal(err)
		}
		states := map[apiextensionsv1.CustomResourceDefinitionConditionType]apiextensionsv1.ConditionStatus{}
		for _, condition := range stored.Status.Conditions {
			states[condition.Type] = condition.Status
		}
		if states[apiextensionsv1.Established] != apiextensionsv1.ConditionTrue {
			t.Errorf("%s is not established: %v", crd.Name, stored.Status.Conditions)
		}
		if states[apiextensionsv1.NonStructuralSchema] == apiextensionsv1.ConditionTrue {
			t.Errorf("%s has no structural schema: %v", crd.Name, stored.Status.Conditions)
		}
	}
}

// creation is a spec, and why it is refused; empty if it is accepted.
type creation struct {
	spec string
	want string
}

func testCreations(t *testing.T, kind string, tests map[string]creation) {
	t.Helper()
	c := newClient(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), newObject(t, kind, tc.spec), client.DryRunAll, client.FieldValidation("Strict"))
			if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// change is a spec before and after an update, and why the update is refused; empty if it is accepted.
type change struct {
	from, to string
	want     string
}

func testChanges(t *testing.T, kind string, tests map[string]change) {
	t.Helper()
	c := newClient(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := newObject(t, kind, tc.from)
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			setSpec(t, object, tc.to)
			err := c.Update(t.Context(), object, client.FieldValidation("Strict"))
			if diff := cmp.Diff(tc.want, causes(t, err)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// many returns a list of n items in YAML's flow style.
func many(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// names returns n names of clusters.
func names(n int) string {
	return many(n, func(i int) string { return fmt.Sprintf("c%d", i) })
}

// amounts returns a map of n resource names.
func amounts(n int) string {
	list := many(n, func(i int) string { return fmt.Sprintf("count/kind%d: 1", i) })
	return "{" + strings.Trim(list, "[]") + "}"
}

func long(n int) string { return strings.Repeat("x", n) }

func TestFederatedQuotaCreation(t *testing.T) {
	const (
		hard  = "hard: {pods: 10, requests.cpu: 1500m}\n"
		valid = hard + "placement: {clusters: [a]}\n"
	)
	testCreations(t, "FederatedQuota", map[string]creation{
		"the least there is": {spec: valid},
		"everything": {spec: `
hard: {pods: "500", requests.cpu: "100", requests.memory: 400Gi, requests.nvidia.com/gpu: 8}
scopes: [NotBestEffort, NotTerminating]
scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}
reserve: {requests.cpu: 1500m}
placement: {clusterSelector: {matchLabels: {tier: prod}}, clusters: [a], createNamespace: true, namespaceTemplate: {labels: {a: b}, annotations: {c: d}}}
distribution:
  weights: Static
  rules:
  - {weight: 1}
  - {clusters: [a], clusterSelector: {matchLabels: {tier: prod}}, weight: 0, min: {pods: 1}, max: {pods: 5}}
rebalance: {mode: Static}
removal: {policy: Delete, destroyed: [b]}
`},

		"no hard":              {spec: "placement: {clusters: [a]}", want: "spec.hard: Invalid value: names no resource: set hard, or the names that follow the nodes in capacity.resources"},
		"empty hard":           {spec: "hard: {}\nplacement: {clusters: [a]}", want: "spec.hard: Invalid value: names no resource: set hard, or the names that follow the nodes in capacity.resources"},
		"nodes alone":          {spec: "capacity: {resources: [requests.cpu]}\nplacement: {clusters: [a]}"},
		"no part of nodes":     {spec: valid + "capacity: {percent: 0}", want: "spec.capacity.percent: Invalid value: 0: spec.capacity.percent in body should be greater than or equal to 1"},
		"32 names in hard":     {spec: "hard: " + amounts(32) + "\nplacement: {clusters: [a]}"},
		"33 names in hard":     {spec: "hard: " + amounts(33) + "\nplacement: {clusters: [a]}", want: "spec.hard: Too many: 33: must have at most 32 items"},
		"hard is no quantity":  {spec: "hard: {pods: ten}\nplacement: {clusters: [a]}", want: `spec.hard.pods: Invalid value: "ten": spec.hard.pods in body should match '^(\+|-)?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([KMGTPE]i|[numkMGTPE]|[eE](\+|-)?[0-9]{1,2})?$'`},
		"unknown scope":        {spec: valid + "scopes: [Terminated]", want: `spec.scopes[0]: Unsupported value: "Terminated": supported values: "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"`},
		"empty scopes":         {spec: valid + "scopes: []"},
		"too many scopes":      {spec: valid + "scopes: " + many(9, func(int) string { return "BestEffort" }), want: "spec.scopes: Too many: 9: must have at most 8 items"},
		"granularity":          {spec: valid + "distribution: {granularity: {pods: 2}}"},
		"granularity of cpu":   {spec: valid + "distribution: {granularity: {requests.cpu: 500m}}"},
		"no granularity":       {spec: valid + `distribution: {granularity: {requests.cpu: "0"}}`, want: "spec.distribution.granularity: Invalid value: must be more than 0"},
		"granularity of zero":  {spec: valid + "distribution: {granularity: {pods: 0}}", want: "spec.distribution.granularity: Invalid value: must be more than 0"},
		"negative granularity": {spec: valid + `distribution: {granularity: {pods: "-1"}}`, want: "spec.distribution.granularity: Invalid value: must be more than 0"},
		"granularity beyond":   {spec: valid + "distribution: {granularity: {services: 1}}", want: "spec.distribution.granularity: Invalid value: may only name resources that hard names"},
		"reserve within hard":  {spec: valid + "reserve: {pods: 1}"},
		"reserve beyond hard":  {spec: valid + "reserve: {pods: 1, services: 1}", want: "spec.reserve: Invalid value: may only name resources that hard names"},
		"empty reserve":        {spec: valid + "reserve: {}"},
		"33 names in reserve":  {spec: "hard: " + amounts(32) + "\nplacement: {clusters: [a]}\nreserve: " + amounts(33), want: "spec.reserve: Too many: 33: must have at most 32 items"},
		"no placement":         {spec: hard, want: "spec.placement: Required value"},
		"empty placement":      {spec: hard + "placement: {}", want: "spec.placement: Invalid value: placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"},
		"a namespace nowhere":  {spec: hard + "placement: {createNamespace: true}", want: "spec.placement: Invalid value: placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"},
		"an empty template":    {spec: hard + "placement: {clusters: [a], namespaceTemplate: {labels: {}}}"},
		"a template of none":   {spec: hard + "placement: {clusters: [a], namespaceTemplate: {labels: {a: b}}}", want: "spec.placement: Invalid value: namespaceTemplate is for namespaces that are created: set createNamespace to true, or leave it out"},
		"every cluster":        {spec: hard + "placement: {clusterSelector: {}}"},
		"an empty list":        {spec: hard + "placement: {clusters: []}", want: "spec.placement: Invalid value: placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"},
		"1000 clusters":        {spec: hard + "placement: {clusters: " + names(1000) + "}"},
		"1001 clusters":        {spec: hard + "placement: {clusters: " + names(1001) + "}", want: "spec.placement.clusters: Too many: 1001: must have at most 1000 items"},
		"a cluster twice":      {spec: hard + "placement: {clusters: [a, a]}", want: `spec.placement.clusters[1]: Duplicate value: "a"`},
		"a cluster of no name": {spec: hard + "placement: {clusters: ['']}", want: `spec.placement.clusters[0]: Invalid value: "": spec.placement.clusters[0] in body should be at least 1 chars long`},
		"the longest name":     {spec: hard + "placement: {clusters: [" + long(253) + "]}"},
		"a name with a space":  {spec: hard + "placement: {clusters: ['east ']}", want: `spec.placement.clusters[0]: Invalid value: "east ": spec.placement.clusters[0] in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'`},
		"two namespaces":       {spec: hard + "placement: {clusters: [a/b/east]}", want: `spec.placement.clusters[0]: Invalid value: "a/b/east": spec.placement.clusters[0] in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'`},
		"a further namespace":  {spec: hard + "placement: {clusters: [emea/east]}"},
		"too long a name":      {spec: hard + "placement: {clusters: [" + long(254) + "]}", want: "spec.placement.clusters[0]: Too long: may not be more than 253 bytes"},

		"a negative number":                      {spec: "hard: {pods: 1, services: -1}\nplacement: {clusters: [a]}", want: "spec.hard: Invalid value: services: -1 is negative: must be 0 or more"},
		"a negative quantity":                    {spec: "hard: {requests.cpu: -5m}\nplacement: {clusters: [a]}", want: "spec.hard: Invalid value: requests.cpu: -5m is negative: must be 0 or more"},
		"a negative reserve":                     {spec: valid + "reserve: {pods: '-1'}", want: "spec.reserve: Invalid value: pods: -1 is negative: must be 0 or more"},
		"a part of a pod":                        {spec: "hard: {pods: '1.5'}\nplacement: {clusters: [a]}", want: "spec.hard: Invalid value: counts of objects, such as pods and services, must be whole numbers"},
		"thousandths, which the webhook adds up": {spec: "hard: {pods: 500m, secrets: 1}\nplacement: {clusters: [a]}"},
		"a whole number in thousands":            {spec: "hard: {pods: 1.5k, secrets: 2000m}\nplacement: {clusters: [a]}"},
		"a whole number with a point":            {spec: "hard: {pods: '2.0', services: 1.5Gi}\nplacement: {clusters: [a]}"},
		"a part of a core":                       {spec: "hard: {requests.cpu: '1.5'}\nplacement: {clusters: [a]}"},
		"scopes that nothing has both of":        {spec: valid + "scopes: [Terminating, NotTerminating]", want: "spec.scopes: Invalid value: nothing matches both Terminating and NotTerminating: use one of them"},
		"other such scopes":                      {spec: valid + "scopes: [NotBestEffort, BestEffort]", want: "spec.scopes: Invalid value: nothing matches both BestEffort and NotBestEffort: use one of them"},

		"as charts render what is left out": {spec: hard + `placement: {clusterSelector: {}, clusters: []}
scopes: []
scopeSelector: {}
reserve: {}
distribution: {rules: [], granularity: {}}
rebalance: {}
admission: {}
removal: {destroyed: []}`},
		"empty distribution":    {spec: valid + "distribution: {}"},
		"equal weights":         {spec: valid + "distribution: {weights: Equal}"},
		"unknown weights":       {spec: valid + "distribution: {weights: Random}", want: `spec.distribution.weights: Unsupported value: "Random": supported values: "Capacity", "Equal", "Static"`},
		"empty rules":           {spec: valid + "distribution: {rules: []}"},
		"256 rules":             {spec: valid + "distribution: {rules: " + many(256, func(int) string { return "{weight: 1}" }) + "}"},
		"257 rules":             {spec: valid + "distribution: {rules: " + many(257, func(int) string { return "{weight: 1}" }) + "}", want: "spec.distribution.rules: Too many: 257: must have at most 256 items"},
		"empty rule":            {spec: valid + "distribution: {rules: [{}]}"},
		"a rule for no cluster": {spec: valid + "distribution: {rules: [{clusters: []}]}", want: "spec.distribution.rules[0].clusters: Invalid value: an empty list would have the rule match every cluster: name clusters, or leave the field out"},
		"a rule by label alone": {spec: valid + "distribution: {rules: [{clusters: [], clusterSelector: {}}]}"},
		"a rule for too many":   {spec: valid + "distribution: {rules: [{clusters: " + names(1001) + "}]}", want: "spec.distribution.rules[0].clusters: Too many: 1001: must have at most 1000 items"},
		"a rule for one twice":  {spec: valid + "distribution: {rules: [{clusters: [a, a]}]}", want: `spec.distribution.rules[0].clusters[1]: Duplicate value: "a"`},
		"weight 0":              {spec: valid + "distribution: {rules: [{weight: 0}]}"},
		"weight below 0":        {spec: valid + "distribution: {rules: [{weight: -1}]}", want: "spec.distribution.rules[0].weight: Invalid value: -1: spec.distribution.rules[0].weight in body should be greater than or equal to 0"},
		"the largest weight":    {spec: valid + "distribution: {rules: [{weight: 1000000}]}"},
		"too large a weight":    {spec: valid + "distribution: {rules: [{weight: 1000001}]}", want: "spec.distribution.rules[0].weight: Invalid value: 1000001: spec.distribution.rules[0].weight in body should be less than or equal to 1000000"},
		"empty min":             {spec: valid + "distribution: {rules: [{min: {}}]}"},
		"too large a min":       {spec: valid + "distribution: {rules: [{min: " + amounts(33) + "}]}", want: "spec.distribution.rules[0].min: Too many: 33: must have at most 32 items"},
		"empty max":             {spec: valid + "distribution: {rules: [{max: {}}]}"},
		"too large a max":       {spec: valid + "distribution: {rules: [{max: " + amounts(33) + "}]}", want: "spec.distribution.rules[0].max: Too many: 33: must have at most 32 items"},

		"empty rebalance":    {spec: valid + "rebalance: {}"},
		"unknown mode":       {spec: valid + "rebalance: {mode: Never}", want: `spec.rebalance.mode: Unsupported value: "Never": supported values: "Auto", "Static"`},
		"empty removal":      {spec: valid + "removal: {}"},
		"retain":             {spec: valid + "removal: {policy: Retain}"},
		"unknown policy":     {spec: valid + "removal: {policy: Orphan}", want: `spec.removal.policy: Unsupported value: "Orphan": supported values: "Retain", "Delete"`},
		"nothing destroyed":  {spec: valid + "removal: {destroyed: []}"},
		"too many destroyed": {spec: valid + "removal: {destroyed: " + names(1001) + "}", want: "spec.removal.destroyed: Too many: 1001: must have at most 1000 items"},
		"destroyed twice":    {spec: valid + "removal: {destroyed: [a, a]}", want: `spec.removal.destroyed[1]: Duplicate value: "a"`},
	})
}

func TestFederatedQuotaChange(t *testing.T) {
	const (
		valid    = "hard: {pods: 10}\nplacement: {clusters: [a]}\n"
		high     = "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}\n"
		low      = "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [low]}]}\n"
		scopes   = "spec: Invalid value: scopes is immutable, as it is in a ResourceQuota: create another FederatedQuota"
		selector = "spec: Invalid value: scopeSelector is immutable, since a member would not recount usage: create another FederatedQuota"
	)
	testChanges(t, "FederatedQuota", map[string]change{
		"another budget":                 {from: valid, to: "hard: {pods: 5, services: 1}\nplacement: {clusters: [a]}"},
		"another placement":              {from: valid, to: "hard: {pods: 10}\nplacement: {clusters: [b]}"},
		"the same scopes":                {from: valid + "scopes: [BestEffort]", to: valid + "reserve: {pods: 1}\nscopes: [BestEffort]"},
		"scopes added":                   {from: valid, to: valid + "scopes: [BestEffort]", want: scopes},
		"scopes removed":                 {from: valid + "scopes: [BestEffort]", to: valid, want: scopes},
		"scopes changed":                 {from: valid + "scopes: [BestEffort]", to: valid + "scopes: [NotBestEffort]", want: scopes},
		"the same scopeSelector":         {from: valid + high, to: valid + "reserve: {pods: 1}\n" + high},
		"scopeSelector added":            {from: valid, to: valid + high, want: selector},
		"scopeSelector removed":          {from: valid + high, to: valid, want: selector},
		"scopeSelector changed":          {from: valid + high, to: valid + low, want: selector},
		"empty scopes added":             {from: valid, to: valid + "scopes: []"},
		"empty scopes removed":           {from: valid + "scopes: []", to: valid},
		"empty scopes filled":            {from: valid + "scopes: []", to: valid + "scopes: [BestEffort]", want: scopes},
		"an empty scopeSelector added":   {from: valid, to: valid + "scopeSelector: {matchExpressions: []}"},
		"an empty scopeSelector removed": {from: valid + "scopeSelector: {}", to: valid},
		"an empty scopeSelector filled":  {from: valid + "scopeSelector: {}", to: valid + high, want: selector},
		"hard without a reserved":        {from: valid + "reserve: {pods: 1}", to: "hard: {services: 1}\nplacement: {clusters: [a]}\nreserve: {pods: 1}", want: "spec.reserve: Invalid value: may only name resources that hard names"},
	})
}

func TestQuotaShareCreation(t *testing.T) {
	testCreations(t, "QuotaShare", map[string]creation{
		"the least there is":   {spec: "revision: 1\nhard: {pods: 0}"},
		"no revision":          {spec: "hard: {pods: 0}", want: "spec.revision: Required value"},
		"revision 0":           {spec: "revision: 0\nhard: {pods: 0}", want: "spec.revision: Invalid value: 0: spec.revision in body should be greater than or equal to 1"},
		"the highest revision": {spec: "revision: 9007199254740991\nhard: {pods: 0}"},
		"no hard":              {spec: "revision: 1", want: "spec.hard: Required value"},
		"empty hard":           {spec: "revision: 1\nhard: {}", want: "spec.hard: Invalid value: 0: spec.hard in body should have at least 1 properties"},
		"32 names in hard":     {spec: "revision: 1\nhard: " + amounts(32)},
		"33 names in hard":     {spec: "revision: 1\nhard: " + amounts(33), want: "spec.hard: Too many: 33: must have at most 32 items"},
		"unknown scope":        {spec: "revision: 1\nhard: {pods: 0}\nscopes: [Terminated]", want: `spec.scopes[0]: Unsupported value: "Terminated": supported values: "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"`},
		"empty scopes":         {spec: "revision: 1\nhard: {pods: 0}\nscopes: []"},
	})
}

func TestQuotaShareRevision(t *testing.T) {
	const (
		scopes   = "scopes: [BestEffort]\n"
		selector = "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}\n"
	)
	testChanges(t, "QuotaShare", map[string]change{
		"higher revision, other hard":     {from: "revision: 3\nhard: {pods: 5}", to: "revision: 4\nhard: {pods: 7}"},
		"higher revision, same hard":      {from: "revision: 3\nhard: {pods: 5}", to: "revision: 4\nhard: {pods: 5}"},
		"higher revision, other names":    {from: "revision: 3\nhard: {pods: 5}", to: "revision: 9\nhard: {services: 5}"},
		"same revision, same hard":        {from: "revision: 3\nhard: {pods: 5}", to: "revision: 3\nhard: {pods: 5}"},
		"same revision, more":             {from: "revision: 3\nhard: {pods: 5}", to: "revision: 3\nhard: {pods: 6}", want: "spec: Invalid value: hard may change only with a higher revision"},
		"same revision, less":             {from: "revision: 3\nhard: {pods: 5}", to: "revision: 3\nhard: {pods: 4}", want: "spec: Invalid value: hard may change only with a higher revision"},
		"same revision, a name more":      {from: "revision: 3\nhard: {pods: 5}", to: "revision: 3\nhard: {pods: 5, services: 1}", want: "spec: Invalid value: hard may change only with a higher revision"},
		"same revision, a name less":      {from: "revision: 3\nhard: {pods: 5, services: 1}", to: "revision: 3\nhard: {pods: 5}", want: "spec: Invalid value: hard may change only with a higher revision"},
		"same revision, another notation": {from: "revision: 3\nhard: {pods: 5}", to: "revision: 3\nhard: {pods: '5'}", want: "spec: Invalid value: hard may change only with a higher revision"},
		"lower revision, same hard":       {from: "revision: 3\nhard: {pods: 5}", to: "revision: 2\nhard: {pods: 5}", want: "spec: Invalid value: revision never goes down: this write was decided on an older ledger"},
		"lower revision, other hard":      {from: "revision: 3\nhard: {pods: 5}", to: "revision: 2\nhard: {pods: 7}", want: "spec: Invalid value: hard may change only with a higher revision\nspec: Invalid value: revision never goes down: this write was decided on an older ledger"},
		"scopes added":                    {from: "revision: 3\nhard: {pods: 5}\n", to: "revision: 4\nhard: {pods: 5}\n" + scopes, want: "spec: Invalid value: scopes is immutable"},
		"scopes removed":                  {from: "revision: 3\nhard: {pods: 5}\n" + scopes, to: "revision: 4\nhard: {pods: 5}\n", want: "spec: Invalid value: scopes is immutable"},
		"scopeSelector added":             {from: "revision: 3\nhard: {pods: 5}\n", to: "revision: 4\nhard: {pods: 5}\n" + selector, want: "spec: Invalid value: scopeSelector is immutable"},
		"scopeSelector removed":           {from: "revision: 3\nhard: {pods: 5}\n" + selector, to: "revision: 4\nhard: {pods: 5}\n", want: "spec: Invalid value: scopeSelector is immutable"},
		"scopes and scopeSelector remain": {from: "revision: 3\nhard: {pods: 5}\n" + scopes + selector, to: "revision: 4\nhard: {pods: 7}\n" + scopes + selector},
	})
}

// TestStoredBefore has objects that were stored before a rule refuse their spec: everything else of them can be
// written, they can be repaired, and deleted.
func TestStoredBefore(t *testing.T) {
	c := newClient(t)
	negative := newObject(t, "FederatedQuota", "hard: {pods: -1}\nplacement: {clusters: [a]}\nscopes: [Terminating, NotTerminating]")
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: "federatedquotas.quota.fedquota.io"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want bool) {
		t.Helper()
		for {
			err := c.Create(t.Context(), negative.DeepCopy(), client.DryRunAll)
			if (err != nil) == want {
				return
			}
			must(t.Context().Err())
		}
	}
	must(c.Get(t.Context(), key, crd))
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	rules, without := spec.DeepCopy(), spec.DeepCopy()
	for _, name := range []string{"hard", "scopes"} {
		property := without.Properties[name]
		property.XValidations = nil
		without.Properties[name] = property
	}
	set := func(spec *apiextensionsv1.JSONSchemaProps) {
		t.Helper()
		must(c.Get(t.Context(), key, crd))
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = *spec
		must(c.Update(t.Context(), crd))
	}
	set(without)
	refused(false)
	negative.SetFinalizers([]string{"example.com/before"})
	must(c.Create(t.Context(), negative))
	set(rules)
	refused(true)

	negative.SetLabels(map[string]string{"a": "b"})
	must(c.Update(t.Context(), negative))
	negative.Object["status"] = map[string]any{"settled": "0/1"}
	must(c.Status().Update(t.Context(), negative))
	must(c.Delete(t.Context(), negative))
	must(c.Get(t.Context(), client.ObjectKeyFromObject(negative), negative))
	repaired := negative.DeepCopy()
	setSpec(t, repaired, "hard: {pods: 1}\nplacement: {clusters: [a]}\nscopes: [Terminating, NotTerminating]")
	must(c.Update(t.Context(), repaired, client.DryRunAll))
	negative.SetFinalizers(nil)
	must(c.Update(t.Context(), negative))
}
