package member

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// denial returns what native quota says of a request that does not fit, and after it what the fleet uses and who waits; ""
// if the request fits.
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

// readMost is how long a ResourceQuota is read from the API server.
const readMost = time.Second

// liveQuota reads a ResourceQuota from the API server, for all who wait for the same answer at once.
type liveQuota struct {
	mutex sync.Mutex
	next  *reading
}

type reading struct {
	sync.Once
	quota *corev1.ResourceQuota
	err   error
}

// get returns the ResourceQuota as it was at some moment after the call. Those who come while a read is under way share
// the next one, which does not end with the client of the one whose turn it is.
func (l *liveQuota) get(ctx context.Context, live client.Reader, key types.NamespacedName) (*corev1.ResourceQuota, error) {
	l.mutex.Lock()
	if l.next == nil {
		l.next = &reading{}
	}
	mine := l.next
	l.mutex.Unlock()
	mine.Do(func() {
		l.mutex.Lock()
		l.next = nil
		l.mutex.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readMost)
		defer cancel()
		mine.quota = &corev1.ResourceQuota{}
		mine.err = live.Get(ctx, key, mine.quota)
	})
	return mine.quota, mine.err
}
