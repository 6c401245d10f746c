package members

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

func TestMarkerOf(t *testing.T) {
	for marker, want := range map[string]int64{"": 1, "true": 1, "7": 7, "+7": 1, "07": 1, "-7": 1, "4503599627370496": 1 << 52, "9007199254740991": 1} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{quotav1alpha1.MemberAnnotation: marker}}}
		if got := MarkerOf(cluster); got != want {
			t.Errorf("%q: got %d, want %d", marker, got, want)
		}
	}
	if got := MarkerOf(&clusterv1.Cluster{}); got != 0 {
		t.Errorf("no marker: got %d", got)
	}
}
