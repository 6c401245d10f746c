//go:build e2e

package system_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
)

// TestLifecycle takes away from a member, and from the hub, what an administrator may take away by mistake or on
// purpose: no limit goes up for that, all comes back that is to, and nothing stays that is not.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true})
	i := &installed{T: t, system: s}
	i.connects()
	i.begins()
	i.budget()
	i.eventually("the Deployment of the agent", i.deployed)
	i.runsAgent()
	i.eventually("the budget to be enforced", i.ready)
	i.fills(4)

	quota, table := i.enforced(), &system.Table{}
	table.Row("deleted", "until", "after")
	for _, loss := range []struct {
		what, until string
		lose        func() time.Duration
	}{
		{"the CRD of shares in a member", "the budget is enforced by a new share", func() time.Duration { return i.losesTheAPI(quota) }},
		{"fedquota-system in a member", "the agent is installed again", func() time.Duration { return i.losesTheNamespaceOfTheAgent(quota) }},
		{"the namespace of a budget on the hub, with no agent", "the agent is back, and the namespace gone", i.losesTheNamespaceOnTheHub},
		{"the budget, and then the product", "the budget is gone", i.losesTheHub},
	} {
		table.Row(loss.what, loss.until, loss.lose().Round(100*time.Millisecond))
	}
	if err := table.Write(filepath.Join("..", ".."), "losses"); err != nil {
		t.Fatal(err)
	}
}

// fills creates pods in the member.
func (i *installed) fills(count int) {
	i.Helper()
	for n := range count {
		i.eventually("a pod", func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(i.member.Create(ctx, kept(n)))
		})
	}
}

func kept(n int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: fmt.Sprintf("kept-%d", n)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
}

// enforced returns the ResourceQuota of the budget.
func (i *installed) enforced() *corev1.ResourceQuota {
	i.Helper()
	quota := &corev1.ResourceQuota{}
	if err := i.member.Get(i.Context(), client.ObjectKey{Namespace: team, Name: "compute"}, quota); err != nil {
		i.Fatal(err)
	}
	return quota
}

// staysWithin says whether the ResourceQuota is the one that was, and no limit of it above the budget.
func (i *installed) staysWithin(was *corev1.ResourceQuota) {
	i.Helper()
	now, budget := i.enforced(), resource.MustParse("10")
	for _, list := range []corev1.ResourceList{now.Spec.Hard, now.Status.Hard} {
		if hard, limited := list[corev1.ResourcePods]; now.UID != was.UID || !limited || hard.Cmp(budget) > 0 {
			i.Errorf("the ResourceQuota is %s %v %v", now.UID, now.Spec.Hard, now.Status.Hard)
		}
	}
}

// losesTheAPI deletes the CRD of shares in the member, and all shares with it. The limit stays in force, and all comes
// back.
func (i *installed) losesTheAPI(quota *corev1.ResourceQuota) time.Duration {
	i.Helper()
	share := &quotav1alpha1.QuotaShare{}
	key := client.ObjectKey{Namespace: team, Name: "compute"}
	if err := i.member.Get(i.Context(), key, share); err != nil {
		i.Fatal(err)
	}
	crd := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "quotashares.quota.fedquota.io"},
	}
	if err := i.member.Delete(i.Context(), crd); err != nil {
		i.Fatal(err)
	}
	took := i.eventually("another share", func(ctx context.Context) error {
		i.staysWithin(quota)
		again := &quotav1alpha1.QuotaShare{}
		err := i.member.Get(ctx, key, again)
		if err == nil && again.UID == share.UID {
			err = errors.New("it is the old one")
		}
		return err
	})
	took += i.eventually("the budget to be enforced by it", i.current)
	i.staysWithin(quota)
	return took
}

// current says whether the limit in force is of the present spec, and the hub knows.
func (i *installed) current(ctx context.Context) error {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := i.hub.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, fq); err != nil {
		return err
	}
	if err := i.ready(ctx); err != nil {
		return err
	}
	if len(fq.Status.Clusters) != 1 || fq.Status.Clusters[0].State != quotav1alpha1.ClusterSettled {
		return fmt.Errorf("not settled: %+v", fq.Status.Clusters)
	}
	return nil
}

