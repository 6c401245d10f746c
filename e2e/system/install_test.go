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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/bundle"
)

// installed is a member in which the hub manager installs the agent.
type installed struct {
	*testing.T

	system      *system.System
	hub, member client.Client
}

// eventually waits for a condition, and returns how long that took.
func (i *installed) eventually(what string, condition func(ctx context.Context) error) time.Duration {
	i.Helper()
	began := time.Now()
	if err := systemtest.Await(i.Context(), 50*time.Millisecond, 2*time.Minute, condition); err != nil {
		i.Fatalf("waiting for %s: %v", what, err)
	}
	return time.Since(began)
}

// connects makes administrators' clients.
func (i *installed) connects() {
	i.Helper()
	var err error
	if i.hub, err = system.Client(i.system.Hub); err != nil {
		i.Fatal(err)
	}
	if i.member, err = system.Client(i.system.Members[0]); err != nil {
		i.Fatal(err)
	}
}

// begins starts the hub manager.
func (i *installed) begins() {
	i.Helper()
	var err error
	if i.system.HubManager, err = i.system.StartHubManager(i.Context(), system.HubManager); err != nil {
		i.Fatal(err)
	}
}

// runsAgent runs the agent beside its cluster, which has no nodes, as the account that is installed now.
func (i *installed) runsAgent() {
	i.Helper()
	i.eventually("the account of the agent", func(ctx context.Context) error {
		return i.member.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: "fedquota-agent"}, &corev1.ServiceAccount{})
	})
	if i.system.Agents["east"] != nil {
		i.runsAgentAgain()
		return
	}
	var err error
	if i.system.Agents["east"], err = i.system.StartAgent(i.Context(), i.system.Members[0], system.Agent("east")); err != nil {
		i.Fatal(err)
	}
}

// runsAgentAgain starts the agent again, as the account that is there now.
func (i *installed) runsAgentAgain() {
	i.Helper()
	east := i.system.Members[0]
	kubeconfig := filepath.Join(east.Dir, system.Agent("east")+".kubeconfig")
	if err := east.ServiceAccountKubeconfig(i.Context(), bundle.Namespace, "fedquota-agent", kubeconfig); err != nil {
		i.Fatal(err)
	}
	if err := i.system.Agents["east"].Restart(i.Context()); err != nil {
		i.Fatal(err)
	}
}

// deployed says whether the agent is installed.
func (i *installed) deployed(ctx context.Context) error {
	return i.member.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.DeploymentName}, &appsv1.Deployment{})
}

// TestHubInstallsAgents has a hub manager find a member with nothing in it, and keep it as its manifests say.
func TestHubInstallsAgents(t *testing.T) {
	t.Parallel()
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true})
	i := &installed{T: t, system: s}
	i.connects()
	i.begins()
	i.budget()
	i.eventually("the Deployment of the agent", i.deployed)
	i.runsAgent()
	i.eventually("the budget to be enforced", i.ready)
	i.eventually("the rules of the webhook", i.called)
	i.healsTheWebhook()
	i.healsTheGuard()
	i.healsTheAccount()
	i.takes("config/default", s.Hub)
	i.takes("config/member", s.Members[0])
	i.refusesSystemNamespaces()
	i.refusesAtTheDoor()
}

