//go:build e2e

package clusterapi_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/bundle"
)

const (
	east, west, north = "east", "west", "north"
	// clusterNamespace is where Clusters are.
	clusterNamespace = "default"
	// patience is how long anything may take that is bound to come.
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// world is fedquota and Cluster API on a hub, and its members.
type world struct {
	*testing.T
	*system.System

	hub     client.Client
	members map[string]client.Client
	manager *fleet.Process // Cluster API's own
}

// startWorld starts a hub with Cluster API, and members with agents that nobody has told the hub of.
func startWorld(t *testing.T, options system.Options) *world {
	t.Helper()
	options.Bare, options.Standalone = true, true
	s := systemtest.Start(t, options)
	w := &world{T: t, System: s, members: map[string]client.Client{}}
	t.Cleanup(w.showLog)
	w.hub = w.client(s.Hub.Config)
	w.installClusterAPI(systemtest.Root(t))
	var err error
	w.HubManager, err = s.StartHubManager(t.Context(), system.HubManager)
	w.must(err)
	for _, m := range s.Members {
		w.members[m.Name] = w.client(m.Config)
		s.Agents[m.Name], err = s.StartAgent(t.Context(), m, system.Agent(m.Name))
		w.must(err)
	}
	return w
}

// showLog shows what Cluster API's manager logged if the test has failed.
func (w *world) showLog() {
	if w.Failed() && w.manager != nil {
		log, err := os.ReadFile(w.manager.LogPath)
		w.Logf("%s: %v\n%s", w.manager.Name, err, log[max(0, len(log)-8000):])
	}
}

// client returns a client that is not held up by limits of its own.
func (w *world) client(config *rest.Config) client.Client {
	w.Helper()
	c, err := system.ClientOf(config)
	w.must(err)
	return c
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until a condition has nothing to complain of.
func (w *world) eventually(what string, condition func(context.Context) error) {
	w.Helper()
	began := time.Now()
	if err := systemtest.Await(w.Context(), poll, patience, condition); err != nil {
		w.Fatalf("waiting for %s: %v", what, err)
	}
	w.Logf("%s: after %s", what, time.Since(began).Round(time.Millisecond))
}

// creates makes the objects of a YAML in the namespace of the Clusters, or in none.
func (w *world) creates(content string) {
	w.Helper()
	objects, err := bundle.Decode([]byte(content))
	w.must(err)
	for _, object := range objects {
		w.must(w.hub.Create(w.Context(), object))
	}
}

// patches changes an object of the hub by a merge patch.
func (w *world) patches(object client.Object, format string, args ...any) {
	w.Helper()
	w.must(w.hub.Patch(w.Context(), object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))))
}

// read reads a Cluster.
func (w *world) read(ctx context.Context, name string) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	return cluster, w.hub.Get(ctx, client.ObjectKey{Namespace: clusterNamespace, Name: name}, cluster)
}

// cluster reads a Cluster that is there.
func (w *world) cluster(name string) *clusterv1.Cluster {
	w.Helper()
	cluster, err := w.read(w.Context(), name)
	w.must(err)
	return cluster
}

// kubectl runs a command on the hub, in the namespace of the Clusters.
func (w *world) kubectl(args ...string) {
	w.Helper()
	program := filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl")
	args = append([]string{"--kubeconfig=" + w.Hub.Kubeconfig, "--namespace=" + clusterNamespace}, args...)
	if output, err := exec.CommandContext(w.Context(), program, args...).CombinedOutput(); err != nil {
		w.Fatalf("kubectl %v: %v\n%s", args, err, output)
	}
}
