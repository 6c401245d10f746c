//go:build e2e

package system_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
)

// TestJoinByProfile has a hub limit a cluster that a ClusterProfile tells of, whose kind is installed after the hub
// manager has started.
func TestJoinByProfile(t *testing.T) {
	t.Parallel()
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true, Standalone: true})
	i := &installed{T: t, system: s}
	i.connects()
	p := openPage(t, "join-without-cluster-api.md", s)
	p.runs("A hub without Cluster API")
	i.begins()
	i.selectsProd()
	i.hasAnInventory()
	if printed := p.runs("Join a ClusterProfile"); !strings.Contains(printed, "tier=prod") {
		t.Errorf("the Cluster has no label of the ClusterProfile: %s", printed)
	}
	i.eventually("the Deployment of the agent", i.deployed)
	i.runsAgent()
	i.eventually("the budget to be enforced", i.ready)
	if limit := i.enforced().Status.Hard.Pods().Value(); limit < 1 || limit > 10 {
		t.Errorf("the cluster enforces a limit of %d, of a budget of 10", limit)
	}
	i.startsWithAnInventory()
	i.losesTheInventory()
	i.leavesTheInventory()
}

// hasAnInventory installs the kind, and makes the ClusterProfile of a cluster of production.
func (i *installed) hasAnInventory() {
	i.Helper()
	content, err := os.ReadFile("clusterprofiles.yaml")
	if err != nil {
		i.Fatal(err)
	}
	objects, err := bundle.Decode(content)
	if err != nil {
		i.Fatal(err)
	}
	if err := i.hub.Create(i.Context(), objects[0]); err != nil {
		i.Fatal(err)
	}
	profile := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterManager": map[string]any{"name": "ocm"}}}}
	profile.SetAPIVersion("multicluster.x-k8s.io/v1alpha1")
	profile.SetKind("ClusterProfile")
	profile.SetNamespace(metav1.NamespaceDefault)
	profile.SetName("east")
	profile.SetLabels(map[string]string{"tier": "prod"})
	i.eventually("the ClusterProfile", func(ctx context.Context) error { return i.hub.Create(ctx, profile) })
}

// startsWithAnInventory starts the hub manager again, which finds its way to the member as before, and lowers the
// budget.
func (i *installed) startsWithAnInventory() {
	i.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
	lower := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"7"}}}`))
	if err := errors.Join(i.system.HubManager.Kill(), i.hub.Patch(i.Context(), fq, lower), i.system.HubManager.Restart(i.Context())); err != nil {
		i.Fatal(err)
	}
	took := i.eventually("the lower budget", func(context.Context) error {
		if limit := i.enforced().Status.Hard.Pods().Value(); limit > 7 {
			return fmt.Errorf("%d is in force", limit)
		}
		return nil
	})
	i.Logf("the lower budget was in force after %s", took)
}

// losesTheInventory takes the kind of ClusterProfiles away and brings it back, while the hub manager runs: that one says
// so now and then, and goes on.
func (i *installed) losesTheInventory() {
	i.Helper()
	pid := i.system.HubManager.PID()
	kind := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "clusterprofiles.multicluster.x-k8s.io"},
	}
	if err := i.hub.Delete(i.Context(), kind); err != nil {
		i.Fatal(err)
	}
	said := func() int {
		content, err := os.ReadFile(i.system.HubManager.LogPath)
		if err != nil {
			i.Fatal(err)
		}
		return strings.Count(string(content), "could not find the requested resource")
	}
	i.eventually("the hub manager to say so", func(context.Context) error {
		if said() == 0 {
			return errors.New("it does not")
		}
		return nil
	})
	before := said()
	took := i.eventually("the hub manager to say so again and again", func(context.Context) error {
		if times := said() - before; times < 3 {
			return fmt.Errorf("it said so %d times", times)
		}
		return nil
	})
	if i.Logf("it said so 3 times more in %s", took); took < 3*time.Second {
		i.Errorf("it tries 3 times in %s", took)
	}
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
	for _, pods := range []int64{6, 5, 4} {
		lower := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"hard":{"pods":"%d"}}}`, pods))
		if err := i.hub.Patch(i.Context(), fq, lower); err != nil {
			i.Fatal(err)
		}
		i.eventually("a lower budget without the kind", func(context.Context) error {
			if limit := i.enforced().Status.Hard.Pods().Value(); limit > pods {
				return fmt.Errorf("%d is in force", limit)
			}
			return nil
		})
	}
	i.eventually("the kind to be gone", func(ctx context.Context) error {
		if err := i.hub.Get(ctx, client.ObjectKeyFromObject(kind), kind); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	i.hasAnInventory()
	if now := i.system.HubManager.PID(); now != pid {
		i.Errorf("the hub manager has been process %d, and is %d", pid, now)
	}
}

// leavesTheInventory takes the cluster out of the budget, then its Secret away, and then the Cluster, which does not
// come back.
func (i *installed) leavesTheInventory() {
	i.Helper()
	i.deselects()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "access-to-east"}}
	cluster := i.cluster()
	if err := errors.Join(i.hub.Delete(i.Context(), secret), i.hub.Delete(i.Context(), cluster)); err != nil {
		i.Fatal(err)
	}
	// The hub manager has seen both by the time that it makes a Cluster again for another Secret.
	i.makesTheClusterAgain()
	if err := i.hub.Get(i.Context(), client.ObjectKeyFromObject(cluster), cluster); !apierrors.IsNotFound(err) {
		i.Errorf("the Cluster is there: %v", err)
	}
}
