package quota

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// lagging is a client whose cache shows a FederatedQuota as it once was.
type lagging struct {
	client.Client

	quota *quotav1alpha1.FederatedQuota
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if quota, ok := object.(*quotav1alpha1.FederatedQuota); ok {
		l.quota.DeepCopyInto(quota)
		return nil
	}
	return l.Client.Get(ctx, key, object, options...)
}

// empty is a cache that has not seen anything yet.
type empty struct{ client.Reader }

func (empty) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: quotav1alpha1.GroupVersion.Group, Resource: "quotashares"}, key.Name)
}

func TestRoundsReadLive(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	old := w.quota()
	w.edit(weighted2)
	w.hub.Client = lagging{w.hub.Client, old}
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
}

// TestGoneIsReadLive deletes a FederatedQuota while no cache shows the shares: they are there all the same.
func TestGoneIsReadLive(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["east"].cache = empty{}
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 3 {
		w.round()
	}
	if w.gone() {
		t.Fatal("the FederatedQuota went before the member has confirmed the removal")
	}
	w.act()
	w.round()
	if !w.gone() {
		t.Error("the FederatedQuota is still there")
	}
}