// losesTheNamespaceOfTheAgent deletes fedquota-system in the member: the hub manager installs all of it again, and
// limits move again.
func (i *installed) losesTheNamespaceOfTheAgent(quota *corev1.ResourceQuota) time.Duration {
	i.Helper()
	namespace := &corev1.Namespace{}
	if err := i.member.Get(i.Context(), client.ObjectKey{Name: bundle.Namespace}, namespace); err != nil {
		i.Fatal(err)
	}
	if err := i.member.Delete(i.Context(), namespace); err != nil {
		i.Fatal(err)
	}
	took := i.eventually("the agent to be installed again", func(ctx context.Context) error {
		i.staysWithin(quota)
		again := &corev1.Namespace{}
		if err := i.member.Get(ctx, client.ObjectKey{Name: bundle.Namespace}, again); err != nil {
			return err
		}
		if again.UID == namespace.UID {
			return errors.New("the old namespace is there")
		}
		return i.deployed(ctx)
	})
	i.runsAgent()
	i.hards("6")
	i.eventually("the limit to follow the budget", func(ctx context.Context) error {
		if hard := i.enforced().Status.Hard[corev1.ResourcePods]; hard.Value() != 6 {
			return fmt.Errorf("it is %s", hard.String())
		}
		return i.current(ctx)
	})
	return took
}

// hards changes the budget.
func (i *installed) hards(pods string) {
	i.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"hard":{"pods":%q}}}`, pods))
	if err := i.hub.Patch(i.Context(), fq, patch); err != nil {
		i.Fatal(err)
	}
}

// losesTheNamespaceOnTheHub deletes the namespace with the budget in it while the agent is away: the deletion waits,
// says for whom, and ends when the agent is back. The limit stays at what is used, and is nobody's any more. A new
// budget takes it over.
func (i *installed) losesTheNamespaceOnTheHub() time.Duration {
	i.Helper()
	if err := i.system.Agents["east"].Kill(); err != nil {
		i.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}
	if err := i.hub.Delete(i.Context(), namespace); err != nil {
		i.Fatal(err)
	}
	i.eventually("the budget to say whom it waits for", func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		if err := i.hub.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, fq); err != nil {
			i.Fatal(err)
		}
		for _, c := range fq.Status.Conditions {
			if c.Type == quotav1alpha1.ConditionReady && strings.Contains(c.Message, "Waiting for clusters to confirm the removal: east") {
				return nil
			}
		}
		return fmt.Errorf("it says %+v", fq.Status.Conditions)
	})
	i.runsAgent()
	took := i.eventually("the namespace to go", func(ctx context.Context) error {
		return gone(i.hub.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
	})
	released := i.enforced()
	if hard := released.Spec.Hard[corev1.ResourcePods]; hard.Value() != 4 || released.Labels[quotav1alpha1.ManagedLabel] != "" {
		i.Errorf("what stays is %v %v", released.Labels, released.Spec.Hard)
	}
	i.budget()
	i.eventually("the new budget to be enforced", i.current)
	i.staysWithin(released)
	return took
}

// losesTheHub takes the product out as docs/tasks/remove-a-cluster.md says: nothing of it stays but the limits.
func (i *installed) losesTheHub() time.Duration {
	i.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
	if err := i.hub.Delete(i.Context(), fq); err != nil {
		i.Fatal(err)
	}
	took := i.eventually("the budget to go", func(ctx context.Context) error { return gone(i.hub.Get(ctx, client.ObjectKeyFromObject(fq), fq)) })
	if err := i.system.HubManager.Kill(); err != nil {
		i.Fatal(err)
	}
	i.kubectl(i.system.Hub, "delete", "-k", filepath.Join("..", "..", "config", "default"), "--ignore-not-found")
	manifests := filepath.Join(i.TempDir(), "agent.yaml")
	output, err := exec.CommandContext(i.Context(), filepath.Join("..", "..", "bin", "manager"), "bundle", "--agent-image=any").Output()
	if err == nil {
		err = os.WriteFile(manifests, output, 0o600)
	}
	if err != nil {
		i.Fatal(err)
	}
	i.kubectl(i.system.Members[0], "delete", "-f", manifests)
	if left := i.kubectl(i.system.Members[0], "get", "all,roles,clusterroles,clusterrolebindings,validatingadmissionpolicies,"+
		"validatingadmissionpolicybindings,validatingwebhookconfigurations,crds", "-A", "-o", "name"); strings.Contains(left, "fedquota") {
		i.Errorf("left in the member:\n%s", left)
	}
	if hard := i.enforced().Spec.Hard[corev1.ResourcePods]; hard.Value() != 4 {
		i.Errorf("the limit is %s", hard.String())
	}
	return took
}

// kubectl runs kubectl, and returns what it prints.
func (i *installed) kubectl(c *fleet.ControlPlane, args ...string) string {
	i.Helper()
	kubectl := filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl")
	output, err := exec.CommandContext(i.Context(), kubectl, append([]string{"--kubeconfig=" + c.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		i.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// gone says whether an object was not found.
func gone(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("it is there")
	}
	return err
}
