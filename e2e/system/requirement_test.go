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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/requirement"
)

const (
	services   = "cluster-services"
	goldName   = "gold.storageclass.storage.k8s.io/requests.storage"
	noServices = "insufficient quota to match these scopes: [{PriorityClass In [cluster-services]}]"
	noGold     = "insufficient quota to consume: " + goldName
)

// required is a fleet with a QuotaRequirement.
type required struct {
	*installed

	members map[string]client.Client
}

// TestRequirement has the members of a hub admit pods of a priority class, and claims of a storage class, where a
// FederatedQuota covers them, and nowhere else.
func TestRequirement(t *testing.T) {
	t.Parallel()
	members := []fleet.ControlPlaneOptions{{Name: "east", Labels: map[string]string{"tier": "prod"}}, {Name: "west", Labels: map[string]string{"tier": "prod"}}}
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true, Fleet: fleet.Options{Members: members}})
	r := &required{installed: &installed{T: t, system: s}, members: map[string]client.Client{}}
	r.connects()
	r.prepares()
	r.begins()
	r.refusesDemands()
	r.demands()
	r.page("required", r.system.Hub, "kubectl get quotarequirements")
	r.refuses("team-a", services)
	r.page("refused", r.system.Members[0], "kubectl create -n team-a -f web.yaml")
	r.admits("team-a", "plain")
	r.admits("monitoring", services)
	r.admits(metav1.NamespaceSystem, services)
	r.runsAgents()
	r.waits()
	r.covers()
	r.admits("team-a", services)
	r.goesOn()
	r.page("admitted", r.system.Members[0], "kubectl create -n team-a -f web.yaml")
	r.page("covered", r.system.Members[0], "kubectl get namespace team-a -o custom-columns=NAME:.metadata.name,COVERED:.metadata.annotations.quota\\.fedquota\\.io/covered")
	r.refuses("team-b", services)
	r.refusesForgeries()
	r.admits("team-a", services) // the agent puts its note back
	r.heals()
	r.ends()
}

// prepares makes what is in members before there is a requirement.
func (r *required) prepares() {
	r.Helper()
	for _, m := range r.system.Members {
		c, err := system.Client(m)
		if err != nil {
			r.Fatal(err)
		}
		r.members[m.Name] = c
		for _, name := range []string{"team-a", "team-b", "monitoring"} {
			r.must(c.Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		}
		for _, name := range []string{services, "plain"} {
			r.must(c.Create(r.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1}))
		}
	}
	r.must(r.hub.Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}))
}

// refusesDemands sees that the hub's API server refuses a requirement that no quota could ever meet, once it calls the hub
// manager.
func (r *required) refusesDemands() {
	r.Helper()
	bad := &quotav1alpha1.QuotaRequirement{
		ObjectMeta: metav1.ObjectMeta{Name: "bad"},
		Spec: quotav1alpha1.QuotaRequirementSpec{
			ClusterSelector: &metav1.LabelSelector{}, Resources: []quotav1alpha1.RequiredResource{"requests.kubernetes.io/gpu"},
		},
	}
	until(r.T, "the requirement to be refused", func(ctx context.Context) (bool, error) {
		err := r.hub.Create(ctx, bad.DeepCopy(), client.DryRunAll)
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.resources[0]") && strings.Contains(err.Error(), "never counted"), nil
	})
}

