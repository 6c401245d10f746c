package pool

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// isBelow puts a team into another pool than research.
func (f *fleet) isBelow(name, above string) {
	f.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	f.must(f.Get(f.Context(), client.ObjectKey{Namespace: name, Name: "compute"}, fq))
	fq.Spec.Pool.Name = quotav1alpha1.PoolName(above)
	status := fq.Status
	f.must(f.Update(f.Context(), fq))
	fq.Status = status
	fq.Status.Pool.Name, fq.Status.Pool.UID = fq.Spec.Pool.Name, "u-"+above
	f.must(f.Status().Update(f.Context(), fq))
}

// TestMinFirstAtEveryLevel has retail use all of acme, most of which research lends it, and give back the half of that.
// It goes to research before a sibling that has no min and as little, and in research to the team with a min before the one without.
func TestMinFirstAtEveryLevel(t *testing.T) {
	const min4 = `{hard: {pods: 12}, rebalance: {headroomPercent: 0}, distribution: {rules: [{children: [vision/compute], min: {pods: 4}, lendable: {pods: 4}}]}}`
	teams := map[string]*team{"vision": {hard: 12}, "speech": {hard: 12}, "shop": {hard: 12, needs: 12}, "till": {hard: 12}}
	f := newFleet(t, min4, teams)
	for _, name := range []string{"acme", "retail"} {
		p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name), Generation: 1}}
		p.Spec.Hard, p.Spec.AllowedNamespaces.Selector, p.Spec.Rebalance.HeadroomPercent = pods("12"), &metav1.LabelSelector{}, new(int32(0))
		if name == "acme" {
			p.Spec.Distribution.Rules = []quotav1alpha1.PoolRule{{Children: []quotav1alpha1.ChildName{"research"}, RuleTerms: quotav1alpha1.RuleTerms{Min: pods("4"), Lendable: pods("4")}}}
		} else {
			p.Spec.Parent = "acme"
		}
		f.must(f.Create(t.Context(), p))
	}
	f.isBelow("shop", "retail")
	f.isBelow("till", "acme")
	f.below("research", "acme")
	in := map[string]string{"vision": "research", "speech": "research", "shop": "retail", "till": "acme"}
	play := func() map[string]int64 {
		for range 20 {
			pools := map[string]*quotav1alpha1.QuotaPool{}
			for _, name := range []string{"research", "retail", "acme", "research", "retail"} {
				pools[name] = f.roundOf(name)
			}
			for _, name := range slices.Sorted(maps.Keys(teams)) {
				f.act(name, pools[in[name]])
			}
			f.after(time.Minute)
		}
		uses := map[string]int64{}
		for name, of := range teams {
			uses[name] = of.uses
		}
		return uses
	}
	if diff := cmp.Diff(map[string]int64{"vision": 0, "speech": 0, "shop": 12, "till": 0}, play()); diff != "" {
		t.Errorf("while others are idle (-want +got):\n%s", diff)
	}
	teams["shop"].needs, teams["till"].needs, teams["vision"].needs, teams["speech"].needs = 8, 4, 4, 4
	if diff := cmp.Diff(map[string]int64{"vision": 4, "speech": 0, "shop": 8, "till": 0}, play()); diff != "" {
		t.Errorf("as a part comes back (-want +got):\n%s", diff)
	}
}
