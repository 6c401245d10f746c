package hub

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// pool returns a QuotaPool of the door's own.
func (d *door) pool(name, spec string) *unstructured.Unstructured {
	d.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("QuotaPool"))
	object.SetName(d.namespace + "-" + name)
	d.setSpec(object, spec)
	return object
}

// stores creates a QuotaPool that the webhook has seen.
func (d *door) stores(name, spec string) *unstructured.Unstructured {
	d.Helper()
	object := d.pool(name, spec)
	d.must(d.Create(d.Context(), object))
	d.Cleanup(func() { d.must(client.IgnoreNotFound(d.Delete(context.Background(), object))) })
	d.seen(object)
	d.warned()
	return object
}

// TestPools tries pools that would not be acted upon, and those that may surprise.
func TestPools(t *testing.T) {
	d := newDoor(t)
	d.stores("acme", "hard: {requests.cpu: 100, pods: 50}\nreserve: {requests.cpu: 10}")
	d.stores("research", "parent: OWN-acme\nhard: {requests.cpu: 95, secrets: 7}")
	for name, tc := range map[string]struct{ spec, want, warned string }{
		"a root":                       {spec: "hard: {requests.cpu: '0.5'}\nallowedNamespaces: {selector: {}}"},
		"below another":                {spec: "parent: OWN-research\nhard: {requests.cpu: 90, secrets: 7}"},
		"what is above does not limit": {spec: "parent: OWN-research\nhard: {services: 1000}"},
		"a number with a fraction": {
			spec:   "hard: {requests.cpu: 0.5}",
			warned: `numbers with a fraction are taken for text: write requests.cpu: "0.5", else tools that compare what is stored see a difference`,
		},
		"nothing":                   {spec: "hard: {}", want: "spec.hard: Invalid value: names no resource: set hard, or the names that follow the nodes in capacity.resources"},
		"above itself":              {spec: "parent: OWN-new\nhard: {pods: 1}", want: "spec.parent: Invalid value: a pool cannot be above itself: name another QuotaPool, or leave parent out for a root"},
		"below one that is missing": {spec: "parent: OWN-retail\nhard: {pods: 1}", warned: "spec.parent: there is no QuotaPool OWN-retail now"},
		"above its parent": { // HNC#277: stored, warned of, and the number that binds is said
			spec:   "parent: OWN-acme\nhard: {requests.cpu: 120}",
			warned: "spec.hard[requests.cpu]: 120 is above the 90 of QuotaPool OWN-acme: no more than that can be had",
		},
		"above the parent of its parent": { // volcano#4349: what binds is what is least
			spec:   "parent: OWN-research\nhard: {requests.cpu: 95, pods: 51, secrets: 8}",
			warned: "spec.hard[pods]: 51 is above the 50 of QuotaPool OWN-acme: no more than that can be had\nspec.hard[requests.cpu]: 95 is above the 90 of QuotaPool OWN-acme: no more than that can be had\nspec.hard[secrets]: 8 is above the 7 of QuotaPool OWN-research: no more than that can be had",
		},
		"a max above the budget":          {spec: "hard: {pods: 100}\ndistribution: {rules: [{children: [a], max: {pods: 200}}]}"},               // volcano#4819
		"a min where there is none above": {spec: "parent: OWN-acme\nhard: {pods: 4}\ndistribution: {rules: [{children: [a], min: {pods: 2}}]}"}, // volcano#5634
		"guarantees that do not fit": {
			spec:   "hard: {pods: 10}\nreserve: {pods: 1}\ndistribution: {rules: [{min: {pods: 4}}, {children: [a, b/c]}, {children: [d], min: {pods: 2}}]}",
			warned: "spec.distribution.rules: the min of the 3 children that are named add up to 10 pods, above the budget of 9: not all of them can have it at once",
		},
		"a child twice in one rule": {
			spec: "hard: {pods: 10}\ndistribution: {rules: [{children: [a, a], weight: 2}]}",
			want: `spec.distribution.rules[0].children[1]: Duplicate value: "a"`,
		},
		"a rule of nobody": {
			spec: "hard: {pods: 10}\ndistribution: {rules: [{children: [], weight: 2}]}",
			want: `spec.distribution.rules[0].children: Invalid value: an empty list would have the rule match every child: name children, or leave the field out`,
		},
		"min above max": {
			spec: "hard: {pods: 10}\ndistribution: {rules: [{min: {pods: 5}, max: {pods: 4}}]}",
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "5": must be at most spec.distribution.rules[0].max[pods], which is 4`,
		},
		"namespaces with nothing to have": {
			spec: "capacity: {resources: [requests.cpu]}\nnamespaces: {selector: {matchLabels: {of: OWN}}}",
			want: "spec.namespaces.template.hard: Required value: spec.hard names no resource of which each namespace may have all: say what each may have at most",
		},
		"nodes of a cluster that is not there": {
			spec:   "hard: {requests.cpu: 4}\ncapacity: {placement: {clusters: [OWN-nowhere]}}",
			warned: "spec.capacity.placement.clusters: OWN-nowhere: there is no such Cluster now, and no node of it counts",
		},
		"a key of another kind": {
			spec: "hard: {pods: 10}\ndistribution: {rules: [{children: [QuotaPool/a/b]}]}",
			want: `spec.distribution.rules[0].children[0]: Invalid value: "QuotaPool/a/b": spec.distribution.rules[0].children[0] in body should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.pool("new", tc.spec), client.DryRunAll)
			if diff := cmp.Diff(tc.want, d.refusal(err)); diff != "" {
				t.Errorf("refused -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.warned, d.warned()); diff != "" {
				t.Errorf("warned -want +got:\n%s", diff)
			}
		})
	}
	d.moves()
}

