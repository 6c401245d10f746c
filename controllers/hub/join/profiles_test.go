package join

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/hub/members"
)

// newProfiles returns a world whose reconciler is that of ClusterProfiles, and reads their Secrets.
func newProfiles(t *testing.T) (*world, *Profiles) {
	w := newWorld(t)
	profiles := &Profiles{Reader: server, Namespaces: []string{"default"}}
	profiles.inventory.Store(&inventory{Reader: server, kind: clusterProfile.WithVersion("v1alpha1")})
	w.source = profiles
	return w, profiles
}

func profileOfProd(name string) *unstructured.Unstructured {
	profile := &unstructured.Unstructured{}
	profile.SetGroupVersionKind(clusterProfile.WithVersion("v1alpha1"))
	profile.SetNamespace("default")
	profile.SetName(name)
	profile.SetLabels(map[string]string{"tier": "prod"})
	return profile
}

func accessTo(profile, name, consumer, key string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{
			members.ProfileLabel: profile, members.ConsumerLabel: consumer,
		}},
		Data: map[string][]byte{key: kubeconfig},
	}
}

// TestProfileJoins has a ClusterProfile make its Cluster, to which the hub finds by the Secret of the ClusterProfile,
// also by another one.
func TestProfileJoins(t *testing.T) {
	w, profiles := newProfiles(t)
	profile, key := profileOfProd("listed"), client.ObjectKey{Namespace: "default", Name: "listed-kubeconfig"}
	w.creates(profile)
	if told := w.reconciles(profile); told != "" || w.cluster("listed") != nil {
		t.Errorf("without a Secret it was told %q, and there is %v", told, w.cluster("listed"))
	}
	for _, name := range []string{"one", "another"} {
		access := accessTo("listed", name, "fedquota", "Config", kubeconfig(t))
		w.creates(access)
		if told := w.reconciles(profile); told != "" {
			t.Errorf("told: %s", told)
		}
		cluster := w.cluster("listed")
		if cluster == nil {
			t.Fatal("there is no Cluster")
		}
		w.Cleanup(func() { _ = server.Delete(context.Background(), cluster) })
		if diff := cmp.Diff(map[string]string{"tier": "prod"}, cluster.Labels); diff != "" {
			t.Errorf("labels:\n%s", diff)
		}
		found := &corev1.Secret{}
		w.must(profiles.Get(t.Context(), key, found))
		if diff := cmp.Diff(map[string][]byte{"value": kubeconfig(t)}, found.Data); diff != "" {
			t.Errorf("the hub reads in place of Secret %s:\n%s", key.Name, diff)
		}
		w.must(server.Delete(t.Context(), access))
		if err := profiles.Get(t.Context(), key, found); !apierrors.IsNotFound(err) {
			t.Errorf("without a Secret the hub reads: %v", err)
		}
	}
}

// TestProfileDoesNotJoin has ClusterProfiles that make no Cluster, and says why where somebody means fedquota.
func TestProfileDoesNotJoin(t *testing.T) {
	for name, tc := range map[string]struct {
		secrets []*corev1.Secret
		told    string
	}{
		"its Secret is for others":        {secrets: []*corev1.Secret{accessTo("shy", "a", "kueue", "Config", kubeconfig(t))}},
		"a Secret is for another profile": {secrets: []*corev1.Secret{accessTo("bold", "a", "fedquota", "Config", kubeconfig(t))}},
		"it has two Secrets": {secrets: []*corev1.Secret{
			accessTo("shy", "a", "fedquota", "Config", kubeconfig(t)), accessTo("shy", "b", "fedquota", "Config", kubeconfig(t)),
		}, told: "of the Secrets for fedquota one alone may name the ClusterProfile"},
		"its Secret has another key": {secrets: []*corev1.Secret{
			accessTo("shy", "a", "fedquota", "value", kubeconfig(t)),
		}, told: "data[Config] of Secret a: must be a kubeconfig with a current context"},
	} {
		t.Run(name, func(t *testing.T) {
			w, profiles := newProfiles(t)
			profile := profileOfProd("shy")
			w.creates(profile)
			for _, s := range tc.secrets {
				w.creates(s)
			}
			if told := w.reconciles(profile); !strings.Contains(told, tc.told) || (told == "") != (tc.told == "") {
				t.Errorf("told %q, want %q", told, tc.told)
			}
			if w.cluster("shy") != nil {
				t.Error("there is a Cluster")
			}
			if err := profiles.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "shy-kubeconfig"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("the hub finds the way to it: %v", err)
			}
		})
	}
}

// TestProfileOfSomebodyElsesCluster has a Cluster of Cluster API go by its own Secret alone, as long as that is away,
// too.
func TestProfileOfSomebodyElsesCluster(t *testing.T) {
	w, profiles := newProfiles(t)
	w.creates(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "north"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerCluster", Name: "north",
		}},
	})
	profile := profileOfProd("north")
	w.creates(profile)
	w.creates(accessTo("north", "access", "fedquota", "Config", kubeconfig(t)))
	if told := w.reconciles(profile); !strings.Contains(told, "Cluster north was made by somebody else") {
		t.Errorf("told %q", told)
	}
	if err := profiles.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "north-kubeconfig"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the hub takes another way to it: %v", err)
	}
}
