package pool

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pool"
)

// team is the FederatedQuota of a namespace, whose clusters are played: they use what they need as far as they may.
type team struct {
	hard, needs, uses int64
}

// fleet is a pool above teams, by namespace.
type fleet struct {
	*world

	teams map[string]*team
	// granted is what the pool had granted at most, and revisions are those that it has given.
	granted   int64
	revisions map[int64]bool
}

func newFleet(t *testing.T, spec string, teams map[string]*team) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t), teams: teams, revisions: map[int64]bool{}}
	f.split(spec)
	for name, of := range teams {
		f.must(client.IgnoreAlreadyExists(f.Create(t.Context(), namespace(name))))
		fq := f.announces(name, "0")
		fq.Spec.Hard, fq.Status.Used = quantity(of.hard), quantity(of.uses)
		status := fq.Status
		f.must(f.Update(t.Context(), fq))
		status.Clusters[0].Granted, status.Granted, fq.Status = quantity(of.uses), quantity(of.uses), status
		f.must(f.Status().Update(t.Context(), fq))
	}
	return f
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// split gives the pool another spec.
func (f *fleet) split(spec string) {
	f.Helper()
	p := &quotav1alpha1.QuotaPool{}
	f.must(f.Get(f.Context(), client.ObjectKey{Name: "research"}, p))
	p.Spec = quotav1alpha1.QuotaPoolSpec{}
	f.must(yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	p.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{}
	f.must(f.Update(f.Context(), p))
}

func quantity(count int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(count, resource.DecimalSI)}
}

// play has all act until nothing moves any more, and returns what each team has in the pool.
func (f *fleet) play() map[string]int64 {
	f.Helper()
	for range 12 {
		p := f.round()
		f.sums(p)
		for _, name := range slices.Sorted(maps.Keys(f.teams)) {
			f.act(name, p)
		}
		f.r.Clock.(*clocktesting.FakeClock).Step(time.Minute)
	}
	has := map[string]int64{}
	for _, c := range f.round().Status.Children {
		name := string(nameOf(string(c.Key)))
		has[name[:len(name)-len("/compute")]] = amount.Saturate(c.Granted, amount.Up)[corev1.ResourcePods]
	}
	return has
}

// sums holds a version of the pool to what its children are: their sum is its own.
func (f *fleet) sums(p *quotav1alpha1.QuotaPool) {
	f.Helper()
	var sum, used int64
	for _, c := range p.Status.Children {
		sum += amount.Saturate(c.Granted, amount.Up)[corev1.ResourcePods]
		used += amount.Saturate(c.Used, amount.Up)[corev1.ResourcePods]
		f.revisions[c.Revision] = true
	}
	granted, uses := p.Status.Granted[corev1.ResourcePods], p.Status.Used[corev1.ResourcePods]
	if granted.Value() != sum || uses.Value() != used {
		f.Errorf("the pool says that %s are granted and %s used, its children %d and %d", granted.String(), uses.String(), sum, used)
	}
	f.granted = max(f.granted, sum)
}

// act has a team take up what the pool offers, and its clusters use it.
func (f *fleet) act(name string, p *quotav1alpha1.QuotaPool) {
	f.Helper()
	fq, key := &quotav1alpha1.FederatedQuota{}, client.ObjectKey{Namespace: name, Name: "compute"}
	f.must(f.Get(f.Context(), key, fq))
	m, of := pool.MembershipOf(fq.Status.Pool), f.teams[name]
	if offer, ok := pool.OfferTo(pool.QuotaKey(name, "compute"), p); ok {
		m, _ = m.TakeUp(string(fq.UID), offer)
	}
	if of.uses = min(of.uses, of.needs); !m.Frozen() {
		of.uses = max(of.uses, min(of.needs, of.hard, m.Cap[corev1.ResourcePods]))
	}
	fq.Status.Pool = m.Stored(nil)
	fq.Status.Used, fq.Status.Demand = quantity(of.uses), quantity(of.needs-of.uses)
	fq.Status.Granted, fq.Status.Clusters[0].Granted = quantity(of.uses), quantity(of.uses)
	f.must(f.Status().Update(f.Context(), fq))
}

