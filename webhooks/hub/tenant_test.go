package hub

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
)

// further creates another namespace of the door's own that the webhook has seen.
func (d *door) further(name string, labels map[string]string) {
	d.Helper()
	n := namespaces.Metadata()
	n.Name, n.Labels = d.namespace+"-"+name, map[string]string{"of": d.namespace}
	maps.Copy(n.Labels, labels)
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	d.must(d.Create(d.Context(), object))
	n.SetResourceVersion(object.GetResourceVersion())
	d.seen(n)
}

// TestTenantNamespaces tries pools that select namespaces.
func TestTenantNamespaces(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	d.further("a", map[string]string{"team": "x"})
	d.further("b", map[string]string{"team": "x", "tier": "prod"})
	d.further("c", nil)
	own := d.quota("compute", "hard: {pods: 5}"+all)
	own.SetNamespace(d.namespace + "-c")
	d.must(d.Create(t.Context(), own))
	d.seen(own)
	d.warned()
	d.stores("everyone", "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {of: OWN}}}")
	const whose = ": of several pools that match a namespace, the one has it whose selector demands the most labels, then the one whose name comes first"
	for name, tc := range map[string]struct{ spec, want, warned string }{
		"none": {spec: "namespaces: {selector: {matchLabels: {of: nobody}}}", warned: "spec.namespaces.selector: matches no namespace now"},
		"a number with a fraction": {
			spec:   "namespaces: {template: {hard: {requests.cpu: 0.5}, distribution: {rules: [{min: {requests.cpu: 0.25}}]}}}",
			warned: `numbers with a fraction are taken for text: write requests.cpu: "0.5", requests.cpu: "0.25", else tools that compare what is stored see a difference`,
		},
		"a template alone":  {spec: "namespaces: {template: {hard: {pods: 4}}}"},
		"a whole template":  {spec: "namespaces: {template: {name: compute, hard: {pods: 4, services: 7}, placement: {clusterSelector: {}, createNamespace: true}, removal: {policy: Delete}}}"},
		"demands more":      {spec: "namespaces: {selector: {matchLabels: {of: OWN, team: x}}}", warned: "spec.namespaces.selector: 2 namespaces come from QuotaPool OWN-everyone, with what they have (OWN-a, OWN-b)" + whose},
		"demands as much":   {spec: "namespaces: {selector: {matchExpressions: [{key: of, operator: In, values: [OWN]}, {key: tier, operator: DoesNotExist}]}}", warned: "spec.namespaces.selector: QuotaPool OWN-everyone has 2 of the 2 namespaces that it matches (OWN-a, OWN-c)" + whose},
		"own budgets":       {spec: "namespaces: {selector: {matchExpressions: [{key: of, operator: In, values: [OWN]}, {key: of, operator: Exists}, {key: team, operator: DoesNotExist}]}}", warned: "spec.namespaces.selector: 1 namespaces come from QuotaPool OWN-everyone, with what they have (OWN-c)" + whose + "\nspec.namespaces.selector: 1 namespaces are left as they are (OWN-c): they have a FederatedQuota of their own"},
		"a wrong operator":  {spec: "namespaces: {selector: {matchExpressions: [{key: of, operator: Is}]}}", want: `spec.namespaces.selector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "DoesNotExist", "Exists", "In", "NotIn"`},
		"selects nothing":   {spec: "namespaces: {template: {placement: {createNamespace: true}}}", want: "spec.namespaces.template.placement: Invalid value: placement selects nothing: set clusterSelector (labels on Cluster objects), clusters (their names), or both"},
		"never counted":     {spec: "namespaces: {template: {hard: {nvidia.com/gpu: 1}}}", want: `spec.namespaces.template.hard[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": is accepted by ResourceQuota and never counted: use requests.nvidia.com/gpu`},
		"min above hard":    {spec: "namespaces: {template: {hard: {pods: 4}, distribution: {rules: [{min: {pods: 5}}]}}}", want: `spec.namespaces.template.distribution.rules[0].min[pods]: Invalid value: "5": must be at most spec.namespaces.template.hard[pods], which is 4`},
		"min above pool's":  {spec: "namespaces: {template: {distribution: {rules: [{min: {pods: 11}}]}}}", want: `spec.namespaces.template.distribution.rules[0].min[pods]: Invalid value: "11": must be at most spec.hard[pods], which is 10`},
		"a cluster's rules": {spec: "namespaces: {selector: {matchLabels: {of: nobody}}, template: {removal: {destroyed: [OWN-east]}}}", want: `spec.namespaces.template.removal.destroyed[0]: Invalid value: "OWN-east": the placement selects this Cluster: a cluster that still runs must not be given up`},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.pool("new", "hard: {pods: 10}\n"+tc.spec), client.DryRunAll)
			if diff := cmp.Diff(tc.want, d.refusal(err)); diff != "" {
				t.Errorf("refused -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.warned, d.warned()); diff != "" {
				t.Errorf("warned -want +got:\n%s", diff)
			}
		})
	}
	d.lets()
}

