package admission

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// TestReadyOnceFed has a gate be ready when it has been told of all kinds: requests of a share that it does not know
// are not held.
func TestReadyOnceFed(t *testing.T) {
	scheme := schemes.All()
	kinds := map[string]client.Object{"QuotaShare": &quotav1alpha1.QuotaShare{}, "Lease": &coordinationv1.Lease{}, "ResourceQuota": &corev1.ResourceQuota{}}
	informers, gate := &informertest.FakeInformers{Scheme: scheme, InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}}, &Gate{}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			t.Fatal(err)
		}
		informers.InformersByGVK[gvk] = controllertest.NewFakeInformer()
	}
	if err := gate.Feed(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	for name, kind := range kinds {
		if gate.Ready(nil) == nil {
			t.Errorf("it is ready before it knows of any %s", name)
		}
		informer, err := informers.FakeInformerFor(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		informer.Synced()
	}
	if err := gate.Ready(nil); err != nil {
		t.Error(err)
	}
}
