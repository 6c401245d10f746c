package demand

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestSharesThatAreGone has a share be gone: neither replica keeps anything of it.
func TestSharesThatAreGone(t *testing.T) {
	r := newReplicas(t)
	r.hold(r.follower.Demand, bare, 1)
	r.follow(time.Second)
	r.demand()
	r.leader.poked = map[types.NamespacedName]map[types.UID]poke{replicasKey: {"web": {revision: 1}}}
	if len(r.leader.heard) == 0 {
		t.Fatal("the leader has not heard of the follower")
	}

	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: replicasKey.Namespace, Name: replicasKey.Name}}
	if err := r.api.Delete(t.Context(), share); err != nil {
		t.Fatal(err)
	}
	r.follow(time.Second)
	r.leader.Forget(replicasKey)
	if r.follower.Demand.Book.Refused(replicasKey) {
		t.Error("the follower keeps what was asked")
	}
	if len(r.leader.heard) > 0 || len(r.leader.poked) > 0 {
		t.Errorf("the leader keeps statements: %v, pokes: %v", r.leader.heard, r.leader.poked)
	}
}
