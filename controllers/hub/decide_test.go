package hub

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestGoneNeverRead gives up an entry that a cluster got and never was told of, and no other that cannot be read.
func TestGoneNeverRead(t *testing.T) {
	marked := map[string]string{quotav1alpha1.MemberAnnotation: "true"}
	for name, c := range map[string]struct {
		entry       quotav1alpha1.ClusterStatus
		annotations map[string]string
		selected    bool
		want        bool
	}{
		"never read":             {want: true},
		"never read, selected":   {selected: true},
		"never read, marked":     {annotations: marked, want: true},
		"may hold the budget":    {entry: quotav1alpha1.ClusterStatus{Granted: pods("10")}},
		"told nothing, but told": {entry: quotav1alpha1.ClusterStatus{Revision: 3, Granted: pods("0")}},
	} {
		t.Run(name, func(t *testing.T) {
			c.entry.Name = "a"
			cluster := clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: c.annotations}}
			fq := &quotav1alpha1.FederatedQuota{
				Spec:   quotav1alpha1.FederatedQuotaSpec{Hard: pods("10")},
				Status: quotav1alpha1.FederatedQuotaStatus{Clusters: []quotav1alpha1.ClusterStatus{c.entry}},
			}
			if c.selected {
				fq.Spec.Placement.Clusters = []quotav1alpha1.ClusterName{"a"}
			}
			s := newScope(fq, []clusterv1.Cluster{cluster}, nil, nil, "agents", metav1.Now().Time)
			m := s.byName["a"]
			m.unreachable = "there is no connection"
			if got := s.gone(m); got != c.want {
				t.Errorf("gone: got %v, want %v", got, c.want)
			}
		})
	}
}

func TestMarkerOf(t *testing.T) {
	for marker, want := range map[string]int64{"": 1, "true": 1, "7": 7, "4503599627370496": 1 << 52, "9007199254740991": 1} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{quotav1alpha1.MemberAnnotation: marker}}}
		if got := markerOf(cluster); got != want {
			t.Errorf("%q: got %d, want %d", marker, got, want)
		}
	}
	if got := markerOf(&clusterv1.Cluster{}); got != 0 {
		t.Errorf("no marker: got %d", got)
	}
}

// TestNextRound looks again after a while although nothing happens, and sooner at members of which nothing may tell that they are well.
func TestNextRound(t *testing.T) {
	for name, c := range map[string]struct {
		member member
		want   time.Duration
	}{
		"at rest":              {want: roundInterval},
		"no connection":        {member: member{unreachable: "there is no connection"}, want: roundInterval},
		"health probes fail":   {member: member{unreachable: "health probes fail", cluster: &clusterv1.Cluster{}}, want: heldBackInterval},
		"could not be written": {member: member{heldBack: obstacle{message: "no room"}, outcome: obstacle{message: "no room"}}, want: heldBackInterval},
	} {
		for _, mode := range []quotav1alpha1.RebalanceMode{quotav1alpha1.RebalanceStatic, quotav1alpha1.RebalanceAuto} {
			t.Run(name+", "+string(mode), func(t *testing.T) {
				fq := &quotav1alpha1.FederatedQuota{Spec: quotav1alpha1.FederatedQuotaSpec{Rebalance: quotav1alpha1.Rebalance{Mode: mode}}}
				s := newScope(fq, nil, nil, nil, "agents", metav1.Now().Time)
				s.members = []*member{&c.member}
				if next := s.nextRound(); next < c.want || next > c.want*12/10 {
					t.Errorf("next round after %s, want it after %s to %s", next, c.want, c.want*12/10)
				}
			})
		}
	}
}

func pods(count string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(count)}
}
