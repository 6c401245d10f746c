package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/observer"
)

// tree is a pool, and all that is below it.
type tree struct {
	root *view.Node
	// places says by name in which cluster each ResourceQuota is, and of which FederatedQuota.
	places map[string]place
	// levels are those of the pools and FederatedQuotas, from the root down.
	levels  []observer.Level
	ledgers []observer.Ledger
	// versions says of which generation and object each level is.
	versions map[string]string
}

type place struct {
	cluster string
	quota   client.ObjectKey
}

// treeOf reads a pool, and all that is below it.
func treeOf(ctx context.Context, hub client.Client, name string) (*tree, error) {
	var pools quotav1alpha1.QuotaPoolList
	if err := hub.List(ctx, &pools); err != nil {
		return nil, cli.Served(err)
	}
	var quotas quotav1alpha1.FederatedQuotaList
	if err := hub.List(ctx, &quotas); err != nil {
		return nil, err
	}
	trees := view.ForestOf(pools.Items, quotas.Items, view.Only{}).Trees(name)
	if len(trees) == 0 {
		return nil, cli.NoPool(name, pools.Items)
	}
	t := &tree{root: trees[0], places: map[string]place{}, versions: map[string]string{}}
	t.take(trees[0], pools.Items, quotas.Items)
	return t, nil
}

// take adds the level of a node, and those below it, and returns the places below it.
func (t *tree) take(n *view.Node, pools []quotav1alpha1.QuotaPool, quotas []quotav1alpha1.FederatedQuota) []string {
	at := len(t.levels)
	t.levels = append(t.levels, observer.Level{Name: n.Title()})
	level := observer.Level{Name: n.Title()}
	var object client.Object
	if p := find(pools, n); p != nil && n.Kind == "QuotaPool" {
		level.Budget, level.Granted, object = view.OwnOfPool(p), p.Status.Granted, p
	}
	if fq := find(quotas, n); fq != nil && n.Kind == "FederatedQuota" {
		level.Budget, level.Granted, object = view.OwnOf(fq), fq.Status.Granted, fq
		for _, c := range fq.Status.Clusters {
			name := fq.Namespace + "/" + fq.Name + " in " + string(c.Name)
			t.places[name] = place{string(c.Name), client.ObjectKeyFromObject(fq)}
			level.Places = append(level.Places, name)
		}
	}
	if object != nil {
		t.versions[n.Kind+" "+level.Name] = fmt.Sprint(object.GetUID(), object.GetGeneration(), level.Places)
		t.ledgers = append(t.ledgers, observer.Ledger{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name})
	}
	for _, child := range n.Children {
		level.Places = append(level.Places, t.take(child, pools, quotas)...)
	}
	t.levels[at] = level
	return level.Places
}

// find returns the object of a node, nil if there is none.
func find[T any, P interface {
	*T
	client.Object
}](items []T, n *view.Node) P {
	for i := range items {
		if o := P(&items[i]); o.GetNamespace() == n.Namespace && o.GetName() == n.Name {
			return o
		}
	}
	return nil
}

// runTree watches a pool, and all that is below it.
func (o *Options) runTree(ctx context.Context, hub client.Client, name string) error {
	before, err := treeOf(ctx, hub, name)
	if err != nil {
		return err
	}
	options, err := o.treeOptions(ctx, hub, before)
	if err != nil {
		return err
	}
	report, err := watch(ctx, options, time.Duration(o.duration))
	if err != nil {
		return err
	}
	after, err := treeOf(context.WithoutCancel(ctx), hub, name)
	if err != nil {
		return err
	}
	if !maps.Equal(before.versions, after.versions) {
		return errChanged
	}
	return o.conclude(report, before.print)
}

// treeOptions returns what to watch of a tree.
func (o *Options) treeOptions(ctx context.Context, hub client.Client, t *tree) (observer.Options, error) {
	config, err := o.env.Config.ToRESTConfig()
	if err != nil {
		return observer.Options{}, err
	}
	options := observer.Options{
		Places: map[string]observer.Place{}, Levels: t.levels, Hub: config, Ledgers: t.ledgers, OnExcess: o.alarm,
	}
	for name, p := range t.places {
		config, err := cli.WayTo(ctx, hub, o.live.Clusters.Key(p.cluster))
		if err != nil {
			return options, err
		}
		options.Places[name] = observer.Place{Config: config, Namespace: p.quota.Namespace, Name: p.quota.Name}
	}
	if len(options.Places) == 0 {
		return options, fmt.Errorf("below QuotaPool %s there is no FederatedQuota that has clusters", t.root.Name)
	}
	return options, nil
}

// print prints what was seen of a tree.
func (t *tree) print(page *text.Page, report observer.Report) {
	clusters, budgets, decided := sets.New[string](), sets.New[client.ObjectKey](), 0
	for _, p := range t.places {
		clusters.Insert(p.cluster)
		budgets.Insert(p.quota)
	}
	for i := range report.Ledgers {
		decided += report.Ledgers[i].Versions
	}
	page.Paragraph(0, text.Plain, fmt.Sprintf("QuotaPool %s: watched %d FederatedQuotas in %d clusters for %s, "+
		"%d versions of their ResourceQuotas and %d of ledgers",
		t.root.Name, len(budgets), len(clusters), lengthOf(report), versionsOf(report), decided))
	page.Printf("\n")
	table := &text.Table{Header: []string{
		"NAME", "RESOURCE", "BUDGET", "MOST GRANTED", "LARGEST SUM", "EXCEEDED", "SUSPECTED", "",
	}}
	t.root.Draw(func(n *view.Node, first, others string) { add(table, n, report, first, others) })
	page.Print(table)
}

// add adds the lines of a node behind its branches.
func add(table *text.Table, n *view.Node, report observer.Report, first, others string) {
	head := first + n.Title()
	own := func(l observer.LevelReport) bool { return l.Name == n.Title() }
	level := report.Levels[slices.IndexFunc(report.Levels, own)]
	for i := range level.Resources {
		r := &level.Resources[i]
		granted := grantedOf(report, n, r)
		cells := text.Plains(head, string(r.Name), r.Budget.String(), cmp.Or(granted.text, "-"), r.Largest.String())
		table.Cells(append(append(cells, exceeded(r)...), granted.debt)...)
		head = others
	}
	if len(level.Resources) == 0 {
		table.Cells(append(text.Plains(head), text.Plains("", "", "", "", "", "", "")...)...)
	}
}

// granted is the most that a ledger granted.
type granted struct {
	text string
	debt text.Cell
}

// grantedOf returns what the ledger of a node granted of a resource, as far as that was seen.
func grantedOf(report observer.Report, n *view.Node, of *observer.ResourceReport) granted {
	for _, l := range report.Ledgers {
		if l.Name != n.Kind+"/"+n.Title() {
			continue
		}
		for _, r := range l.Resources {
			if r.Name != of.Name {
				continue
			}
			g := granted{text: r.Largest.String()}
			if r.LargestDebt.Sign() > 0 {
				g.debt = text.Cell{Text: "debt of " + r.LargestDebt.String(), Style: text.Yellow}
			}
			return g
		}
	}
	return granted{}
}
