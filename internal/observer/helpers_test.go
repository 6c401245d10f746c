package observer

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quota builds a version of the managed object as a member would deliver it.
type quota struct{ rq *corev1.ResourceQuota }

func makeQuota(resourceVersion int) quota {
	return quota{&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Name: "compute", Namespace: "team-a", UID: "one", ResourceVersion: strconv.Itoa(resourceVersion),
		Labels:      map[string]string{"quota.fedquota.io/managed": "true"},
		Annotations: map[string]string{"quota.fedquota.io/revision": "1"},
	}}}
}

func (q quota) Unmanaged() quota { q.rq.Labels = nil; return q }

// Released hands it over to the users of the member.
func (q quota) Released() quota {
	q.rq.Labels, q.rq.Annotations = nil, map[string]string{"quota.fedquota.io/released": "1"}
	return q
}
func (q quota) Spec(hard string) quota { q.rq.Spec.Hard = amounts(hard); return q }

func (q quota) Obj() *corev1.ResourceQuota       { return q.rq }
func amount(text string) resource.Quantity       { return resource.MustParse(text) }
func same(q resource.Quantity, text string) bool { return q.Cmp(amount(text)) == 0 }

// amounts reads "pods=3,requests.cpu=500m".
func amounts(text string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			list[corev1.ResourceName(name)] = resource.MustParse(value)
		}
	}
	return list
}
