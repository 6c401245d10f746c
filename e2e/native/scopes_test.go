//go:build e2e

package native_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// scoped are objects that a scope takes and leaves out, with the name that they are charged under.
type scoped struct {
	name, unit     string
	inside, beside string
	note           string
}

var (
	short  = podOf("activeDeadlineSeconds: 3600, " + container("{requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1}}"))
	long   = pod("{requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1}}")
	bare   = pod("{}")
	urgent = podOf("priorityClassName: urgent, " + container("{requests: {cpu: 500m}, limits: {cpu: 1}}"))
	calm   = podOf("priorityClassName: calm, " + container("{requests: {cpu: 500m}, limits: {cpu: 1}}"))
	far    = beside("labelSelector: {}, namespaces: [other]")
	near   = beside("labelSelector: {}")
	fast   = claim("1Gi", "storageClassName: gold, volumeAttributesClassName: fast")
	slow   = claim("1Gi", "storageClassName: gold, volumeAttributesClassName: slow")
	plain  = claim("1Gi", "storageClassName: gold")
)

// beside is a pod that has to run beside others.
func beside(others string) string {
	return podOf("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, " + others + "}]}}, " + container("{}"))
}

// scopes are those of a ResourceQuota, in both ways to write them and with all operators.
func scopes() []row {
	var rows []row
	add := func(what, spec string, of scoped) {
		rows = append(rows, row{what: what, name: of.name, spec: spec, object: of.inside, unit: of.unit, beside: of.beside, note: of.note})
	}
	for _, of := range []struct {
		scope corev1.ResourceQuotaScope
		scoped
	}{
		{corev1.ResourceQuotaScopeTerminating, scoped{"pods", "1", short, long, "a pod with `activeDeadlineSeconds`, one without"}},
		{corev1.ResourceQuotaScopeNotTerminating, scoped{"requests.cpu", "500m", long, short, "a pod without `activeDeadlineSeconds`, one with"}},
		{corev1.ResourceQuotaScopeBestEffort, scoped{"pods", "1", bare, long, "a pod that requests nothing, one that does"}},
		{corev1.ResourceQuotaScopeNotBestEffort, scoped{"requests.memory", "64Mi", long, bare, "a pod that requests something, one that does not"}},
		{corev1.ResourceQuotaScopePriorityClass, scoped{"limits.cpu", "1", calm, long, "a pod with a priority class, one without"}},
		{corev1.ResourceQuotaScopeCrossNamespacePodAffinity, scoped{"pods", "1", far, near, "a pod near those of another namespace, one near those of its own"}},
		{corev1.ResourceQuotaScopeVolumeAttributesClass, scoped{"requests.storage", "1Gi", fast, plain, "a claim with an attributes class, one without"}},
	} {
		add(fmt.Sprintf("`scopes: [%s]`", of.scope), fmt.Sprintf("{scopes: [%s]}", of.scope), of.scoped)
		add(fmt.Sprintf("`%s Exists`", of.scope), selector(of.scope, "Exists", ""), of.scoped)
	}
	const priority, attributes = corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass
	add("`PriorityClass In [urgent]`", selector(priority, "In", "urgent"), scoped{"count/pods", "1", urgent, calm, "class `urgent`, class `calm`"})
	add("`PriorityClass NotIn [urgent]`", selector(priority, "NotIn", "urgent"), scoped{"cpu", "500m", calm, urgent, "class `calm`, class `urgent`"})
	add("`PriorityClass DoesNotExist`", selector(priority, "DoesNotExist", ""), scoped{"requests.cpu", "500m", long, calm, "no class, class `calm`"})
	add("`VolumeAttributesClass In [fast]`", selector(attributes, "In", "fast"), scoped{"persistentvolumeclaims", "1", fast, slow, "class `fast`, class `slow`"})
	add("`VolumeAttributesClass NotIn [fast]`", selector(attributes, "NotIn", "fast"),
		scoped{"gold.storageclass.storage.k8s.io/requests.storage", "1Gi", slow, fast, "class `slow`, class `fast`"})
	add("`VolumeAttributesClass DoesNotExist`", selector(attributes, "DoesNotExist", ""),
		scoped{"count/persistentvolumeclaims", "1", plain, slow, "no class, class `slow`"})
	add("`scopes: [NotTerminating]` with `PriorityClass In [urgent]`",
		"{scopes: [NotTerminating], scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [urgent]}]}}",
		scoped{"pods", "1", urgent, calm, "class `urgent`, class `calm`, both without `activeDeadlineSeconds`"})
	rows = append(rows,
		row{what: "two budgets apart", name: "pods", unit: "1", play: apart},
		row{what: "two budgets over the same pods", name: "pods", unit: "1", play: both},
	)
	return of(sectionScopes, rows)
}

func selector(scope corev1.ResourceQuotaScope, operator, values string) string {
	if values != "" {
		values = ", values: [" + values + "]"
	}
	return fmt.Sprintf("{scopeSelector: {matchExpressions: [{scopeName: %s, operator: %s%s}]}}", scope, operator, values)
}

// apart has two budgets in a namespace, of pods that end and of pods that do not: each is used up by its own pods.
func apart(s *scene) {
	s.budget("short", "{scopes: [Terminating]}", s.charge(2, 2))
	s.budget("long", "{scopes: [NotTerminating]}", s.charge(2, 2))
	for _, member := range []string{east, west} {
		content, full := short, "short"
		if member == west {
			content, full = long, "long"
		}
		for n := range int64(2) {
			s.fits(member, content)
			s.usesOf(member, full, s.charge(n+1, 1))
		}
		s.must(s.refusedBy(full, member, 2, s.creates(member, content)))
	}
	s.usesOf(east, "long", s.charge(0, 1))
	s.usesOf(west, "short", s.charge(0, 1))
	s.sight.note = "one of `Terminating` and one of `NotTerminating`: `east` takes all of the one, `west` all of the other"
}

// both has two budgets in a namespace that count the same pods: a pod needs room in each.
func both(s *scene) {
	s.budget("all", "{}", s.charge(3, 2))
	s.budget("urgent", selector(corev1.ResourceQuotaScopePriorityClass, "In", "urgent"), s.charge(2, 2))
	for n := range int64(2) {
		s.fits(east, urgent)
		s.usesOf(east, "urgent", s.charge(n+1, 1))
		s.usesOf(east, "all", s.charge(n+1, 1))
	}
	// The budget of all refuses it, too, until it has moved what west has of it.
	s.eventually("a refusal for want of urgent pods", func(context.Context) error {
		return s.refusedBy("urgent", east, 2, s.creates(east, urgent))
	})
	s.fits(east, calm)
	s.usesOf(east, "all", s.charge(3, 1))
	s.usesOf(east, "urgent", s.charge(2, 1))
	s.must(s.refusedBy("all", east, 3, s.creates(east, calm)))
	s.sight.note = "one of 2 `urgent` pods and one of 3 pods: the third `urgent` pod is refused by the one, the fourth pod by the other"
}
