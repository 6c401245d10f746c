package member

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

func podsOnly(count string) corev1.ResourceList {
	if count == "" {
		return nil
	}
	return corev1.ResourceList{"pods": resource.MustParse(count)}
}

func TestUnblocks(t *testing.T) {
	tests := map[string]struct {
		hard, used    string
		before, after string
		want          bool
	}{
		"nothing":                      {hard: "5", used: "5"},
		"rises above the room":         {hard: "5", used: "4", after: "2", want: true},
		"rises within the room":        {hard: "5", used: "3", after: "2"},
		"rises on":                     {hard: "5", used: "5", before: "2", after: "3", want: true},
		"stays":                        {hard: "5", used: "5", before: "2", after: "2"},
		"falls":                        {hard: "5", used: "5", before: "3", after: "2"},
		"is gone":                      {hard: "5", used: "5", before: "3", want: true},
		"rises while nothing is known": {after: "1", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := quotav1alpha1.QuotaShareStatus{Demand: podsOnly(tc.before)}
			after := quotav1alpha1.QuotaShareStatus{Demand: podsOnly(tc.after), Hard: podsOnly(tc.hard), Used: podsOnly(tc.used)}
			if got := unblocks(&before, &after); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestDemandOfReplicas has two replicas state the demand of one share: what one has seen is kept by the other until it is
// withdrawn or a request would be forgotten.
func TestDemandOfReplicas(t *testing.T) {
	clk := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "compute"}}
	share.Spec.Hard = podsOnly("5")
	key := types.NamespacedName{Namespace: "team", Name: "compute"}
	replica := func() *Demand { return &Demand{Clock: clk, Book: demand.NewBook()} }
	leader, follower := replica(), replica()
	pod := demand.Owner{Kind: "Pod", Name: "p"}
	want := func(d *Demand, pods string) {
		t.Helper()
		list, _ := d.of(share)
		if got := list["pods"]; len(list) > 0 != (pods != "0") || got.String() != pods {
			t.Errorf("got %v, want %s pods", list, pods)
		}
	}
	write := func(d *Demand) {
		share.Status.Demand, _ = d.of(share)
		d.wrote(share)
	}

	follower.Book.Hold(key, pod, nil, amount.List{"pods": 2}, clk.Now())
	want(leader, "0")
	want(follower, "2")
	write(follower)
	want(leader, "2")
	follower.Book.End(key, pod, amount.List{"pods": 2}, true, clk.Now())
	want(follower, "0")
	write(follower)
	want(leader, "0")

	follower.Book.Hold(key, pod, nil, amount.List{"pods": 3}, clk.Now())
	write(follower)
	want(leader, "3")
	clk.SetTime(clk.Now().Add(demand.Memory))
	want(leader, "0") // the follower is gone
}