// lets has a pool let namespaces go, and be deleted.
func (d *door) lets() {
	d.Helper()
	pool := d.stores("lets", "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {team: x, of: OWN}}}")
	d.setSpec(pool, "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {team: x, of: OWN, tier: prod}}}")
	d.must(d.Update(d.Context(), pool))
	d.seen(pool)
	if got := d.warned(); got != "" {
		d.Errorf("a namespace that goes back to the pool for all is warned of: %s", got)
	}
	pool.Object["status"] = map[string]any{"children": []any{map[string]any{"key": "FederatedQuota/" + d.namespace + "-b/budget"}}}
	d.must(d.Status().Update(d.Context(), pool))
	d.must(d.Delete(d.Context(), pool))
	const want = "the FederatedQuotas that are kept for QuotaPool OWN-lets are deleted with it, but for namespaces that another pool has. " +
		"spec.namespaces.template.removal.policy is Retain: in members, nothing more can be created there beyond what is used. It stays until its 1 children have left it"
	if diff := cmp.Diff(want, d.warned()); diff != "" {
		d.Errorf("-want +got:\n%s", diff)
	}
	everyone := d.pool("everyone", "hard: {pods: 10}")
	d.must(d.Get(d.Context(), client.ObjectKeyFromObject(everyone), everyone))
	d.setSpec(everyone, "hard: {pods: 10}")
	d.must(d.Update(d.Context(), everyone))
	const left = "spec.namespaces.selector: 3 namespaces leave (OWN-a, OWN-b, OWN-c): nothing more can be created there beyond what is used, and their FederatedQuotas go once nothing is"
	if diff := cmp.Diff(left, d.warned()); diff != "" {
		d.Errorf("-want +got:\n%s", diff)
	}
}

// TestTenantMembership lets budgets of namespaces that a pool selects into it.
func TestTenantMembership(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	d.stores("own", "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {kubernetes.io/metadata.name: OWN}}}")
	d.stores("others", "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {of: nobody}}}")
	d.must(d.Create(t.Context(), d.quota("compute", "pool: {name: OWN-own}\nhard: {pods: 10}"+all), client.DryRunAll))
	err := d.Create(t.Context(), d.quota("compute", "pool: {name: OWN-others}\nhard: {pods: 10}"+all), client.DryRunAll)
	const want = `spec.pool.name: Invalid value: "OWN-others": QuotaPool OWN-others does not allow namespace OWN: its spec.namespaces wants a namespace with labels "of=nobody" on the hub, label it so or name another pool`
	if diff := cmp.Diff(want, d.refusal(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestKept has a team that may edit FederatedQuotas not change what is kept for a pool, and who may patch the pool do so.
func TestKept(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	d.install("rbac", "hub", "federatedquota_roles.yaml")
	d.install("default", "tenants.yaml")
	team := d.tenant()
	pool := d.stores("own", "hard: {pods: 10}\nnamespaces: {selector: {matchLabels: {kubernetes.io/metadata.name: OWN}}}")
	manager := d.lead(pool.GetName(), "none")
	d.must(d.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fedquota-federatedquota-editor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "lead-" + d.namespace}},
	}))
	const spec = "pool: {name: OWN-own}\nhard: {pods: 10}" + all
	kept, own := d.quota("budget", spec), d.quota("own", spec+"\nscopes: [Terminating]")
	kept.SetLabels(map[string]string{quotav1alpha1.KeptLabel: "QuotaPool"})
	d.must(d.Create(t.Context(), kept))
	d.must(d.Create(t.Context(), own))
	write := func(c client.Client, object *unstructured.Unstructured, spec string, labels map[string]string) string {
		t.Helper()
		object = object.DeepCopy()
		d.setSpec(object, spec)
		object.SetLabels(labels)
		err := c.Update(t.Context(), object, client.DryRunAll)
		if err == nil {
			return ""
		}
		if !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		_, message, _ := strings.Cut(err.Error(), "denied request: ")
		return strings.ReplaceAll(message, d.namespace, "OWN")
	}
	const refused = "spec: is kept as QuotaPool OWN-own says in spec.namespaces.template: change it there"
	label, without := map[string]string{quotav1alpha1.KeptLabel: "QuotaPool", "a": "b"}, "hard: {pods: 10}"+all
	for write(team, kept, without, label) != refused { // until the policy is in force
		d.must(t.Context().Err())
	}
	for name, tc := range map[string]struct {
		who    client.Client
		object *unstructured.Unstructured
		spec   string
		labels map[string]string
		want   string
	}{
		"a team takes off the label":      {team, kept, spec, nil, refused},
		"a team sets another label":       {team, kept, spec, label, ""},
		"a team changes its own":          {team, own, without + "\nscopes: [Terminating]", nil, ""},
		"who may patch the pool does all": {manager, kept, without, nil, ""},
	} {
		if diff := cmp.Diff(tc.want, write(tc.who, tc.object, tc.spec, tc.labels)); diff != "" {
			t.Errorf("%s -want +got:\n%s", name, diff)
		}
	}
}
