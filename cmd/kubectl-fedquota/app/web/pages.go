package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/explain"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// topic is a page that somebody looks at, and of what.
type topic struct{ page, namespace, name string }

// pages fill the parts of a page.
var pages = map[string]func(*source, context.Context, topic, parts){
	"budgets": (*source).budgetsPage, "budget": (*source).budgetPage, "pools": (*source).poolsPage, "pool": (*source).poolPage,
	"clusters": (*source).clustersPage, "cluster": (*source).clusterPage,
}

// show returns the parts of a page.
func (s *source) show(ctx context.Context, t topic) parts {
	p := parts{"about": s.about()}
	pages[t.page](s, ctx, t, p)
	return p
}

// about is what a reader has to know of all that a page shows.
type about struct {
	// Namespace is the one whose budgets are shown, empty for all.
	Namespace string `json:"namespace,omitempty"`
	// Started is when the command began to remember.
	Started metav1.Time `json:"started"`
	// Missing says what cannot be shown, or may be old, and why.
	Missing []missing `json:"missing,omitempty"`
}

// missing is something that cannot be shown, or may be old.
type missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func (s *source) about() about {
	a := about{Namespace: s.budgets[0].namespace, Started: metav1.NewTime(s.started)}
	for _, f := range s.feeds() {
		switch why := f.said(); {
		case why != "" && f.informer == nil:
			a.Missing = append(a.Missing, missing{f.what + " are not shown", why})
		case why != "":
			a.Missing = append(a.Missing, missing{f.what + " may be old", why})
		case f.limited != "":
			a.Missing = append(a.Missing, missing{fmt.Sprintf("%s of namespace %s alone are shown", f.what, f.namespace), f.limited})
		}
	}
	return a
}

// budgetsPage shows all budgets.
func (s *source) budgetsPage(_ context.Context, _ topic, p parts) {
	for _, fq := range objectsOf[*quotav1alpha1.FederatedQuota](s.budgets) {
		p["row/"+fq.Namespace+"/"+fq.Name] = view.RowOf(fq)
	}
}

// wait is a cluster that asks for more than it has.
type wait struct {
	Cluster  string              `json:"cluster"`
	Resource corev1.ResourceName `json:"resource"`
	Demand   string              `json:"demand"`
	// Since is when it was seen to ask; it may have asked before if that is when the command began.
	Since metav1.Time `json:"since"`
}

// budgetPage shows one budget, its clusters, and why their limits are what they are.
func (s *source) budgetPage(ctx context.Context, t topic, p parts) {
	key := client.ObjectKey{Namespace: t.namespace, Name: t.name}
	fq := find(objectsOf[*quotav1alpha1.FederatedQuota](s.budgets), key)
	if fq == nil {
		return
	}
	b, past := view.BudgetOf(fq, view.Only{}), s.memory.recall(key)
	for _, c := range b.Clusters {
		p["cluster/"+c.Name] = c
		for _, a := range c.Resources {
			if since, waits := past.since[claim{c.Name, a.Resource}]; waits && a.Demand != "" {
				p[fmt.Sprintf("wait/%s/%s", a.Resource, c.Name)] = wait{c.Name, a.Resource, a.Demand, since}
			}
		}
	}
	b.Clusters, b.Pool = nil, cli.PoolOf(ctx, reader{s}, fq, view.Only{})
	p["head"] = b
	for _, sample := range past.samples {
		p[fmt.Sprintf("sample/%d", sample.At)] = sample
	}
	for i, m := range past.moves {
		p[fmt.Sprintf("move/%s/%d", m.Key, i)] = m
	}
	fleet, err := live.ReadHub(ctx, reader{s}, s.clock.Now(), key, fq, s.live)
	if err != nil {
		p["unexplained"] = cmp.Or(cli.MissingRight(err), err.Error())
		return
	}
	explained(explain.Of(ctx, reader{s}, fq, fleet, view.Only{}), p)
}

// explained adds an explanation, with a part for each limit.
func explained(e *view.Explanation, p parts) {
	for i := range e.Resources {
		r := &e.Resources[i]
		for _, limit := range r.Limits {
			p[fmt.Sprintf("limit/%s/%s", r.Resource, limit.Cluster+limit.Child)] = limit
		}
		r.Limits = nil
	}
	p["explanation"] = e
}

// poolsPage shows pools, and what is below them.
func (s *source) poolsPage(_ context.Context, _ topic, p parts) {
	var pools quotav1alpha1.QuotaPoolList
	var quotas quotav1alpha1.FederatedQuotaList
	_ = fill(&pools.Items, s.pools, "", func(o *quotav1alpha1.QuotaPool) quotav1alpha1.QuotaPool { return *o })
	_ = fill(&quotas.Items, s.budgets, "", func(o *quotav1alpha1.FederatedQuota) quotav1alpha1.FederatedQuota { return *o })
	for _, tree := range view.ForestOf(pools.Items, quotas.Items, view.Only{}).Trees("") {
		p["tree/"+tree.Name] = tree
	}
}

// poolPage shows one pool, and why its children have what they have.
func (s *source) poolPage(ctx context.Context, t topic, p parts) {
	pool := find(objectsOf[*quotav1alpha1.QuotaPool](s.pools), client.ObjectKey{Name: t.name})
	if pool == nil {
		return
	}
	b := view.PoolBudgetOf(pool, view.Only{})
	for _, c := range b.Children {
		p["cluster/"+c.Name] = c
	}
	b.Children, b.Parent = nil, cli.ParentOf(ctx, reader{s}, pool, view.Only{})
	p["head"] = b
	e, err := explain.OfPool(ctx, reader{s}, s.clock.Now(), pool, view.Only{})
	if err != nil {
		p["unexplained"] = err.Error()
		return
	}
	explained(e, p)
}

// find returns the object of a name, nil if there is none.
func find[T client.Object](objects []T, key client.ObjectKey) T {
	i := slices.IndexFunc(objects, func(o T) bool { return client.ObjectKeyFromObject(o) == key })
	if i < 0 {
		return *new(T)
	}
	return objects[i]
}