// kubectl runs a command as an administrator, and returns what it prints.
func (r *required) kubectl(c *fleet.ControlPlane, args ...string) (string, error) {
	command := exec.CommandContext(r.Context(), filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	output, err := command.CombinedOutput()
	return string(output), err
}

// web is the pod of the page on tasks.
const web = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {priorityClassName: cluster-services, containers: [{name: web, image: "registry.k8s.io/pause:3.10"}]}}`

// page keeps what a command prints for docs/tasks/require-a-quota.md. The file web.yaml is at hand.
func (r *required) page(name string, c *fleet.ControlPlane, command string) {
	r.Helper()
	file := filepath.Join(r.TempDir(), "web.yaml")
	r.must(os.WriteFile(file, []byte(web), 0o600))
	output, _ := r.kubectl(c, strings.Fields(strings.ReplaceAll(strings.TrimPrefix(command, "kubectl "), "web.yaml", file))...)
	output = strings.ReplaceAll(output, file, "web.yaml")
	folder := filepath.Join("..", "..", "bin", "e2e", "requirement")
	r.must(os.MkdirAll(folder, 0o750))
	r.must(os.WriteFile(filepath.Join(folder, name+".txt"), []byte("$ "+command+"\n"+output), 0o600))
}

func (r *required) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// demands makes the requirement. There is nothing else of fedquota in the members: the hub manager installs what it
// takes.
func (r *required) demands() {
	r.Helper()
	_, err := r.kubectl(r.system.Hub, "apply", "-f", filepath.Join("..", "..", "config", "samples", "quota_v1alpha1_quotarequirement.yaml"))
	r.must(err)
	r.Logf("enforced after %s", r.eventually("the requirement to be enforced", r.enforcedBy("2/2")))
}

// enforcedBy says whether the requirement is ready, in so many clusters.
func (r *required) enforcedBy(clusters string) func(context.Context) error {
	return func(ctx context.Context) error {
		stored := &quotav1alpha1.QuotaRequirement{}
		if err := r.hub.Get(ctx, client.ObjectKey{Name: services}, stored); err != nil {
			return err
		}
		if !apimeta.IsStatusConditionTrue(stored.Status.Conditions, quotav1alpha1.ConditionReady) || stored.Status.Enforced != clusters {
			return fmt.Errorf("status %+v", stored.Status)
		}
		return nil
	}
}

// tries asks each member for a pod of a class and a claim, without effect, until all answers are as wanted.
func (r *required) tries(namespace, class, wantPod, wantClaim string) {
	r.Helper()
	for name, c := range r.members {
		p := pod("probe", "0")
		p.Namespace, p.Spec.PriorityClassName = namespace, class
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: new("gold"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}
		if class == "plain" {
			claim.Spec.StorageClassName = new("silver")
		}
		r.eventually("the answers of "+name, func(ctx context.Context) error {
			for object, want := range map[client.Object]string{p: wantPod, claim: wantClaim} {
				err := c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
				if want == "" && err != nil || want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)) {
					return fmt.Errorf("%T: got %w, want %q", object, err, want)
				}
			}
			return nil
		})
	}
}

func (r *required) refuses(namespace, class string) {
	r.Helper()
	r.tries(namespace, class, noServices, noGold)
}

func (r *required) admits(namespace, class string) {
	r.Helper()
	r.tries(namespace, class, "", "")
}

// runsAgents runs the agents that the hub manager has installed beside their clusters, which have no nodes.
func (r *required) runsAgents() {
	r.Helper()
	for _, m := range r.system.Members {
		r.eventually("the account of the agent in "+m.Name, func(ctx context.Context) error {
			return r.members[m.Name].Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: "fedquota-agent"}, &corev1.ServiceAccount{})
		})
		agent, err := r.system.StartAgent(r.Context(), m, system.Agent(m.Name))
		r.must(err)
		r.system.Agents[m.Name] = agent
	}
}

// covers gives team-a a budget of the class, and one of the storage.
func (r *required) covers() {
	r.Helper()
	budget := func(name string, hard corev1.ResourceList, selector *corev1.ScopeSelector) {
		r.must(r.hub.Create(r.Context(), &quotav1alpha1.FederatedQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name},
			Spec: quotav1alpha1.FederatedQuotaSpec{
				Hard: hard, ScopeSelector: selector,
				Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{}},
				Removal:   quotav1alpha1.Removal{Policy: quotav1alpha1.RemovalDelete},
			},
		}))
	}
	budget("services", corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")}, &corev1.ScopeSelector{
		MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{services},
		}},
	})
	budget("storage", corev1.ResourceList{goldName: resource.MustParse("100Gi")}, nil)
}

// waits has a workload be refused its pod in each member.
func (r *required) waits() {
	r.Helper()
	for name, c := range r.members {
		set := replicaSet("waiting", 1)
		set.Spec.Template.Spec = podSpec("0")
		set.Spec.Template.Spec.PriorityClassName = services
		r.must(c.Create(r.Context(), set))
		r.eventually("a refusal in "+name, func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(set), set)
			if err == nil && len(set.Status.Conditions) == 0 {
				err = errors.New("it has no condition")
			}
			return err
		})
	}
}

// goesOn sees that the workload gets its pod.
func (r *required) goesOn() {
	r.Helper()
	for name, c := range r.members {
		r.Logf("%s: it got its pod after %s", name, r.eventually("the pod in "+name, func(ctx context.Context) error {
			set := replicaSet("waiting", 1)
			err := c.Get(ctx, client.ObjectKeyFromObject(set), set)
			if err == nil && set.Status.Replicas == 0 {
				err = errors.New("there is none")
			}
			return err
		}))
	}
}

// refusesForgeries says as an administrator that a namespace is covered.
func (r *required) refusesForgeries() {
	r.Helper()
	for name, c := range r.members {
		forged := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+quotav1alpha1.CoveredAnnotation+`":"PriorityClass"}}}`))
		err := c.Patch(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-b"}}, forged)
		if !apierrors.IsForbidden(err) {
			r.Errorf("%s: a forged note: got %v, want a 403", name, err)
		}
		off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))
		r.must(c.Patch(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}, off))
	}
}

