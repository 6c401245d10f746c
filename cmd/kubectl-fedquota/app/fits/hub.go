package fits

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/forecast"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/round"
	"github.com/fedquota/fedquota/internal/shares"
)

// onHub returns where pods fit, of all clusters that a budget which counts them selects.
func (o *Options) onHub(
	ctx context.Context, hub client.Client, namespace string,
	template *corev1.PodTemplateSpec, replicas int64, budgets []quotav1alpha1.FederatedQuota,
) ([]view.ClusterFit, error) {
	pod := charge.PodOf(namespace, template, nil)
	places, selected := map[string]view.ClusterFit{}, sets.New[string]()
	for i := range budgets {
		fq := &budgets[i]
		if !charge.Counts(pod, quotaSpec(&fq.Spec)) {
			continue
		}
		fleet, err := live.Read(ctx, o.env, hub, client.ObjectKeyFromObject(fq), fq, o.live)
		if err != nil {
			return nil, err
		}
		for _, hint := range fleet.Hints {
			_, _ = fmt.Fprintln(o.env.ErrOut, hint)
		}
		in := fleet.Input(fq)
		for i := range in.Children {
			if in.Children[i].Selected {
				selected.Insert(in.Children[i].Name)
			}
		}
		if err := o.ofBudget(in, fq, pod, replicas, places); err != nil {
			return nil, err
		}
	}
	if o.cluster != "" && len(selected) > 0 && !selected.Has(o.cluster) {
		return nil, fmt.Errorf("--cluster %s: no FederatedQuota that counts these pods selects it, they select %s",
			o.cluster, shares.Abbreviated(sets.List(selected)))
	}
	return slices.SortedFunc(maps.Values(places), func(a, b view.ClusterFit) int {
		return cmp.Or(cmp.Compare(b.AtOnce, a.AtOnce), cmp.Compare(b.AfterRaise, a.AfterRaise),
			cmp.Compare(a.Cluster, b.Cluster))
	}), nil
}

// ofBudget adds what one budget lets into each cluster: where several count a pod, each has to have room.
func (o *Options) ofBudget(
	in *shares.Input, fq *quotav1alpha1.FederatedQuota, pod *corev1.Pod, replicas int64,
	places map[string]view.ClusterFit,
) error {
	cost := charge.Of(pod, quotaSpec(&fq.Spec))
	for i := range in.Children {
		c := &in.Children[i]
		if !c.Selected || o.cluster != "" && c.Name != o.cluster {
			continue
		}
		p, err := ofChild(*in, c, cost, replicas)
		if err != nil {
			return err
		}
		if unset := nativequota.Unstated(pod, quotaSpec(&fq.Spec), fq.Spec.Hard); len(unset) > 0 {
			p.AtOnce, p.AfterRaise, p.Note = 0, 0, fmt.Sprintf("the pod does not set %v, and native quota demands it", unset)
		}
		if other, known := places[c.Name]; known {
			p.AtOnce, p.AfterRaise = min(p.AtOnce, other.AtOnce), min(p.AfterRaise, other.AfterRaise)
			p.Note = cmp.Or(other.Note, p.Note)
		}
		places[c.Name] = p
	}
	return nil
}

// ofChild returns how many pods fit into a cluster: as limits are, and as far as they go up if it asks for them.
func ofChild(in shares.Input, c *shares.Child, cost amount.List, replicas int64) (view.ClusterFit, error) {
	p := view.ClusterFit{Cluster: c.Name}
	share := c.Reading.Share
	if c.Reading.Failure != "" || share == nil {
		p.Note = cmp.Or(c.Reading.Failure, c.Reading.HeldBack.Message, "it has no share yet")
		return p, nil
	}
	if share.Report.Revision > 0 {
		p.AtOnce = charge.Room(cost, share.Report.Used, share.Report.Hard)
	}
	outcome, err := forecast.Play(asking(in, c.Name, cost.Times(replicas), cost), nil)
	if err != nil {
		return p, err
	}
	entry, _ := outcome.Rest.Ledger.Entry(c.Name)
	p.AfterRaise = charge.Room(cost, share.Report.Used, entry.Target)
	if p.AfterRaise < replicas {
		p.Note = shortOf(cost, share.Report.Used, entry.Target, in.Formats, replicas)
	}
	return p, nil
}

// asking returns the input in which a child asks for pods beyond what it asks for anyway.
func asking(in shares.Input, child string, amounts, unit amount.List) shares.Input {
	in.Children = slices.Clone(in.Children)
	for i := range in.Children {
		c := &in.Children[i]
		if c.Name != child {
			continue
		}
		share := *c.Reading.Share
		share.Demand = amount.Sum(share.Demand, amounts)
		share.Shapes = append(slices.Clone(share.Shapes), round.Shape{Amounts: amounts, Unit: unit})
		c.Reading.Share = &share
	}
	return in
}

// shortOf says which resource has the least room for pods.
func shortOf(cost, used, limits amount.List, like corev1.ResourceList, replicas int64) string {
	least, short := int64(math.MaxInt64), corev1.ResourceName("")
	for _, name := range cost.Names() {
		if room := charge.Room(amount.List{name: cost[name]}, used, limits); room < least {
			least, short = room, name
		}
	}
	if short == "" || least >= replicas {
		return ""
	}
	left := amount.ToQuantity(short, max(0, limits[short]-used[short]), like[short].Format)
	asks := amount.ToQuantity(short, cost[short], like[short].Format)
	return fmt.Sprintf("%s: %s left there, and a pod asks for %s", short, left.String(), asks.String())
}
