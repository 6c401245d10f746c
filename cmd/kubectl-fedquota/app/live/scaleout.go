package live

import (
	"context"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	hubscaleout "github.com/fedquota/fedquota/controllers/hub/scaleout"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// ScaleOut says which nodes would be added now for a budget that is so large, "" for one that does not ask for that.
func (f *Fleet) ScaleOut(
	ctx context.Context, hub client.Reader, fq *quotav1alpha1.FederatedQuota, now amount.List,
) (string, error) {
	b := hubscaleout.OfQuota(fq)
	if b.Rule == nil || b.Rule.ScaleOut == nil {
		return "", nil
	}
	in := b.Input(f.now)
	in.Budget, in.DryRun, in.Patience = now, true, hubscaleout.DefaultPatience(time.Hour)
	selected, _ := input.Placed(fq, f.Clusters)
	var clusters []members.Cluster
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		clusters = append(clusters, *selected[name])
		c := scaleout.Cluster{Name: name}
		if share := f.Members[name].Share; share != nil {
			hubscaleout.AddShare(&c, &share.Status, input.Most(fq, selected[name]), in.Follows)
		}
		in.Clusters = append(in.Clusters, c)
	}
	var err error
	in.Groups, err = hubscaleout.Groups(ctx, hub, f.options.Clusters, clusters, b.Rule.ScaleOut.MachineDeploymentSelector)
	return scaleout.Decide(in).State.Message, err
}
