//go:build e2e

package system_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOverhead measures what the webhook adds to a request that fits: pods are created by turns in a namespace with a
// share and in one with a native quota alone.
func TestOverhead(t *testing.T) {
	const requests = 300
	m := startMember(t)
	s := share("compute", "900", "900")
	m.create(t, s)
	m.enforced(t, s)
	const alone = "native"
	m.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: alone}})
	m.create(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: alone, Name: "compute"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("900"), "pods": resource.MustParse("900")}},
	})
	took := map[string][]time.Duration{}
	for i := range requests {
		for _, namespace := range []string{team, alone} {
			p := pod(fmt.Sprintf("pod-%d", i), "1m")
			p.Namespace = namespace
			began := time.Now()
			m.create(t, p)
			took[namespace] = append(took[namespace], time.Since(began))
		}
	}
	for _, share := range []float64{.5, .9, .99} {
		at := func(namespace string) time.Duration {
			slices.Sort(took[namespace])
			return took[namespace][int(share*requests)]
		}
		t.Logf("p%.0f: %s with the webhook, %s without: %s more", share*100, at(team), at(alone), at(team)-at(alone))
	}
}
