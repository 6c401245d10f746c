package member_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quotaBuilder builds a ResourceQuota.
type quotaBuilder struct {
	quota corev1.ResourceQuota
	// inForce is the limit in force and used what is used, if a quota controller has seen the ResourceQuota.
	inForce, used corev1.ResourceList
	reason        string
}

func quota(name string) *quotaBuilder {
	return &quotaBuilder{quota: corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{}, Annotations: map[string]string{},
	}}}
}

func (b *quotaBuilder) in(namespace string) *quotaBuilder {
	b.quota.Namespace = namespace
	return b
}

func (b *quotaBuilder) managed(revision string) *quotaBuilder {
	b.quota.Labels["quota.fedquota.io/managed"] = "true"
	return b.annotated("quota.fedquota.io/revision", revision)
}

func (b *quotaBuilder) annotated(key, value string) *quotaBuilder {
	b.quota.Annotations[key] = value
	return b
}

// hard sets the limits: names and quantities in turn.
func (b *quotaBuilder) hard(pairs ...string) *quotaBuilder {
	b.quota.Spec.Hard = list(pairs...)
	return b
}

// status sets what is used, with the present limits in force.
func (b *quotaBuilder) status(used ...string) *quotaBuilder {
	b.inForce, b.used = b.quota.Spec.Hard, list(used...)
	return b
}

// lowered sets the limits after others were in force.
func (b *quotaBuilder) lowered(pairs ...string) *quotaBuilder { return b.hard(pairs...) }

// brokenGlass states a reason for breaking the glass.
func (b *quotaBuilder) brokenGlass(reason string) *quotaBuilder {
	b.reason = reason
	return b
}

func (b *quotaBuilder) Obj() *corev1.ResourceQuota { return b.quota.DeepCopy() }

// create brings about the ResourceQuota, each step by whom the policies let do it.
func (b *quotaBuilder) create(t *testing.T, namespace string) *corev1.ResourceQuota {
	t.Helper()
	ctx, q := t.Context(), b.Obj()
	q.Namespace = namespace
	owner := as(t, admin)
	if q.Labels["quota.fedquota.io/managed"] != "" {
		owner = as(t, agent)
	}
	if b.inForce != nil {
		q.Spec.Hard = b.inForce
	}
	must(t, owner.Create(ctx, q))
	if b.inForce != nil {
		q.Status.Hard, q.Status.Used = b.inForce, b.used
		must(t, as(t, quotaController).Status().Update(ctx, q))
		before := q.DeepCopy()
		q.Spec.Hard = b.quota.Spec.Hard
		must(t, owner.Patch(ctx, q, client.MergeFrom(before)))
	}
	if b.reason != "" {
		before := q.DeepCopy()
		metav1.SetMetaDataAnnotation(&q.ObjectMeta, "quota.fedquota.io/break-glass", b.reason)
		must(t, as(t, admin).Patch(ctx, q, client.MergeFrom(before)))
	}
	return q
}

// list returns the quantities: names and quantities in turn.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// with returns l with some other quantities.
func with(l corev1.ResourceList, pairs ...string) corev1.ResourceList {
	l = l.DeepCopy()
	maps.Copy(l, list(pairs...))
	return l
}
