package join

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// server is a client of the hub's API server, nil where the program is not at hand.
var server client.Client

func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{
		ClusterAPI: []string{"clusters"}, Files: []string{"e2e/system/clusterprofiles.yaml"},
	}, func(env *envtest.Environment) (err error) {
		server, err = client.New(env.Config, client.Options{Scheme: schemes.All()})
		return err
	}))
}

// world is a reconciler on an API server.
type world struct {
	*testing.T
	*Reconciler

	told chan string
}

func newWorld(t *testing.T) *world {
	if server == nil {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	recorder := events.NewFakeRecorder(10)
	return &world{T: t, Reconciler: &Reconciler{Client: server, Recorder: recorder, source: secrets{server}}, told: recorder.Events}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) creates(object client.Object) {
	w.Helper()
	w.must(server.Create(w.Context(), object))
	w.Cleanup(func() { _ = server.Delete(context.Background(), object) })
}

// reconciles goes through an object once, and returns what that told.
func (w *world) reconciles(s client.Object) string {
	w.Helper()
	_, err := w.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)})
	w.must(err)
	select {
	case told := <-w.told:
		return told
	default:
		return ""
	}
}

func (w *world) cluster(name string) *clusterv1.Cluster {
	w.Helper()
	cluster := &clusterv1.Cluster{}
	err := server.Get(w.Context(), client.ObjectKey{Namespace: "default", Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return cluster
}

// kubeconfig returns one that leads nowhere.
func kubeconfig(t *testing.T) []byte {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "east"
	config.Contexts["east"] = &clientcmdapi.Context{Cluster: "east", AuthInfo: "east"}
	config.Clusters["east"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	config.AuthInfos["east"] = &clientcmdapi.AuthInfo{Token: "hush"}
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func secretOf(name, cluster, join string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{
			clusterv1.ClusterNameLabel: cluster, quotav1alpha1.JoinLabel: join, "tier": "prod",
		}},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig},
	}
}

// TestJoin has a Secret make its Cluster, once: labels are the Cluster's own from then on, and the Secret may go.
func TestJoin(t *testing.T) {
	w := newWorld(t)
	secret := secretOf("east-kubeconfig", "east", "true", kubeconfig(t))
	w.creates(secret)
	if told := w.reconciles(secret); told != "" {
		t.Errorf("told: %s", told)
	}
	cluster := w.cluster("east")
	if cluster == nil {
		t.Fatal("there is no Cluster")
	}
	w.Cleanup(func() { _ = server.Delete(context.Background(), cluster) })
	if diff := cmp.Diff(map[string]string{"tier": "prod", quotav1alpha1.JoinLabel: "true"}, cluster.Labels); diff != "" {
		t.Errorf("labels:\n%s", diff)
	}
	yes := new(true)
	want := clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: yes, ControlPlaneInitialized: yes}
	if diff := cmp.Diff(want, cluster.Status.Initialization); diff != "" {
		t.Errorf("Cluster API's cache does not connect to it:\n%s", diff)
	}
	if cluster.Spec.Paused == nil || !*cluster.Spec.Paused {
		t.Error("Cluster API does not leave it alone")
	}

	cluster.Labels["tier"] = "dev"
	w.must(server.Update(t.Context(), cluster))
	w.reconciles(secret)
	if now := w.cluster("east"); now.ResourceVersion != cluster.ResourceVersion {
		t.Errorf("it was written again: %v", now.Labels)
	}
	w.must(server.Delete(t.Context(), secret))
	w.reconciles(secret)
	if now := w.cluster("east"); now == nil || now.UID != cluster.UID {
		t.Error("the Cluster went with the Secret")
	}
}

// TestNotJoined has Secrets that lead to no Cluster, and says why without a word of their content.
func TestNotJoined(t *testing.T) {
	for name, tc := range map[string]struct {
		secret *corev1.Secret
		told   string
	}{
		"it does not ask":     {secret: secretOf("quiet-kubeconfig", "quiet", "", kubeconfig(t))},
		"it asks not to":      {secret: secretOf("quiet-kubeconfig", "quiet", "false", kubeconfig(t))},
		"it has another name": {secret: secretOf("access", "quiet", "true", kubeconfig(t)), told: `metadata.name: must be quiet-kubeconfig, since the label cluster.x-k8s.io/cluster-name is "quiet"`},
		"it has no context":   {secret: secretOf("quiet-kubeconfig", "quiet", "true", []byte(`users: [{name: a, user: {token: hush}}]`)), told: "data[value] of Secret quiet-kubeconfig: must be a kubeconfig with a current context"},
		"it is no kubeconfig": {secret: secretOf("quiet-kubeconfig", "quiet", "true", []byte(`hush`)), told: "data[value] of Secret quiet-kubeconfig: must be a kubeconfig with a current context"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.creates(tc.secret)
			told := w.reconciles(tc.secret)
			if !strings.Contains(told, tc.told) || (told == "") != (tc.told == "") || strings.Contains(told, "hush") {
				t.Errorf("told %q, want %q", told, tc.told)
			}
			if w.cluster("quiet") != nil {
				t.Error("there is a Cluster")
			}
		})
	}
}

// TestClusterOfSomebodyElse leaves a Cluster alone that Cluster API brings up.
func TestClusterOfSomebodyElse(t *testing.T) {
	w := newWorld(t)
	others := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "south"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerCluster", Name: "south",
		}},
	}
	w.creates(others)
	secret := secretOf("south-kubeconfig", "south", "true", kubeconfig(t))
	w.creates(secret)
	if told := w.reconciles(secret); !strings.Contains(told, "Cluster south was made by somebody else") {
		t.Errorf("told %q", told)
	}
	if now := w.cluster("south"); now.ResourceVersion != others.ResourceVersion {
		t.Error("the Cluster was written")
	}
}

// TestRelease lets a Cluster go that was made of a Secret and is deleted, though Cluster API holds it, and no other
// one.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	secret := secretOf("held-kubeconfig", "held", "true", kubeconfig(t))
	w.creates(secret)
	w.reconciles(secret)
	others := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "theirs"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerCluster", Name: "theirs",
		}},
	}
	w.creates(others)
	for name, gone := range map[string]bool{"held": true, "theirs": false} {
		cluster := w.cluster(name)
		cluster.Finalizers = []string{clusterv1.ClusterFinalizer}
		w.must(server.Update(t.Context(), cluster))
		release := func() {
			_, err := w.release(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(cluster)})
			w.must(err)
		}
		if release(); len(w.cluster(name).Finalizers) != 1 {
			t.Errorf("Cluster %s was let go before somebody deleted it", name)
		}
		w.must(server.Delete(t.Context(), cluster))
		if release(); (w.cluster(name) == nil) != gone {
			t.Errorf("Cluster %s is gone: %t", name, !gone)
		}
	}
	left := w.cluster("theirs")
	left.Finalizers = nil
	w.must(server.Update(t.Context(), left))
}