// TestCasesThatBrokeOthers has a row for each case in which quotas of trees, or what resembles them, were wrong.
func TestCasesThatBrokeOthers(t *testing.T) {
	many := map[string]*team{"bad": {hard: 200, needs: 200}}
	fair := map[string]int64{"bad": 10}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		many[name], fair[name] = &team{hard: 10, needs: 10}, 10
	}
	for name, tc := range map[string]struct {
		spec  string
		teams map[string]*team
		// then changes something, and want is what teams have before and after.
		then func(f *fleet)
		want []map[string]int64
		most int64
	}{
		"capsule#1977: all is granted, and ten times as much is asked for": {
			spec: `{hard: {pods: 10}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{"a": {hard: 100, needs: 10}},
			then: func(f *fleet) { f.teams["a"].needs = 100 },
			want: []map[string]int64{{"a": 10}, {"a": 10}}, most: 10,
		},
		"volcano#5634: a min where there is none above": {
			spec:  `{hard: {pods: 10}, rebalance: {headroomPercent: 0}, distribution: {rules: [{children: [a/compute], min: {pods: 2}, lendable: {pods: 0}}]}}`,
			teams: map[string]*team{"a": {hard: 10}, "b": {hard: 10, needs: 10}},
			want:  []map[string]int64{{"a": 2, "b": 8}}, most: 10,
		},
		"volcano#4819: one child asks for more than there is, among nine that do not": {
			spec:  `{hard: {pods: 100}, rebalance: {headroomPercent: 0}, distribution: {rules: [{children: [bad/compute], max: {pods: 200}}]}}`,
			teams: many, want: []map[string]int64{fair}, most: 100,
		},
		"volcano#4118: two ask for all at once": {
			spec: `{hard: {pods: 2}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{"a": {hard: 2, needs: 2}, "b": {hard: 2, needs: 2}},
			want: []map[string]int64{{"a": 1, "b": 1}}, most: 2,
		},
		"kueue#5289: what children have does not add to what the pool has": {
			spec: `{hard: {pods: 4}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{"a": {hard: 2, needs: 8}, "b": {hard: 2, needs: 8}},
			want: []map[string]int64{{"a": 2, "b": 2}}, most: 4,
		},
		"koordinator#2117: what is lent comes back as it ends": {
			spec:  `{hard: {pods: 10}, rebalance: {headroomPercent: 0}, distribution: {rules: [{min: {pods: 5}, lendable: {pods: 5}}]}}`,
			teams: map[string]*team{"a": {hard: 10, needs: 10}, "b": {hard: 10}},
			then:  func(f *fleet) { f.teams["a"].needs, f.teams["b"].needs = 4, 5 },
			want:  []map[string]int64{{"a": 10, "b": 0}, {"a": 5, "b": 5}}, most: 10,
		},
		"what was lent comes back to who has a min first": {
			spec:  `{hard: {pods: 12}, rebalance: {headroomPercent: 0}, distribution: {rules: [{children: [b/compute], min: {pods: 4}, lendable: {pods: 4}}]}}`,
			teams: map[string]*team{"a": {hard: 12, needs: 12}, "b": {hard: 12}, "c": {hard: 12}},
			then:  func(f *fleet) { f.teams["a"].needs, f.teams["b"].needs, f.teams["c"].needs = 8, 4, 4 },
			want:  []map[string]int64{{"a": 12, "b": 0, "c": 0}, {"a": 8, "b": 4, "c": 0}}, most: 12,
		},
		"rancher#17253: one has more than its part": {
			spec: `{hard: {pods: 12}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{"a": {hard: 4, needs: 8, uses: 8}, "b": {hard: 6, needs: 3}, "c": {hard: 6, needs: 1}},
			want: []map[string]int64{{"a": 8, "b": 3, "c": 1}}, most: 12,
		},
		"capsule#465: the pool has less from now on": {
			spec: `{hard: {pods: 12}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{"a": {hard: 12, needs: 6}, "b": {hard: 12, needs: 6}},
			then: func(f *fleet) {
				f.split(`{hard: {pods: 8}, rebalance: {headroomPercent: 0}}`)
				f.teams["a"].needs, f.teams["b"].needs = 4, 4
			},
			want: []map[string]int64{{"a": 6, "b": 6}, {"a": 4, "b": 4}}, most: 12,
		},
		"kueue#10131: three that may have all": {
			spec: `{hard: {pods: 9}, rebalance: {headroomPercent: 0}}`, teams: map[string]*team{
				"a": {hard: 99999, needs: 99999}, "b": {hard: 99999, needs: 99999}, "c": {hard: 99999, needs: 99999},
			},
			want: []map[string]int64{{"a": 3, "b": 3, "c": 3}}, most: 9,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, tc.spec, tc.teams)
			for i, want := range tc.want {
				if i > 0 {
					tc.then(f)
				}
				if diff := cmp.Diff(want, f.play()); diff != "" {
					t.Errorf("%d: -want +got:\n%s", i, diff)
				}
			}
			if f.granted > tc.most {
				t.Errorf("%d were granted, of %d", f.granted, tc.most)
			}
		})
	}
}

// TestAllAreDeletedAtOnce has three go together (origin#11626): at each version the pool has what its children have.
func TestAllAreDeletedAtOnce(t *testing.T) {
	f := newFleet(t, `{hard: {pods: 9}}`, map[string]*team{"a": {hard: 3, needs: 3}, "b": {hard: 3, needs: 3}, "c": {hard: 3, needs: 3}})
	f.play()
	for name := range f.teams {
		f.must(f.Delete(t.Context(), &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "compute", UID: types.UID("u-" + name)}}))
		f.sums(f.round())
	}
	if p := f.round(); len(p.Status.Children) > 0 || !amount.Saturate(p.Status.Used, amount.Up).IsZero() {
		t.Errorf("children %v, used %v", granted(p), p.Status.Used)
	}
}
