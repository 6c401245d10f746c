// Package charge says what quotas charge for a pod, and whether there is room.
package charge

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// PodOf returns the pod that is made of a template, with the defaults of LimitRanges.
func PodOf(namespace string, template *corev1.PodTemplateSpec, ranges []corev1.LimitRange) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *nativequota.OfTemplate(&template.Spec)}
	pod.Namespace = namespace
	defaults := nativequota.Defaults{}
	for i := range ranges {
		defaults = defaults.Max(nativequota.DefaultsOf(&ranges[i]))
	}
	pod.Spec = *defaults.To(&pod.Spec)
	return pod
}

// SpecOf returns what the ResourceQuota of a share demands.
func SpecOf(share *quotav1alpha1.QuotaShare) *corev1.ResourceQuotaSpec {
	return &corev1.ResourceQuotaSpec{
		Hard: share.Spec.Hard, Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector,
	}
}

// Of returns what a quota charges for a pod, nothing if it does not count it.
func Of(pod *corev1.Pod, quota *corev1.ResourceQuotaSpec) amount.List {
	return amount.Saturate(nativequota.Charge{Resource: nativequota.Pods, Object: pod}.To(quota, quota.Hard), amount.Up)
}

// Counts says whether a quota counts a pod.
func Counts(pod *corev1.Pod, quota *corev1.ResourceQuotaSpec) bool {
	return nativequota.Matches(quota, nativequota.Pods, pod)
}

// Room returns how many times a cost fits between what is used and what is allowed; anything fits that costs nothing.
func Room(cost, used, allowed amount.List) int64 {
	room := int64(math.MaxInt64)
	for name, unit := range cost {
		if limit, limited := allowed[name]; limited && unit > 0 {
			room = min(room, max(0, limit-used[name])/unit)
		}
	}
	return room
}

// Lacking says of which names a cost does not fit: "requests.cpu: asks for 1, 0 of 3 left".
func Lacking(cost, used, allowed amount.List, like corev1.ResourceList) string {
	var parts []string
	for _, name := range cost.Names() {
		limit, limited := allowed[name]
		if !limited || amount.Add(used[name], cost[name]) <= limit {
			continue
		}
		text := func(value int64) string { return amount.Text(name, value, like) }
		left := max(0, limit-used[name])
		parts = append(parts, fmt.Sprintf("%s: asks for %s, %s of %s left", name, text(cost[name]), text(left), text(limit)))
	}
	return strings.Join(parts, "; ")
}