// refusesAtTheDoor tries a budget that cannot be acted on. The hub manager tells the API server where to ask, and is
// the one that answers; while it is away, the budget is stored, and can be deleted.
func (i *installed) refusesAtTheDoor() {
	typo := func() *quotav1alpha1.FederatedQuota {
		return &quotav1alpha1.FederatedQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "typo"},
			Spec: quotav1alpha1.FederatedQuotaSpec{
				Hard:      corev1.ResourceList{"count/deploymnets": resource.MustParse("1")},
				Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east"}},
			},
		}
	}
	i.eventually("a refusal", func(ctx context.Context) error {
		err := i.hub.Create(ctx, typo(), client.DryRunAll)
		if want := "spec.hard[count/deploymnets]: Invalid value"; !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want a 422 with %q", err, want)
		}
		return nil
	})
	if err := i.system.HubManager.Kill(); err != nil {
		i.Fatal(err)
	}
	fq := typo()
	if err := i.hub.Create(i.Context(), fq); err != nil {
		i.Fatalf("while the webhook is away: %v", err)
	}
	if err := i.system.HubManager.Restart(i.Context()); err != nil {
		i.Fatal(err)
	}
	i.eventually("the condition", func(ctx context.Context) error {
		if err := i.hub.Get(ctx, client.ObjectKeyFromObject(fq), fq); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady); c == nil || c.Reason != quotav1alpha1.ReasonInvalidSpec {
			return fmt.Errorf("got %+v", c)
		}
		return nil
	})
	if err := i.hub.Delete(i.Context(), fq); err != nil {
		i.Fatal(err)
	}
	i.eventually("the bad budget to be gone", func(ctx context.Context) error {
		if err := i.hub.Get(ctx, client.ObjectKeyFromObject(fq), fq); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// refusesSystemNamespaces tries a budget for what keeps clusters alive, first without and then with an administrator's
// leave.
func (i *installed) refusesSystemNamespaces() {
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
			Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"none"}},
		},
	}
	err := i.hub.Create(i.Context(), fq.DeepCopy(), client.DryRunAll)
	if want := "metadata.namespace: kube-system: a budget there would limit what keeps clusters alive"; !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), want) {
		i.Errorf("got %v, want a 403 with %q", err, want)
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
	leave := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"quota.fedquota.io/system-budgets":"allowed"}}}`))
	if err := i.hub.Patch(i.Context(), system, leave); err != nil {
		i.Fatal(err)
	}
	i.eventually("the leave to count", func(ctx context.Context) error { return i.hub.Create(ctx, fq.DeepCopy(), client.DryRunAll) })
}

// takes sees that an API server would take all manifests of a folder, and has nothing to say against them.
func (i *installed) takes(folder string, c *fleet.ControlPlane) {
	kubectl := filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl")
	command := exec.CommandContext(i.Context(), kubectl, "--kubeconfig="+c.Kubeconfig, "apply", "--server-side", "--force-conflicts",
		"--dry-run=server", "-k", filepath.Join("..", "..", folder))
	output, err := command.CombinedOutput()
	if err != nil || strings.Contains(string(output), "Warning") {
		i.Errorf("%s in %s: %v\n%s", folder, c.Name, err, output)
	}
}

// budget makes one that selects the member.
func (i *installed) budget() {
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east"}, CreateNamespace: new(true)},
		},
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, fq} {
		if err := i.hub.Create(i.Context(), object); err != nil {
			i.Fatal(err)
		}
	}
}

func (i *installed) ready(ctx context.Context) error {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := i.hub.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, fq); err != nil {
		return err
	}
	if !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
		return fmt.Errorf("not ready: %+v", fq.Status.Clusters)
	}
	return nil
}

// called says whether the API server calls the webhook.
func (i *installed) called(ctx context.Context) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := i.member.Get(ctx, client.ObjectKey{Name: "fedquota-agent"}, configuration); err != nil {
		return err
	}
	if len(configuration.Webhooks) == 0 {
		return fmt.Errorf("the configuration has no webhooks")
	}
	return nil
}

// healsTheWebhook deletes the configuration of the webhook: the hub manager brings it back, and the agent its rules.
func (i *installed) healsTheWebhook() {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-agent"}}
	if err := i.member.Delete(i.Context(), configuration); err != nil {
		i.Fatal(err)
	}
	i.Logf("the webhook was back after %s", i.eventually("the webhook to come back", i.called))
}

// healsTheAccount takes the rights of the hub away while it is down, and then its account: the hub manager brings both
// back, and writes.
func (i *installed) healsTheAccount() {
	i.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-hub-in-member"}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: members.AccountName}}
	back := func(object client.Object) {
		i.Helper()
		i.Logf("the %T was back after %s", object, i.eventually("it to come back", func(ctx context.Context) error {
			return i.member.Get(ctx, client.ObjectKeyFromObject(object), object)
		}))
	}
	if err := errors.Join(i.system.HubManager.Kill(), i.member.Delete(i.Context(), role), i.system.HubManager.Restart(i.Context())); err != nil {
		i.Fatal(err)
	}
	back(role)
	if err := i.member.Delete(i.Context(), account); err != nil {
		i.Fatal(err)
	}
	back(account)
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}}
	if err := i.hub.Patch(i.Context(), fq, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"5"}}}`))); err != nil {
		i.Fatal(err)
	}
	i.eventually("a share of the new budget", func(ctx context.Context) error {
		share := &quotav1alpha1.QuotaShare{}
		err := i.member.Get(ctx, client.ObjectKeyFromObject(fq), share)
		if pods := share.Spec.Hard[corev1.ResourcePods]; err == nil && pods.Value() > 5 {
			err = fmt.Errorf("it is %s", pods.String())
		}
		return err
	})
	i.eventually("the budget to be enforced again", i.ready)
}

// healsTheGuard takes the binding of the guard away: the agent says so, and the hub manager brings it back.
func (i *installed) healsTheGuard() {
	guard := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-guard"}}
	if err := i.member.Delete(i.Context(), guard); err != nil {
		i.Fatal(err)
	}
	i.Logf("the guard was back after %s", i.eventually("the guard to come back", func(ctx context.Context) error {
		return i.member.Get(ctx, client.ObjectKeyFromObject(guard), guard)
	}))
	i.eventually("the budget to be enforced again", i.ready)
}
