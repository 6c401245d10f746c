package member

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestSharesThatAreGone has a share be gone: neither replica keeps anything of it.
func TestSharesThatAreGone(t *testing.T) {
	r := newReplicas(t)
	leader := &ShareReconciler{Client: r.api, Demand: r.leader}
	r.hold(r.follower.Demand, bare, 1)
	r.follow(time.Second)
	r.demand()
	leader.reports.Store(replicasKey, r.clock.Now())
	r.leader.poked = map[types.NamespacedName]map[types.UID]poke{replicasKey: {"web": {revision: 1}}}
	if len(r.leader.heard) == 0 {
		t.Fatal("the leader has not heard of the follower")
	}

	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: replicasKey.Namespace, Name: replicasKey.Name}}
	if err := r.api.Delete(t.Context(), share); err != nil {
		t.Fatal(err)
	}
	r.follow(time.Second)
	if _, err := leader.Reconcile(t.Context(), ctrl.Request{NamespacedName: replicasKey}); err != nil {
		t.Fatal(err)
	}
	if r.follower.Demand.Book.Refused(replicasKey) {
		t.Error("the follower keeps what was asked")
	}
	if _, kept := leader.reports.Load(replicasKey); kept || len(r.leader.heard) > 0 || len(r.leader.poked) > 0 {
		t.Errorf("the leader keeps a report: %t, statements: %v, pokes: %v", kept, r.leader.heard, r.leader.poked)
	}
}
