package members

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/bundle"
)

// TestFewKinds has a connection learn the core group and another one.
func TestFewKinds(t *testing.T) {
	const apps = "/apis/apps/v1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept"); r.URL.Path == coreGroup && got != "application/json" {
			t.Errorf("asked for %s", got)
		}
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap"}, {Name: "nodes", Kind: "Node"}, {Name: "nodes/status", Kind: "Node"},
		}})
	}))
	t.Cleanup(server.Close)
	all := []string{"configmaps", "nodes", "nodes/status"}
	for path, want := range map[string][]string{coreGroup: {"nodes"}, apps: all, coreGroup + "/nodes": all} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
		response, err := lazily{http.DefaultTransport}.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		var list metav1.APIResourceList
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		var got []string
		for _, r := range list.APIResources {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// TestKindsOfTheBundle sees that a connection knows the kinds of the core group that the hub installs.
func TestKindsOfTheBundle(t *testing.T) {
	objects, err := bundle.Objects(bundle.Options{Image: "image", Namespace: "fedquota-system"})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if plural, _ := apimeta.UnsafeGuessKindToResource(kind); kind.Group == "" && !coreKinds.Has(plural.Resource) {
			t.Errorf("no connection knows %s", plural.Resource)
		}
	}
}
