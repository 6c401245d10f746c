package why

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

// around is what there is in the namespace of a subject.
type around struct {
	shares []quotav1alpha1.QuotaShare
	quotas []corev1.ResourceQuota
	// pod is one of those that are asked for, as quotas charge it.
	pod *corev1.Pod
	// refusals are what was said of those that were refused, the last one first.
	refusals []refusal
}

// refusal is what an API server has answered.
type refusal struct {
	message     string
	first, last metav1.Time
	count       int32
}

// look reads what there is in the namespace of a subject.
func look(ctx context.Context, c client.Client, s *subject) (*around, error) {
	a := &around{}
	var shares quotav1alpha1.QuotaShareList
	if err := c.List(ctx, &shares, inNamespace(s)); err != nil {
		return nil, cli.Served(err)
	}
	var quotas corev1.ResourceQuotaList
	if err := c.List(ctx, &quotas, inNamespace(s)); err != nil {
		return nil, err
	}
	var ranges corev1.LimitRangeList
	if err := c.List(ctx, &ranges, inNamespace(s)); err != nil {
		return nil, err
	}
	a.shares, a.quotas = shares.Items, quotas.Items
	if s.template != nil {
		a.pod = charge.PodOf(s.object.GetNamespace(), s.template, ranges.Items)
	}
	for _, maker := range s.makers {
		if err := a.readRefusals(ctx, c, maker); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(a.refusals, func(x, y refusal) int { return y.last.Compare(x.last.Time) })
	return a, nil
}

// readRefusals reads what was said to one that makes pods.
func (a *around) readRefusals(ctx context.Context, c client.Client, maker client.Object) error {
	if set, ok := maker.(*appsv1.ReplicaSet); ok {
		for _, condition := range set.Status.Conditions {
			if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
				at := condition.LastTransitionTime
				a.refusals = append(a.refusals, refusal{condition.Message, at, at, 1})
			}
		}
	}
	events, err := cli.EventsOf(ctx, c, maker)
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if e.Type == corev1.EventTypeWarning && (e.Reason == "FailedCreate" || e.Reason == "FailedScheduling") {
			first := e.FirstTimestamp
			if first.IsZero() {
				first = metav1.NewTime(e.EventTime.Time)
			}
			a.refusals = append(a.refusals, refusal{e.Message, first, cli.LastSeen(e), max(e.Count, 1)})
		}
	}
	return nil
}
