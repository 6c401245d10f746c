package demand

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// TestNothingIsKept has namespaces come and go: a book that knows nothing of them any more keeps nothing of them.
func TestNothingIsKept(t *testing.T) {
	now, one := time.Unix(1000, 0), amount.List{"pods": 1}
	bare := Owner{Kind: "Pod", Name: "bare"}
	set := Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}
	for name, comesAndGoes := range map[string]func(b *Book, share types.NamespacedName){
		"a workload": func(b *Book, share types.NamespacedName) {
			b.SetWorkload(Workload{Owner: set, Namespace: share.Namespace, Desired: 1}, now)
			b.Hold(share, set, nil, one, now)
			b.End(share, set, one, false, now)
			b.DeleteWorkload(share.Namespace, set.UID)
			b.DeleteWorkload(share.Namespace, set.UID)
		},
		"a part of a Deployment": func(b *Book, share types.NamespacedName) {
			b.SetWorkload(Workload{Owner: set, Namespace: share.Namespace, Rollout: Rollout{Of: "deployment"}}, now)
			b.SetWorkload(Workload{Owner: set, Namespace: share.Namespace, Rollout: Rollout{Of: "another"}}, now)
			if known := len(b.namespaces[share.Namespace].rollouts); known != 1 {
				t.Errorf("%d Deployments are known of one ReplicaSet", known)
			}
			b.DeleteWorkload(share.Namespace, set.UID)
		},
		"a pod": func(b *Book, share types.NamespacedName) {
			b.SetPod(Pod{UID: "1", Namespace: share.Namespace}, now)
			b.DeletePod(share.Namespace, "1", now)
			b.DeletePod(share.Namespace, "1", now)
		},
		"a pod that ends": func(b *Book, share types.NamespacedName) {
			b.SetPod(Pod{UID: "1", Namespace: share.Namespace}, now)
			b.SetPod(Pod{UID: "1", Namespace: share.Namespace, Ended: true}, now)
		},
		"a LimitRange": func(b *Book, share types.NamespacedName) {
			b.SetLimitRange(share.Namespace, "limits", nativequota.Defaults{})
			b.DeleteLimitRange(share.Namespace, "limits")
			b.DeleteLimitRange(share.Namespace, "limits")
		},
		"a request that goes on": func(b *Book, share types.NamespacedName) {
			b.Hold(share, bare, nil, one, now)
			b.End(share, bare, one, true, now)
			b.Expected(shareOf(share), now.Add(pace.MostMemory))
		},
		"a request that fits when it is tried again": func(b *Book, share types.NamespacedName) {
			b.Hold(share, bare, nil, one, now)
			b.End(share, bare, one, false, now)
			b.Admitted(share, bare, one, now)
			b.Expected(shareOf(share), now.Add(pace.MostMemory))
		},
		"a request that is forgotten": func(b *Book, share types.NamespacedName) {
			b.Hold(share, bare, nil, one, now)
			b.End(share, bare, one, false, now)
			b.Demand(shareOf(share), now.Add(time.Minute))
			b.Expected(shareOf(share), now.Add(pace.MostMemory))
		},
		"a request that another replica forgets": func(b *Book, share types.NamespacedName) {
			b.Hold(share, bare, nil, one, now)
			b.End(share, bare, one, false, now)
			b.Asked(shareOf(share), now.Add(time.Minute))
			b.Expected(shareOf(share), now.Add(pace.MostMemory))
		},
		"a share that is gone while a request is held": func(b *Book, share types.NamespacedName) {
			b.Hold(share, bare, nil, one, now)
			b.DeleteShare(share)
			b.End(share, bare, one, false, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook()
			for i := range 10 {
				comesAndGoes(b, types.NamespacedName{Namespace: fmt.Sprint("team-", i), Name: "compute"})
			}
			if len(b.namespaces) != 0 {
				t.Errorf("%d namespaces are kept", len(b.namespaces))
			}
		})
	}
}

// TestSharesThatAreGone has a share denied a workload and be gone: the workload has no other reason to lack pods than
// before.
func TestSharesThatAreGone(t *testing.T) {
	b, now, one := NewBook(), time.Unix(1000, 0), amount.List{"pods": 1}
	set, share := Owner{Kind: "Job", Name: "sum", UID: "sum"}, types.NamespacedName{Namespace: "team", Name: "compute"}
	b.SetWorkload(Workload{Owner: set, Namespace: share.Namespace, Desired: 1}, now)
	b.Hold(share, set, nil, one, now)
	b.End(share, set, one, false, now)
	b.DeleteShare(share)
	if got, _ := b.Demand(shareOf(share), now); len(got) != 0 {
		t.Errorf("demand of %v", got)
	}
	if by := b.namespaces[share.Namespace].workloads[set.UID].refusedBy(); by != "" {
		t.Errorf("refused by %q", by)
	}
}

func shareOf(key types.NamespacedName) *quotav1alpha1.QuotaShare {
	return &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}
