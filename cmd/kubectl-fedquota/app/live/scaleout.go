package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// step is what a step for a budget is decided on.
type step struct {
	*scaleout.Input

	clusters []members.Cluster
}

// decide says which nodes would be added now.
func (s *step) decide(
	ctx context.Context, hub client.Reader, b *hubscaleout.Budget, now amount.List, options *Options,
) (message string, err error) {
	s.Budget, s.DryRun, s.Patience = now, true, hubscaleout.DefaultPatience(time.Hour)
	selector := b.Rule.ScaleOut.MachineDeploymentSelector
	s.Groups, err = hubscaleout.Groups(ctx, hub, options.Clusters, s.clusters, selector)
	return scaleout.Decide(s.Input).State.Message, err
}

// ScaleOut says which nodes would be added now for a budget that is so large, "" for one that does not ask for that.
func (f *Fleet) ScaleOut(
	ctx context.Context, hub client.Reader, fq *quotav1alpha1.FederatedQuota, now amount.List,
) (string, error) {
	b := hubscaleout.OfQuota(fq)
	if !b.Asks() {
		return "", nil
	}
	s := &step{Input: b.Input(f.now)}
	selected, _ := input.Placed(fq, f.Clusters)
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		c := scaleout.Cluster{Name: name}
		if share := f.Members[name].Share; share != nil {
			hubscaleout.AddShare(&c, &share.Status, input.Most(fq, selected[name]), s.Follows)
		}
		s.Clusters, s.clusters = append(s.Clusters, c), append(s.clusters, *selected[name])
	}
	return s.decide(ctx, hub, &b, now, &f.options)
}

// ScaleOutOfPool says which nodes would be added now for a pool that is so large, by what the FederatedQuotas below it ask
// for in members; "" for one that does not ask for that. The hint says what could not be read.
func ScaleOutOfPool(
	ctx context.Context, env *cli.Env, hub client.Client, p *quotav1alpha1.QuotaPool,
	below []*quotav1alpha1.FederatedQuota, now amount.List, options *Options,
) (message, hint string, err error) {
	b := hubscaleout.OfPool(p)
	if !b.Asks() {
		return "", "", nil
	}
	all, err := options.Clusters.List(ctx, hub)
	if err != nil {
		return "", "", err
	}
	s := &step{Input: b.Input(env.Clock.Now()), clusters: hubscaleout.Placed(p, all)}
	s.Clusters = make([]scaleout.Cluster, len(s.clusters))
	silent := make([]string, len(s.clusters))
	_ = members.ForEach(indices(s.clusters), func(i int) error {
		s.Clusters[i].Name = s.clusters[i].Name
		if err := asked(ctx, env, hub, s.clusters[i], below, &s.Clusters[i], s.Follows); err != nil {
			silent[i] = s.clusters[i].Name
		}
		return nil
	})
	silent = slices.DeleteFunc(silent, func(name string) bool { return name == "" })
	if len(silent) > 0 {
		hint = fmt.Sprintf("Which nodes would be added leaves out what is asked for in clusters that could not be read: %s.",
			shares.Abbreviated(silent))
	}
	message, err = s.decide(ctx, hub, &b, now, options)
	return message, hint, err
}

