package members

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fedquota/fedquota/controllers/schemes"
)

// TestNamesTellClustersApart has no two Clusters of a hub be called alike.
func TestNamesTellClustersApart(t *testing.T) {
	label := rapid.StringMatching(`[a-z]([-a-z0-9]{0,3}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		n := Namespaces{Home: label.Draw(t, "home"), Further: rapid.SliceOfN(label, 0, 3).Draw(t, "further")}
		key := func(what string) client.ObjectKey {
			return client.ObjectKey{Namespace: rapid.SampledFrom(n.All()).Draw(t, what+" namespace"), Name: label.Draw(t, what)}
		}
		one, other := key("one"), key("other")
		if (n.Name(one) == n.Name(other)) != (one == other) {
			t.Errorf("%s is called %s, and %s %s", one, n.Name(one), other, n.Name(other))
		}
		if got := n.Key(n.Name(one)); got != one {
			t.Errorf("%s is called %s, which is %s", one, n.Name(one), got)
		}
	})
}

func TestNamespacesAreValidated(t *testing.T) {
	for name, c := range map[string]struct {
		namespaces Namespaces
		valid      bool
	}{
		"one":        {Namespaces{Home: "default"}, true},
		"several":    {Namespaces{Home: "default", Further: []string{"emea", "apac"}}, true},
		"none":       {Namespaces{}, false},
		"empty":      {Namespaces{Home: "default", Further: []string{""}}, false},
		"twice":      {Namespaces{Home: "default", Further: []string{"emea", "emea"}}, false},
		"home again": {Namespaces{Home: "default", Further: []string{"default"}}, false},
		"a cluster":  {Namespaces{Home: "default", Further: []string{"emea/east"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.namespaces.Validate(); (err == nil) != c.valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestListNamesClusters lists those of each namespace, and of no other.
func TestListNamesClusters(t *testing.T) {
	hub := fake.NewClientBuilder().WithScheme(schemes.All())
	for _, key := range []client.ObjectKey{{Namespace: "default", Name: "east"}, {Namespace: "emea", Name: "east"}, {Namespace: "other", Name: "east"}} {
		hub.WithObjects(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}
	clusters, err := Namespaces{Home: "default", Further: []string{"emea"}}.List(t.Context(), hub.Build())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range clusters {
		got[c.Name] = client.ObjectKeyFromObject(c).String()
	}
	if diff := cmp.Diff(map[string]string{"east": "default/east", "emea/east": "emea/east"}, got); diff != "" {
		t.Error(diff)
	}
}
