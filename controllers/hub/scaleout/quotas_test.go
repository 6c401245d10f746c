package scaleout

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/nodegroup"
)

// bounded is a hub whose member has CapacityQuotas in a real API server, which the hub manager reads by its account there.
type bounded struct {
	*hub

	budget client.ObjectKey
}

// TestCapacityQuota has a CapacityQuota bound what is added, once its kind is served and may be read. In a dry run, so
// that each time the same is asked for.
func TestCapacityQuota(t *testing.T) {
	b := &bounded{hub: newHub(t)}
	b.reads()
	b.workers("3")
	b.budget = b.quota(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Capacity.ScaleOut.DryRun = new(true) })

	b.says(quotav1alpha1.ReasonWouldScaleOut, "no room for")
	b.serves("v1alpha1")
	b.says(quotav1alpha1.ReasonAtCapacityQuota, "the CapacityQuotas of Cluster east cannot be read", "forbidden")
	b.permits()
	b.says(quotav1alpha1.ReasonWouldScaleOut, "no room for")

	q := b.ofNodes(3)
	b.says(quotav1alpha1.ReasonAtCapacityQuota, "CapacityQuota total does not say how much of its memory is used")
	b.uses(q, map[string]any{"nodes": "2", "memory": "32Gi"})
	b.says(quotav1alpha1.ReasonWouldScaleOut, "from 0 to 1 replicas")
	b.serves("v1alpha1", "v1beta1")
	b.allows(q, 2)
	b.says(quotav1alpha1.ReasonAtCapacityQuota, "CapacityQuota total allows 2 of nodes, 2 are there, and 0 on the way")
	c := apimeta.FindStatusCondition(b.read(b.budget).Status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	if c == nil || c.Reason != quotav1alpha1.ReasonAtCapacityQuota {
		t.Errorf("the condition is %+v", c)
	}

	b.selects(q, "team")
	b.says(quotav1alpha1.ReasonAtCapacityQuota, "nobody says what they have as label pool")
	b.labels("pool=shared")
	b.says(quotav1alpha1.ReasonWouldScaleOut, "no room for")
}

// reads has the member's lists be read from the API server, as the user that the hub manager is in a member.
func (b *bounded) reads() {
	b.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:fedquota-system:fedquota-hub", Groups: []string{"system:authenticated"},
	}
	account, err := client.New(as, client.Options{Scheme: schemes.All()})
	b.must(err)
	member := interceptor.NewClient(b.member.(client.WithWatch), interceptor.Funcs{List: func(
		ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption,
	) error {
		return account.List(ctx, list, options...)
	}})
	at := client.ObjectKey{Namespace: b.namespace, Name: "east"}
	b.r.Members = clustercache.NewFakeClusterCache(member, at)
}

// says looks at the budget, and demands what is told.
func (b *bounded) says(reason string, parts ...string) {
	b.Helper()
	if _, err := b.r.Reconcile(b.Context(), ctrl.Request{NamespacedName: b.budget}); err != nil {
		b.Fatal(err)
	}
	b.clock.Step(time.Minute)
	told := b.read(b.budget).Status.ScaleOut
	lacks := func(part string) bool { return !strings.Contains(told.Message, part) }
	if told.Reason != reason || slices.ContainsFunc(parts, lacks) {
		b.Fatalf("told is %s: %s; want %s: %q", told.Reason, told.Message, reason, parts)
	}
}

// serves has the API server serve CapacityQuotas in these versions, until the test ends.
func (b *bounded) serves(versions ...string) {
	b.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{filepath.Join("testdata", "capacityquotas.yaml")}, ErrorIfPathMissing: true}
	b.must(envtest.ReadCRDFiles(&options))
	crd := options.CRDs[0]
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Served = slices.Contains(versions, v.Name)
	}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: options.CRDs, MaxTime: time.Minute})
	b.must(err)
	b.Cleanup(func() { b.removes(crd) })
}