// moves has a pool be put below another one, cut and deleted.
func (d *door) moves() {
	d.Helper()
	top := d.stores("top", "hard: {pods: 20}")
	d.stores("low", "parent: OWN-top\nhard: {pods: 20}")
	d.setSpec(top, "parent: OWN-low\nhard: {pods: 20}")
	const circle = `spec.parent: Invalid value: "OWN-low": leads in a circle (OWN-top below OWN-low below OWN-top): name a pool that is not below OWN-top`
	if diff := cmp.Diff(circle, d.refusal(d.Update(d.Context(), top.DeepCopy()))); diff != "" {
		d.Errorf("-want +got:\n%s", diff)
	}
	top.Object["status"] = map[string]any{"used": map[string]any{"pods": "8"}, "children": []any{map[string]any{"key": "QuotaPool/" + d.namespace + "-low"}}}
	d.setSpec(top, "hard: {pods: 20}")
	d.must(d.Status().Update(d.Context(), top))
	d.setSpec(top, "hard: {pods: 5}")
	d.must(d.Update(d.Context(), top))
	d.must(d.Delete(d.Context(), top))
	const want = "spec.hard[pods]: a budget of 5 is below the 8 in use: nothing is stopped, and no more is admitted until usage has fallen\n" +
		"QuotaPool OWN-top stays until all have left it: give QuotaPool/OWN-low another pool, or none"
	if diff := cmp.Diff(want, d.warned()); diff != "" {
		d.Errorf("-want +got:\n%s", diff)
	}
}

// TestMembership has FederatedQuotas come into pools.
func TestMembership(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	d.stores("none", "hard: {pods: 10}")
	open := d.stores("open", "hard: {pods: 10}\nallowedNamespaces: {selector: {}}")
	d.stores("research", "hard: {pods: 10}\nallowedNamespaces: {selector: {matchLabels: {org: research}}}")
	for name, tc := range map[string]struct{ pool, hard, want, warned string }{
		"allowed":   {pool: "OWN-open", hard: "10"},
		"not there": {pool: "OWN-gone", hard: "10", warned: "spec.pool.name: there is no QuotaPool OWN-gone now"},
		"above the pool": { // capsule#1977: stored, and no more than that is ever had
			pool: "OWN-open", hard: "100", warned: "spec.hard[pods]: 100 is above the 10 of QuotaPool OWN-open: no more than that can be had",
		},
		"allows nobody": {
			pool: "OWN-none", hard: "10",
			want: `spec.pool.name: Invalid value: "OWN-none": QuotaPool OWN-none does not allow namespace OWN: its spec.allowedNamespaces allows none, name another pool`,
		},
		"allows others": {
			pool: "OWN-research", hard: "10",
			want: `spec.pool.name: Invalid value: "OWN-research": QuotaPool OWN-research does not allow namespace OWN: its spec.allowedNamespaces wants a namespace with labels "org=research" on the hub, label it so or name another pool`,
		},
		"no name": {pool: "''", hard: "10", want: "spec.pool.name: Invalid value: \"\": spec.pool.name in body should be at least 1 chars long"},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.quota("compute", "pool: {name: "+tc.pool+"}\nhard: {pods: "+tc.hard+"}"+all), client.DryRunAll)
			if diff := cmp.Diff(tc.want, firstLine(d.refusal(err))); diff != "" {
				t.Errorf("refused -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.warned, d.warned()); diff != "" {
				t.Errorf("warned -want +got:\n%s", diff)
			}
		})
	}
	d.stays(open)
}

func firstLine(lines string) string {
	first, _, _ := strings.Cut(lines, "\n")
	return first
}

