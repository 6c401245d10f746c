package admission

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// denial returns what native quota says of a request that does not fit, and after it what the fleet uses and who waits;
// "" if the request fits.
func denial(quota *corev1.ResourceQuota, share *quotav1alpha1.QuotaShare, asked corev1.ResourceList) string {
	exceeded := lacking(asked, quota.Status.Used, quota.Status.Hard)
	if len(exceeded) == 0 {
		return ""
	}
	text := "exceeded quota: " + quota.Name +
		", requested: " + listed(quotav1.Mask(asked, exceeded)) +
		", used: " + listed(quotav1.Mask(quota.Status.Used, exceeded)) +
		", limited: " + listed(quotav1.Mask(quota.Status.Hard, exceeded))
	return text + fleetText(fleetOf(share, quota), exceeded)
}

// fleetOf returns what the hub has told of the whole budget. What this cluster uses is known better here: the fleet
// uses that much at least.
func fleetOf(share *quotav1alpha1.QuotaShare, quota *corev1.ResourceQuota) *quotav1alpha1.Fleet {
	fleet := share.Spec.Fleet
	fleet.Used = quotav1.Max(fleet.Used, quotav1.Mask(quota.Status.Used, quotav1.ResourceNames(fleet.Used)))
	return &fleet
}

// fleetText says what a refused team should know of the whole budget.
func fleetText(fleet *quotav1alpha1.Fleet, names []corev1.ResourceName) string {
	var totals []string
	for _, name := range names {
		used, known := fleet.Used[name]
		if budget, limited := fleet.Budget[name]; known && limited {
			totals = append(totals, string(name)+"="+used.String()+" of "+budget.String())
		}
	}
	if len(totals) == 0 {
		return waitingText(fleet)
	}
	return "; fleet: used " + strings.Join(totals, ", ") + waitingText(fleet)
}

// waitingText says who waits.
func waitingText(fleet *quotav1alpha1.Fleet) string {
	if len(fleet.Waiting) == 0 {
		return ""
	}
	names := make([]string, len(fleet.Waiting))
	for i, cluster := range fleet.Waiting {
		names[i] = string(cluster)
	}
	return "; waiting: " + strings.Join(names, ", ")
}

// waitText says for the event on a workload how long its request was held, and what is full.
func (c *claim) waitText(quota *corev1.ResourceQuota, share *quotav1alpha1.QuotaShare, now time.Time) string {
	begin := "Refused by quota " + quota.Name + ": "
	if c.waiter != nil {
		begin = "Held " + now.Sub(c.since).Round(10*time.Millisecond).String() + " for quota " + quota.Name + ": "
	}
	fleet := fleetOf(share, quota)
	switch reason, full := c.full(quota, fleet); reason {
	case denialOverBudget:
		return begin + "one pod asks for more than the whole budget: " + parts(full, c.list, fleet.Budget)
	case denialFleetFull:
		return begin + "the fleet is full: " + parts(full, fleet.Used, fleet.Budget) + " used" + waitingText(fleet)
	default:
		return begin + "the limit of this cluster is reached: " + parts(full, quota.Status.Used, quota.Status.Hard) +
			" used" + fleetText(fleet, full)
	}
}

// full returns why a request is denied, and the names of which there is too little.
func (c *claim) full(quota *corev1.ResourceQuota, fleet *quotav1alpha1.Fleet) (denialReason, []corev1.ResourceName) {
	if full := lacking(c.list, nil, fleet.Budget); len(full) > 0 {
		return denialOverBudget, full
	}
	if full := lacking(c.list, fleet.Used, fleet.Budget); len(full) > 0 {
		return denialFleetFull, full
	}
	return denialClusterFull, lacking(c.list, quota.Status.Used, quota.Status.Hard)
}

// lacking returns the names of which less is left than a request asks for, sorted.
func lacking(asked, used, hard corev1.ResourceList) []corev1.ResourceName {
	sum := quotav1.Mask(quotav1.Add(used, asked), quotav1.ResourceNames(asked))
	_, names := quotav1.LessThanOrEqual(sum, hard)
	slices.Sort(names)
	return names
}

// parts says of each name how much that is of what there is.
func parts(names []corev1.ResourceName, some, whole corev1.ResourceList) string {
	texts := make([]string, 0, len(names))
	for _, name := range names {
		part, of := some[name], whole[name]
		texts = append(texts, string(name)+" "+part.String()+" of "+of.String())
	}
	return strings.Join(texts, ", ")
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