// removes deletes a CRD, and waits until it is gone.
func (b *bounded) removes(crd *apiextensionsv1.CustomResourceDefinition) {
	b.must(envtest.UninstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}))
	gone := &metav1.PartialObjectMetadata{}
	gone.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	ctx := context.WithoutCancel(b.Context())
	b.must(wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := b.Get(ctx, client.ObjectKeyFromObject(crd), gone)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))
}

// permits gives the hub's account in members its right, as a hub manager with --scale-out installs it.
func (b *bounded) permits() {
	b.Helper()
	objects, err := bundle.Objects(bundle.Options{Image: "i", ScaleOut: true})
	b.must(err)
	for _, object := range objects {
		if object.GetName() == "fedquota-hub-scaleout-in-member" {
			b.create(object)
			b.Cleanup(func() { b.must(b.Delete(context.WithoutCancel(b.Context()), object)) })
		}
	}
}

// ofNodes makes a CapacityQuota of so many nodes, and of memory.
func (b *bounded) ofNodes(nodes int64) *unstructured.Unstructured {
	b.Helper()
	q := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"limits": map[string]any{"resources": map[string]any{"nodes": nodes, "memory": "1Ti"}}},
	}}
	q.SetAPIVersion("autoscaling.x-k8s.io/v1alpha1")
	q.SetKind("CapacityQuota")
	q.SetName("total")
	b.create(q)
	return q
}

// uses has the autoscaler say what is used.
func (b *bounded) uses(q *unstructured.Unstructured, used map[string]any) {
	b.Helper()
	b.must(unstructured.SetNestedMap(q.Object, used, "status", "used", "resources"))
	b.must(b.Status().Update(b.Context(), q))
}

func (b *bounded) allows(q *unstructured.Unstructured, nodes int64) {
	b.Helper()
	b.must(unstructured.SetNestedField(q.Object, nodes, "spec", "limits", "resources", "nodes"))
	b.must(b.Update(b.Context(), q))
}

// selects has the quota count the nodes of a pool alone.
func (b *bounded) selects(q *unstructured.Unstructured, pool string) {
	b.Helper()
	b.must(unstructured.SetNestedStringMap(q.Object, map[string]string{"pool": pool}, "spec", "selector", "matchLabels"))
	b.must(b.Update(b.Context(), q))
}

// labels states the labels of the nodes of the MachineDeployment.
func (b *bounded) labels(stated string) {
	b.Helper()
	d := &clusterv1.MachineDeployment{}
	b.must(b.Get(b.Context(), client.ObjectKey{Namespace: b.namespace, Name: "workers"}, d))
	d.Annotations[nodegroup.LabelsAnnotation] = stated
	b.must(b.Update(b.Context(), d))
}

// TestLabelsOf has labels come from Cluster API, as far as it gives them to nodes, and from what is stated.
func TestLabelsOf(t *testing.T) {
	d := &clusterv1.MachineDeployment{}
	d.Spec.Template.Labels = map[string]string{
		"pool": "machines", "node-role.kubernetes.io/gpu": "", "rack.node.cluster.x-k8s.io/row": "4", "node.cluster.x-k8s.io/zone": "a",
	}
	d.Annotations = map[string]string{nodegroup.LabelsAnnotation: "node.cluster.x-k8s.io/zone=b,tier=prod,none"}
	want := labels.Set{
		"node-role.kubernetes.io/gpu": "", "rack.node.cluster.x-k8s.io/row": "4", "node.cluster.x-k8s.io/zone": "b", "tier": "prod",
	}
	if diff := cmp.Diff(want, labelsOf(d)); diff != "" {
		t.Error(diff)
	}
}

// TestUnreadableQuotas has what nobody can read be told, and not be left out.
func TestUnreadableQuotas(t *testing.T) {
	for want, spec := range map[string]map[string]any{
		"it has a number that nobody can read": {"limits": map[string]any{"resources": map[string]any{"cpu": "1e999999999"}}},
		"cannot unmarshal":                     {"limits": map[string]any{"resources": "all"}},
		"its selector": {"selector": map[string]any{
			"matchExpressions": []any{map[string]any{"key": "pool", "operator": "Like"}},
		}},
	} {
		_, err := quotaOf(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
