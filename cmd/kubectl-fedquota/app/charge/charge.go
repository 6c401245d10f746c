// Package charge says what quotas charge for a pod, and whether there is room.
package charge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

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

// computed are the names that a pod has to set if a quota limits them, with the resource and whether it is a limit.
var computed = map[corev1.ResourceName]struct {
	name  corev1.ResourceName
	limit bool
}{
	corev1.ResourceCPU: {corev1.ResourceCPU, false}, corev1.ResourceRequestsCPU: {corev1.ResourceCPU, false},
	corev1.ResourceMemory: {corev1.ResourceMemory, false}, corev1.ResourceRequestsMemory: {corev1.ResourceMemory, false},
	corev1.ResourceLimitsCPU: {corev1.ResourceCPU, true}, corev1.ResourceLimitsMemory: {corev1.ResourceMemory, true},
}

// Unset returns the names under which a quota refuses a pod since one of its containers does not say what it asks for.
func Unset(pod *corev1.Pod, quota *corev1.ResourceQuotaSpec) []string {
	if !Counts(pod, quota) {
		return nil
	}
	unset := sets.New[string]()
	for name := range quota.Hard {
		asked, known := computed[name]
		if !known {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			list := c.Resources.Requests
			if asked.limit {
				list = c.Resources.Limits
			}
			if _, set := list[asked.name]; !set && !setForAll(pod, asked.name, asked.limit) {
				unset.Insert(string(name))
			}
		}
	}
	return sets.List(unset)
}

// setForAll says whether the pod says for all of its containers together what it asks for.
func setForAll(pod *corev1.Pod, name corev1.ResourceName, limit bool) bool {
	if pod.Spec.Resources == nil {
		return false
	}
	list := pod.Spec.Resources.Requests
	if limit {
		list = pod.Spec.Resources.Limits
	}
	_, set := list[name]
	return set
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