// stays has a FederatedQuota go on in a pool that does not allow its namespace any more.
func (d *door) stays(open *unstructured.Unstructured) {
	d.Helper()
	stored := d.quota("stays", "pool: {name: OWN-open}\nhard: {pods: 10}"+all)
	d.must(d.Create(d.Context(), stored))
	d.setSpec(open, "hard: {pods: 10}")
	d.must(d.Update(d.Context(), open))
	d.setSpec(stored, "pool: {name: OWN-open}\nhard: {pods: 9}"+all)
	d.must(d.Update(d.Context(), stored))
	d.setSpec(stored, "hard: {pods: 9}"+all)
	d.must(d.Update(d.Context(), stored))
	d.setSpec(stored, "pool: {name: OWN-open}\nhard: {pods: 9}"+all)
	if d.refusal(d.Update(d.Context(), stored)) == "" {
		d.Error("who has left comes back into a pool that does not allow it")
	}
	namespace := &corev1.Namespace{}
	d.must(d.Get(d.Context(), client.ObjectKey{Name: d.namespace}, namespace))
	namespace.Labels["org"] = "research"
	d.must(d.Update(d.Context(), namespace))
	d.setSpec(stored, "pool: {name: OWN-research}\nhard: {pods: 9}"+all)
	d.must(d.Update(d.Context(), stored))
}

// TestLead has a team lead split his pool, and decide what the pool below it has.
func TestLead(t *testing.T) {
	d := newDoor(t)
	d.install("rbac", "hub", "federatedquota_roles.yaml")
	d.install("default", "pools.yaml")
	own, below := d.stores("own", "hard: {pods: 10}"), d.stores("below", "parent: OWN-own\nhard: {pods: 4}")
	lead := d.lead(own.GetName(), below.GetName())
	write := func(pool *unstructured.Unstructured, spec string) string {
		t.Helper()
		pool = pool.DeepCopy()
		d.setSpec(pool, spec)
		err := lead.Update(t.Context(), pool, client.DryRunAll)
		if err == nil {
			return ""
		}
		if !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		_, message, _ := strings.Cut(err.Error(), "denied request: ")
		return strings.ReplaceAll(message, d.namespace, "OWN")
	}
	const only = ": is for who may manage QuotaPool OWN-own: who may update it may change distribution and rebalance"
	for write(own, "hard: {pods: 11}") != "spec.hard"+only { // until the policy is in force
		d.must(t.Context().Err())
	}
	for _, tc := range []struct {
		pool       *unstructured.Unstructured
		spec, want string
	}{
		{own, "hard: {pods: 10}\ndistribution: {rules: [{children: [OWN-below], min: {pods: 2}}]}\nrebalance: {mode: Static}", ""},
		{own, "hard: {pods: 10}\nreserve: {pods: 1}", "spec.reserve" + only},
		{own, "hard: {pods: 10}\ncapacity: {percent: 200}", "spec.capacity" + only},
		{own, "hard: {pods: 10}\nparent: OWN-other", "spec.parent" + only},
		{own, "hard: {pods: 10}\nallowedNamespaces: {selector: {}}", "spec.allowedNamespaces" + only},
		{own, "hard: {pods: 10}\nnamespaces: {selector: {}}", "spec.namespaces" + only},
		{below, "parent: OWN-own\nhard: {pods: 9}\nallowedNamespaces: {selector: {}}", ""},
	} {
		if diff := cmp.Diff(tc.want, write(tc.pool, tc.spec)); diff != "" {
			t.Errorf("%s -want +got:\n%s", tc.spec, diff)
		}
	}
	if err := lead.Create(t.Context(), d.pool("more", "hard: {pods: 1}"), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("a lead makes a root: %v", err)
	}
}

// lead returns a client of somebody who may split one pool, and manage another one.
func (d *door) lead(own, below string) client.Client {
	d.Helper()
	about := metav1.ObjectMeta{Name: "lead-" + d.namespace}
	rule := rbacv1.PolicyRule{APIGroups: []string{quotav1alpha1.GroupVersion.Group}, Resources: []string{"quotapools"}}
	splits, manages := rule, rule
	splits.ResourceNames, splits.Verbs = []string{own}, []string{"get", "patch", "update"}
	manages.ResourceNames, manages.Verbs = []string{below}, []string{"get", "manage", "patch", "update"}
	role := &rbacv1.ClusterRole{ObjectMeta: about, Rules: []rbacv1.PolicyRule{splits, manages}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: about,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	}
	d.must(d.Create(d.Context(), role))
	d.must(d.Create(d.Context(), binding))
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: role.Name}
	c, err := client.New(as, client.Options{Scheme: schemes.All()})
	d.must(err)
	return c
}
