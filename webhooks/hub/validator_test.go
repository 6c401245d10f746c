package hub

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

const all = "\nplacement: {clusterSelector: {matchLabels: {of: OWN}}}\n"

// TestRefused tries what the hub manager would not act upon: the API server refuses it in the words of the condition.
func TestRefused(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{"east", "west"} {
		d.cluster(name)
	}
	for name, tc := range map[string]struct{ spec, want string }{
		"a good one": {spec: `hard: {pods: "10"}` + all},
		"an unknown name": {
			spec: `hard: {foo: "1"}` + all,
			want: `spec.hard[foo]: Invalid value: "foo": is no resource name that ResourceQuota counts: valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps`,
		},
		"several at once": {
			spec: `hard: {pods: 1500m, nvidia.com/gpu: "8"}` + all,
			want: `spec.hard[nvidia.com/gpu]: Invalid value: "nvidia.com/gpu": is accepted by ResourceQuota and never counted: use requests.nvidia.com/gpu
spec.hard[pods]: Invalid value: "1500m": must be a whole number`,
		},
		"a min above its max": {
			spec: `hard: {pods: "10"}` + all + `distribution: {rules: [{min: {pods: "5"}, max: {pods: "4"}}]}`,
			want: `spec.distribution.rules[0].min[pods]: Invalid value: "5": must be at most spec.distribution.rules[0].max[pods], which is 4`,
		},
		"guarantees that do not fit": {
			spec: `hard: {pods: "10"}` + all + `distribution: {rules: [{min: {pods: "6"}}]}`,
			want: `spec.distribution.rules.min[pods]: Invalid value: "12": the min of clusters OWN-east, OWN-west add up to more than the budget: must be at most 10 in all`,
		},
		"a selector that cannot be read": {
			spec: `hard: {pods: "10"}` + "\nplacement: {clusterSelector: {matchExpressions: [{key: tier, operator: Is}]}}",
			want: `spec.placement.clusterSelector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "DoesNotExist", "Exists", "In", "NotIn"`,
		},
		"a scope that does not apply": {
			spec: `hard: {services: "1"}` + all + "scopes: [BestEffort]",
			want: `spec.scopes[0]: Invalid value: "BestEffort": does not apply to spec.hard[services]: it applies to pods, count/pods and requests.EXTENDED-RESOURCE`,
		},
		"a cluster that is selected and destroyed": {
			spec: `hard: {pods: "10"}` + all + "removal: {destroyed: [OWN-east]}",
			want: `spec.removal.destroyed[0]: Invalid value: "OWN-east": the placement selects this Cluster: a cluster that still runs must not be given up`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Create(t.Context(), d.quota("compute", tc.spec), client.DryRunAll, client.FieldValidation("Strict"))
			if diff := cmp.Diff(tc.want, d.refusal(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOverlap has a second budget of the same scope come, and grow, into a cluster of the first.
func TestOverlap(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{"east", "west"} {
		d.cluster(name)
	}
	in := func(clusters string) string { return "hard: {pods: 1}\nplacement: {clusters: [" + clusters + "]}\n" }
	first := d.quota("first", in("OWN-east"))
	d.must(d.Create(t.Context(), first))
	d.seen(first)
	const refused = `spec.placement: Forbidden: FederatedQuota OWN/first is older and covers the same scope in clusters OWN-east: merge spec.hard into it, or make placement or scopes of the two disjoint`
	if diff := cmp.Diff(refused, d.refusal(d.Create(t.Context(), d.quota("second", in("OWN-east, OWN-west"))))); diff != "" {
		t.Errorf("created -want +got:\n%s", diff)
	}
	d.must(d.Create(t.Context(), d.quota("scoped", in("OWN-east")+"scopes: [BestEffort]")))
	second := d.quota("second", in("OWN-west"))
	d.must(d.Create(t.Context(), second))
	d.seen(second)
	d.setSpec(second, in("OWN-east"))
	if diff := cmp.Diff(refused, d.refusal(d.Update(t.Context(), second))); diff != "" {
		t.Errorf("grown -want +got:\n%s", diff)
	}
	d.setSpec(first, in("OWN-east, OWN-west"))
	const younger = `spec.placement: Forbidden: FederatedQuota OWN/second is younger and covers the same scope in clusters OWN-west: merge spec.hard into it, or make placement or scopes of the two disjoint`
	if diff := cmp.Diff(younger, d.refusal(d.Update(t.Context(), first))); diff != "" {
		t.Errorf("grown -want +got:\n%s", diff)
	}
}

// TestStoredBefore has what was stored unchecked be written, repaired and deleted.
func TestStoredBefore(t *testing.T) {
	d := newDoor(t)
	d.cluster("east")
	bad := d.quota("bad", "hard: {pods: 1, count/typo: 1, nvidia.com/gpu: 1}"+all)
	bad.SetFinalizers([]string{"example.com/before"})
	d.unchecked(func() error { return d.Create(t.Context(), bad) })

	d.setSpec(bad, "hard: {pods: 1, count/typo: 1, nvidia.com/gpu: 1, foo: 1}"+all)
	if got := d.refusal(d.Update(t.Context(), bad.DeepCopy())); got == "" {
		t.Error("a bad spec may become worse")
	}
	d.warned()
	d.setSpec(bad, "hard: {pods: 1, count/typo: 1}"+all)
	d.must(d.Update(t.Context(), bad))
	const kept = `not acted upon, as before: spec.hard[count/typo]: Invalid value: "count/typo": is accepted by ResourceQuota and never counted: the core API group has no countable resource "typo"; valid are count/RESOURCE.GROUP (such as count/deployments.apps) and count/ with one of configmaps, endpoints, limitranges, persistentvolumeclaims, pods, podtemplates, replicationcontrollers, resourcequotas, secrets, serviceaccounts, services`
	if diff := cmp.Diff(kept, d.warned()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	bad.SetLabels(map[string]string{"a": "b"})
	d.must(d.Update(t.Context(), bad))
	bad.Object["status"] = map[string]any{"settled": "0/1"}
	d.must(d.Status().Update(t.Context(), bad))
	d.must(d.Delete(t.Context(), bad))
	d.must(d.Get(t.Context(), client.ObjectKeyFromObject(bad), bad))
	d.setSpec(bad, "hard: {pods: 1, count/typo: 1, foo: 1}"+all)
	d.must(d.Update(t.Context(), bad))
	bad.SetFinalizers(nil)
	d.must(d.Update(t.Context(), bad))
	if got := d.warned(); got != "" {
		t.Errorf("warned of what was not changed: %s", got)
	}
}

// unchecked does what the webhook would refuse, while the API server does not call it.
func (d *door) unchecked(do func() error) {
	d.Helper()
	configuration := webhookConfiguration()
	d.must(d.Get(d.Context(), client.ObjectKeyFromObject(configuration), configuration))
	d.must(d.Delete(d.Context(), configuration))
	for err := do(); err != nil; err = do() {
		if d.Context().Err() != nil {
			d.Fatal(err)
		}
	}
	configuration.ResourceVersion, configuration.UID = "", ""
	d.must(d.Create(d.Context(), configuration))
	for d.Create(d.Context(), d.quota("probe", "hard: {foo: 1}"+all), client.DryRunAll) == nil {
		d.must(d.Context().Err())
	}
	d.warned()
}

// TestWarnings says what is taken and may surprise.
func TestWarnings(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{"east", "west"} {
		d.cluster(name)
	}
	for name, tc := range map[string]struct{ spec, want string }{
		"nothing to tell": {spec: `hard: {pods: "10", requests.storage: 1Gi}` + all},
		"what pods have to state": {
			spec: `hard: {limits.memory: 1Gi, requests.cpu: "10", pods: "1"}` + all,
			want: "spec.hard: namespace OWN refuses pods that do not state limits.memory, requests.cpu in each container, unless a LimitRange there has defaults",
		},
		"nobody selected": {
			spec: "hard: {pods: 10}\nplacement: {clusterSelector: {matchLabels: {no: such}}}",
			want: "spec.placement: selects no Cluster in namespace default now: nothing is limited anywhere",
		},
		"unknown clusters": {
			spec: "hard: {pods: 10}\nplacement: {clusters: [esat, OWN-east]}\ndistribution: {rules: [{clusters: [wset], weight: 2}]}",
			want: "spec.placement.clusters: esat: there is no such Cluster now\nspec.distribution.rules[0].clusters: wset: there is no such Cluster now",
		},
		"little to move": {
			spec: "hard: {pods: 10, services: 10}" + all + "distribution: {rules: [{min: {pods: 5, services: 4}}]}",
			want: "spec.distribution.rules: the min of 2 clusters keep 10 of a budget of 10 pods: no more than the rest goes where it is needed",
		},
		"what is lent moves": {spec: "hard: {pods: 10}" + all + "distribution: {rules: [{min: {pods: 5}, lendable: {pods: 1}}]}"},
		"two rules for one cluster": {
			spec: "hard: {pods: 10}" + all + "distribution: {rules: [{clusters: [OWN-east], weight: 3}, {clusters: [OWN-east], weight: 1}]}",
			want: "spec.distribution.rules[0].weight: does not count for OWN-east, since rules[1] sets it after that: the last rule that matches a cluster counts",
		},
		"less than each namespace has by itself": {
			spec: "hard: {resourcequotas: 1, count/configmaps: 2, count/serviceaccounts: 3}" + all + "reserve: {count/serviceaccounts: 2}",
			want: "spec.hard[count/serviceaccounts]: each of the 2 clusters needs one, since the namespace has one there by itself (default): " +
				"with a budget of 1 there is Debt for good\n" +
				"spec.hard[resourcequotas]: each of the 2 clusters needs one, since the namespace has one there by itself (the ResourceQuota of the budget): " +
				"with a budget of 1 there is Debt for good",
		},
		"what nobody serves": {
			spec: "hard: {count/gadgets.example.com: 1, count/widgets.example.com: 1, count/deployments.apps: 1}" + all,
			want: "spec.hard[count/gadgets.example.com]: none of the clusters OWN-east, OWN-west serves gadgets.example.com: nothing is counted there until one does",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d.must(d.Create(t.Context(), d.quota("compute", tc.spec), client.DryRunAll))
			if diff := cmp.Diff(tc.want, d.warned()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWarningsOfUse has a budget in use be cut, told that a cluster that answers is destroyed, and deleted.
func TestWarningsOfUse(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{"east", "west"} {
		d.cluster(name)
	}
	d.must(d.Create(t.Context(), d.quota("compute", "hard: {pods: 20, services: 5}"+all)))
	fq := &quotav1alpha1.FederatedQuota{}
	key := client.ObjectKey{Namespace: d.namespace, Name: "compute"}
	d.must(d.Get(t.Context(), key, fq))
	amount := func(pods string) corev1.ResourceList { return corev1.ResourceList{"pods": resource.MustParse(pods)} }
	fq.Status.Used = amount("12")
	fq.Status.Clusters = []quotav1alpha1.ClusterStatus{
		{Name: "east", Revision: 2, Used: amount("7"), State: quotav1alpha1.ClusterSettled},
		{Name: "west", Revision: 1, Used: amount("5"), State: quotav1alpha1.ClusterUnreachable},
	}
	d.must(d.Status().Update(t.Context(), fq))
	if got := d.warned(); got != "" {
		t.Errorf("a write of the status is told %s", got)
	}
	update := func(spec, want string) {
		t.Helper()
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
		d.must(d.Get(t.Context(), key, object))
		d.setSpec(object, spec)
		d.must(d.Update(t.Context(), object))
		d.must(d.Get(t.Context(), key, fq))
		d.seen(fq) // the API server judges a deletion by what its cache has, too
		if diff := cmp.Diff(want, d.warned()); diff != "" {
			t.Errorf("%s -want +got:\n%s", spec, diff)
		}
	}
	update("hard: {pods: 10, services: 5}"+all, "spec.hard[pods]: a budget of 10 is below the 12 in use (east 7, west 5): nothing is stopped, and no more is admitted until usage has fallen")
	update("hard: {pods: 10, services: 6}"+all, "")
	update("hard: {pods: 20}"+all+"removal: {destroyed: [east, west]}",
		"spec.removal.destroyed[0]: east answers, it is Settled: while it runs, the fleet may use more than the budget")
	d.must(d.Delete(t.Context(), fq, client.DryRunAll))
	const stays = `spec.removal.policy is Retain: in namespace OWN of clusters east, west, ResourceQuota compute stays with a limit of what is used: nothing more can be created there
to lift that limit, in each cluster: kubectl delete resourcequota -n OWN compute`
	if diff := cmp.Diff(stays, d.warned()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	update("hard: {pods: 20}"+all+"removal: {policy: Delete}", "")
	d.must(d.Delete(t.Context(), fq))
	if diff := cmp.Diff("spec.removal.policy is Delete: namespace OWN of clusters east, west has no limit of this budget any more", d.warned()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBlind has the webhook not see Clusters or budgets: it lets everything through, and says so.
func TestBlind(t *testing.T) {
	d := newDoor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := &Validator{Reader: d.Client, Clusters: members.Namespaces{Home: clusterNamespace}}
	fq := &quotav1alpha1.FederatedQuota{Spec: quotav1alpha1.FederatedQuotaSpec{Hard: corev1.ResourceList{"foo": resource.MustParse("1")}}}
	for name, validate := range map[string]func() ([]string, error){
		"create": func() ([]string, error) { return v.ValidateCreate(ctx, fq) },
		"update": func() ([]string, error) { return v.ValidateUpdate(ctx, &quotav1alpha1.FederatedQuota{}, fq) },
	} {
		if warnings, err := validate(); err != nil || len(warnings) != 1 {
			t.Errorf("%s: got %q, %v", name, warnings, err)
		}
	}
}
