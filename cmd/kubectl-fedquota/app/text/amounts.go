package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// Amount returns the quantity of a name as people write it. One that nobody knows is "unknown", and one that is not
// there "-".
func Amount(list corev1.ResourceList, name corev1.ResourceName) string {
	quantity, there := list[name]
	switch {
	case !there:
		return "-"
	case amount.Saturate(corev1.ResourceList{name: quantity}, amount.Up)[name] == ledger.Unknown:
		return "unknown"
	}
	return quantity.String()
}

// Names returns the names of lists, sorted.
func Names(lists ...corev1.ResourceList) []corev1.ResourceName {
	all := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Join returns a list as "pods=60, requests.cpu=30".
func Join(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range Names(list) {
		parts = append(parts, fmt.Sprintf("%s=%s", name, Amount(list, name)))
	}
	return strings.Join(parts, ", ")
}

// Counted returns a list as "60 pods, 30 requests.cpu".
func Counted(list corev1.ResourceList) string {
	parts := make([]string, 0, len(list))
	for _, name := range Names(list) {
		parts = append(parts, Amount(list, name)+" "+string(name))
	}
	return strings.Join(parts, ", ")
}

// Percent returns how much of a whole is in a part; of nothing, nothing is 0 % and something 100 %.
func Percent(part, whole corev1.ResourceList, name corev1.ResourceName) int {
	p, w := part[name], whole[name]
	switch {
	case !w.IsZero():
		return int(p.AsApproximateFloat64() / w.AsApproximateFloat64() * 100)
	case p.IsZero():
		return 0
	}
	return 100
}

// barWidth is the length of a bar.
const barWidth = 20

// Bar draws what is used, and what is granted beyond that, as parts of a budget.
func Bar(usedPercent, grantedPercent int) string {
	cells := func(percent int) int { return min(barWidth, (max(0, percent)*barWidth+99)/100) }
	used := cells(usedPercent)
	granted := max(0, cells(grantedPercent)-used)
	return strings.Repeat("█", used) + strings.Repeat("▒", granted) + strings.Repeat("░", barWidth-used-granted)
}

// Since returns how long ago something was, as kubectl writes it.
func Since(now time.Time, then metav1.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(then.Time))
}
