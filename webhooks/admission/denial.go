package admission

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// denial returns what native quota says of a request that does not fit, and after it what the fleet uses and who waits;
// "" if the request fits.
func denial(quota *corev1.ResourceQuota, share *quotav1alpha1.QuotaShare, asked corev1.ResourceList) string {
	usage := quotav1.Mask(quotav1.Add(quota.Status.Used, asked), quotav1.ResourceNames(asked))
	fits, exceeded := quotav1.LessThanOrEqual(usage, quota.Status.Hard)
	if fits {
		return ""
	}
	text := "exceeded quota: " + quota.Name +
		", requested: " + listed(quotav1.Mask(asked, exceeded)) +
		", used: " + listed(quotav1.Mask(quota.Status.Used, exceeded)) +
		", limited: " + listed(quotav1.Mask(quota.Status.Hard, exceeded))
	return text + fleetText(&share.Spec.Fleet, exceeded)
}

// fleetText says what a refused team should know of the whole budget.
func fleetText(fleet *quotav1alpha1.Fleet, names []corev1.ResourceName) string {
	var totals []string
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range names {
		used, known := fleet.Used[name]
		if budget, limited := fleet.Budget[name]; known && limited {
			totals = append(totals, string(name)+"="+used.String()+" of "+budget.String())
		}
	}
	var text strings.Builder
	if len(totals) > 0 {
		text.WriteString("; fleet: used " + strings.Join(totals, ", "))
	}
	for i, cluster := range fleet.Waiting {
		if i == 0 {
			text.WriteString("; waiting: ")
		} else {
			text.WriteString(", ")
		}
		text.WriteString(string(cluster))
	}
	return text.String()
}

// listed writes quantities as the native plug-in does.
func listed(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		parts = append(parts, string(name)+"="+quantity.String())
	}
	return strings.Join(parts, ",")
}

// refresh has a lane see the ResourceQuota as the API server has it. Another replica may have let a request through
// whose charge the watch does not show yet: one that takes the same room would go on and be refused, where it can be
// held.
func (g *Gate) refresh(ctx context.Context, l *lane) {
	g.note(l, g.read(ctx, l))
}

// note has a lane see a ResourceQuota that was read, if it was.
func (g *Gate) note(l *lane, quota *corev1.ResourceQuota) {
	if quota != nil && nativequota.IsManaged(quota) {
		l.Refresh(quota, g.Clock.Now())
	}
}

// read returns the ResourceQuota of a lane as the API server has it at some moment after the call, nil if that is not
// known. The read is for all who share it: it does not end with the client of the one whose turn it is.
func (g *Gate) read(ctx context.Context, l *lane) *corev1.ResourceQuota {
	return l.live.Get(func() *corev1.ResourceQuota {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pace.LiveTimeout)
		defer cancel()
		quota := &corev1.ResourceQuota{}
		if g.Live.Get(ctx, l.Key, quota) != nil {
			return nil
		}
		return quota
	})
}
