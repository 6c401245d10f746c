package census

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func amount(text string) resource.Quantity { return resource.MustParse(text) }

// amounts reads "pods=3,requests.cpu=500m".
func amounts(text string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			list[corev1.ResourceName(name)] = amount(value)
		}
	}
	return list
}