// heals takes the policy of one member away, and makes it do nothing in the other.
func (r *required) heals() {
	r.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: requirement.Name}}
	r.must(r.members["east"].Delete(r.Context(), policy))
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: requirement.Name}}
	warns := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"validationActions":["Warn"]}}`))
	r.must(r.members["west"].Patch(r.Context(), binding, warns))
	r.eventually("the policy to come back", func(ctx context.Context) error {
		return r.members["east"].Get(ctx, client.ObjectKeyFromObject(policy), policy)
	})
	r.eventually("the binding to refuse again", func(ctx context.Context) error {
		err := r.members["west"].Get(ctx, client.ObjectKeyFromObject(binding), binding)
		if err == nil && binding.Spec.ValidationActions[0] != admissionregistrationv1.Deny {
			err = fmt.Errorf("it is to %v", binding.Spec.ValidationActions)
		}
		return err
	})
	r.refuses("team-b", services)
}

// ends takes the cover away, then a cluster, then the requirement.
func (r *required) ends() {
	r.Helper()
	for _, name := range []string{"services", "storage"} {
		r.must(r.hub.Delete(r.Context(), &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}}))
	}
	r.refuses("team-a", services)
	deselected := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"test"}}}`))
	r.must(r.hub.Patch(r.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "west"}}, deselected))
	r.eventually("west to enforce nothing", r.free("west"))
	r.eventually("the requirement to be enforced by east", r.enforcedBy("1/1"))
	r.must(r.hub.Delete(r.Context(), &quotav1alpha1.QuotaRequirement{ObjectMeta: metav1.ObjectMeta{Name: services}}))
	r.eventually("east to enforce nothing", r.free("east"))
	r.eventually("the requirement to be gone", func(ctx context.Context) error {
		if err := r.hub.Get(ctx, client.ObjectKey{Name: services}, &quotav1alpha1.QuotaRequirement{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	r.admits("team-b", services)
}

// free says whether a member has no policy of requirements.
func (r *required) free(member string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, object := range []client.Object{
			&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
		} {
			if err := r.members[member].Get(ctx, client.ObjectKey{Name: requirement.Name}, object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T: it is there: %w", object, err)
			}
		}
		return nil
	}
}
