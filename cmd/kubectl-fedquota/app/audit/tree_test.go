package audit

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/observer"
)

// hubOf returns a hub that holds a pool below a pool, and a budget in each.
func hubOf(t *testing.T) client.Client {
	t.Helper()
	read := func(content string, into client.Object) client.Object {
		if err := yaml.UnmarshalStrict([]byte(content), into); err != nil {
			t.Fatal(err)
		}
		return into
	}
	return fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(
		read(`{metadata: {name: acme, uid: a}, spec: {hard: {pods: "20"}, reserve: {pods: "2"}}, status: {granted: {pods: "19"}}}`, &quotav1alpha1.QuotaPool{}),
		read(`{metadata: {name: research, uid: r}, spec: {parent: acme, hard: {pods: "12"}}}`, &quotav1alpha1.QuotaPool{}),
		read(`{metadata: {namespace: vision, name: compute, uid: v}, spec: {pool: {name: research}, hard: {pods: "9"}}, status: {hard: {pods: "4"}, clusters: [{name: east}, {name: west}]}}`, &quotav1alpha1.FederatedQuota{}),
		read(`{metadata: {namespace: shop, name: web, uid: w}, spec: {pool: {name: acme}, hard: {pods: "9"}}, status: {clusters: [{name: east}]}}`, &quotav1alpha1.FederatedQuota{}),
	).Build()
}

// TestTree judges each level by what its spec says, over all ResourceQuotas below it.
func TestTree(t *testing.T) {
	tree, err := treeOf(t.Context(), hubOf(t), "acme")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	report := observer.Report{}
	for _, l := range tree.levels {
		budget, granted := l.Budget["pods"], l.Granted["pods"]
		got[l.Name] = budget.String() + " " + granted.String() + " " + strings.Join(l.Places, ", ")
		report.Levels = append(report.Levels, observer.LevelReport{Name: l.Name, Resources: []observer.ResourceReport{
			{Name: "pods", Budget: budget, Largest: resource.MustParse("7")},
		}})
	}
	for name, want := range map[string]string{
		"acme":           "18 19 shop/web in east, vision/compute in east, vision/compute in west",
		"research":       "12 0 vision/compute in east, vision/compute in west",
		"vision/compute": "9 0 vision/compute in east, vision/compute in west",
		"shop/web":       "9 0 shop/web in east",
	} {
		if got[name] != want {
			t.Errorf("%s is judged by %q, want %q", name, got[name], want)
		}
	}
	report.Ledgers = []observer.LedgerReport{{Name: "QuotaPool/acme", Versions: 3, Resources: []observer.LedgerResource{
		{Name: corev1.ResourcePods, Largest: resource.MustParse("19"), LargestDebt: resource.MustParse("1")},
	}}}
	var out bytes.Buffer
	tree.print(&text.Page{Out: &out}, report)
	for _, want := range []string{
		"watched 2 FederatedQuotas in 2 clusters", "3 of ledgers", "acme", "19", "debt of 1", "├─ shop/web", "└─ research", "   └─ vision/compute",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, out.String())
		}
	}
	t.Log(out.String())
}

// TestTreeChanges sees another spec, and another cluster, below a pool.
func TestTreeChanges(t *testing.T) {
	hub := hubOf(t)
	before, err := treeOf(t.Context(), hub, "acme")
	if err != nil {
		t.Fatal(err)
	}
	fq := &quotav1alpha1.FederatedQuota{}
	if err := hub.Get(t.Context(), client.ObjectKey{Namespace: "vision", Name: "compute"}, fq); err != nil {
		t.Fatal(err)
	}
	fq.Status.Clusters = fq.Status.Clusters[:1]
	if err := hub.Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	after, err := treeOf(t.Context(), hub, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if before.versions["FederatedQuota vision/compute"] == after.versions["FederatedQuota vision/compute"] {
		t.Errorf("a cluster has left, and nothing has changed: %v", after.versions)
	}
	if _, err := treeOf(t.Context(), hub, "none"); err == nil {
		t.Error("there is a tree of no pool")
	}
}
