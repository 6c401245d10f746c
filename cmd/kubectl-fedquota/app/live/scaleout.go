package live

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	hubscaleout "github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
	"github.com/fedquota/fedquota/internal/shares"
)

// leftOut says that it is not known which nodes would be added.
const leftOut = "Which nodes would be added is left out: "

// ScaleOut says which nodes would be added now for a budget that is so large, "" for one that does not ask for that.
// The hint says why that is not known.
func (f *Fleet) ScaleOut(
	ctx context.Context, hub client.Reader, fq *quotav1alpha1.FederatedQuota, now amount.List,
) (message, hint string) {
	b := hubscaleout.OfQuota(fq)
	if !b.Asks() {
		return "", ""
	}
	in := b.Input(f.now)
	selected, _ := input.Placed(fq, f.Clusters)
	var clusters []members.Cluster
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		clusters = append(clusters, *selected[name])
		c := scaleout.Cluster{Name: name}
		if m := f.Members[name]; m.Share != nil {
			hubscaleout.AddShare(&c, &m.Share.Status, input.Most(fq, selected[name]), in.Follows)
			bound(ctx, m.Client, &c)
		}
		in.Clusters = append(in.Clusters, c)
	}
	in.Budget = now
	return decide(ctx, hub, in, &b, f.options.Clusters, clusters)
}

// ScaleOutOfPool says which nodes would be added now for a pool that is so large, by what the FederatedQuotas below it
// ask for in members; "" for one that does not ask for that. The hint says what is not known.
func ScaleOutOfPool(
	ctx context.Context, env *cli.Env, hub client.Client, p *quotav1alpha1.QuotaPool,
	below []*quotav1alpha1.FederatedQuota, now amount.List, options *Options,
) (message, hint string) {
	b := hubscaleout.OfPool(p)
	if !b.Asks() {
		return "", ""
	}
	all, err := options.Clusters.List(ctx, hub)
	if err != nil {
		return "", leftOut + err.Error()
	}
	in, clusters := b.Input(env.Clock.Now()), hubscaleout.ClustersOf(p, all)
	in.Budget = now
	answers := make([]*answer, len(clusters))
	for i := range answers {
		answers[i] = &answer{of: &clusters[i]}
	}
	_ = members.ForEach(answers, func(a *answer) error { return a.read(ctx, env, hub, below, in.Follows) })
	var silent []string
	for _, a := range answers {
		if a.asks == nil {
			a.asks, silent = &scaleout.Cluster{Name: a.of.Name}, append(silent, a.of.Name)
		}
		in.Clusters = append(in.Clusters, *a.asks)
	}
	message, hint = decide(ctx, hub, in, &b, options.Clusters, clusters)
	if hint == "" && len(silent) > 0 {
		hint = "What is asked for in clusters that could not be read counts for no nodes: " + shares.Abbreviated(silent) + "."
	}
	return message, hint
}

// decide says what the hub manager would do now.
func decide(
	ctx context.Context, hub client.Reader, in *scaleout.Input, b *hubscaleout.Budget, at members.Namespaces,
	clusters []members.Cluster,
) (message, hint string) {
	var err error
	in.DryRun, in.Patience = true, hubscaleout.DefaultPatience(time.Hour)
	in.Groups, err = hubscaleout.Groups(ctx, hub, at, clusters, b.Rule.ScaleOut.MachineDeploymentSelector)
	if err != nil {
		return "", leftOut + err.Error()
	}
	return scaleout.Decide(in).State.Message, ""
}

// answer is what is asked for in a cluster, nil if it could not be read.
type answer struct {
	of   *members.Cluster
	asks *scaleout.Cluster
}

func (a *answer) read(
	ctx context.Context, env *cli.Env, hub client.Client, below []*quotav1alpha1.FederatedQuota,
	follows []corev1.ResourceName,
) error {
	member, err := env.Member(ctx, hub, client.ObjectKeyFromObject(a.of))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cli.MemberTimeout)
	defer cancel()
	a.asks, err = hubscaleout.Ask(ctx, member, a.of, below, follows)
	if err == nil {
		bound(ctx, member, a.asks)
	}
	return err
}

// bound reads what bounds the nodes of a cluster that asks for some.
func bound(ctx context.Context, member client.Reader, c *scaleout.Cluster) {
	if c.Asks() {
		hubscaleout.Bound(ctx, member, c)
	}
}
