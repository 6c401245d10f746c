package fits

import (
	"context"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// inMember returns how many pods fit into this cluster, by its shares and what the hub told last.
func (o *Options) inMember(
	ctx context.Context, c client.Client, namespace string, template *corev1.PodTemplateSpec,
	shares []quotav1alpha1.QuotaShare,
) ([]view.ClusterFit, error) {
	if o.cluster != "" {
		return nil, fmt.Errorf("--cluster %s: this is a member, which knows no other cluster: ask on the hub", o.cluster)
	}
	var ranges corev1.LimitRangeList
	if err := c.List(ctx, &ranges, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	pod := charge.PodOf(namespace, template, ranges.Items)
	p, counted := view.ClusterFit{Cluster: "this one", AtOnce: math.MaxInt64, AfterRaise: math.MaxInt64}, false
	for i := range shares {
		share := &shares[i]
		spec := charge.SpecOf(share)
		if !charge.Counts(pod, spec) {
			continue
		}
		counted = true
		take(&p, share, spec, pod)
	}
	if !counted {
		return nil, nil
	}
	return []view.ClusterFit{p}, nil
}

// take takes the least of what several shares let in.
func take(p *view.ClusterFit, share *quotav1alpha1.QuotaShare, spec *corev1.ResourceQuotaSpec, pod *corev1.Pod) {
	if unset := nativequota.Unstated(pod, spec, spec.Hard); len(unset) > 0 {
		p.AtOnce, p.AfterRaise, p.Note = 0, 0, fmt.Sprintf("the pod does not set %v, and native quota demands it", unset)
		return
	}
	cost := charge.Of(pod, spec)
	used, hard := amount.Saturate(share.Status.Used, amount.Up), amount.Saturate(share.Status.Hard, amount.Down)
	now := charge.Room(cost, used, hard)
	raised := now
	if fleet := &share.Spec.Fleet; len(fleet.Budget) > 0 {
		used, budget := amount.Saturate(fleet.Used, amount.Up), amount.Saturate(fleet.Budget, amount.Down)
		raised = max(now, charge.Room(cost, used, budget))
	}
	if raised < p.AfterRaise {
		p.Note = fmt.Sprintf("share %s, as the hub told last", share.Name)
	}
	p.AtOnce, p.AfterRaise = min(p.AtOnce, now), min(p.AfterRaise, raised)
}
