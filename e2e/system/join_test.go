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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
)

// page runs the commands of a page of the docs, as a user would.
type page struct {
	*testing.T

	folder string
	blocks map[string][]string
}

// openPage reads a page of tasks, and puts what its commands name into a folder.
func openPage(t *testing.T, name string, s *system.System) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", name))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{T: t, folder: t.TempDir(), blocks: map[string][]string{}}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for i, block := range strings.Split(body, "```\n") {
			if i%2 == 1 {
				p.blocks[title] = append(p.blocks[title], block)
			}
		}
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"config": filepath.Join(root, "config"), "hub.kubeconfig": s.Hub.Kubeconfig}
	for _, member := range s.Members {
		files[member.Name+".kubeconfig"] = member.Kubeconfig
	}
	for name, target := range files {
		if err := os.Symlink(target, filepath.Join(p.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// runs executes all commands of a section, and returns what they print.
func (p *page) runs(section string) string {
	p.Helper()
	if len(p.blocks[section]) == 0 {
		p.Fatalf("the page has no commands below %q", section)
	}
	var printed strings.Builder
	for _, block := range p.blocks[section] {
		command := exec.CommandContext(p.Context(), "sh", "-ec", block)
		command.Dir = p.folder
		command.Env = append(os.Environ(), "PATH="+os.Getenv(fleet.AssetsVariable)+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		if err != nil {
			p.Fatalf("%s\n%v\n%s", block, err, output)
		}
		printed.Write(output)
	}
	return printed.String()
}

// TestJoinBySecret has a hub without Cluster API limit a cluster that it knows by a kubeconfig Secret alone.
func TestJoinBySecret(t *testing.T) {
	t.Parallel()
	s := startSystem(t, system.Options{Bare: true, HubInstalls: true, Standalone: true, ScaleOut: true})
	i := &installed{T: t, system: s}
	i.connects()
	p := openPage(t, "join-without-cluster-api.md", s)
	p.runs("A hub without Cluster API")
	i.begins()
	i.selectsProd()
	if printed := p.runs("Join"); !strings.Contains(printed, "tier=prod") {
		t.Errorf("the Cluster has no label of the Secret: %s", printed)
	}
	i.eventually("the Deployment of the agent", i.deployed)
	i.runsAgent()
	i.eventually("the budget to be enforced", i.ready)
	if limit := i.enforced().Status.Hard.Pods().Value(); limit < 1 || limit > 10 {
		t.Errorf("the cluster enforces a limit of %d, of a budget of 10", limit)
	}
	cluster := i.cluster()
	i.replacesTheSecret(p, cluster)
	i.makesTheClusterAgain()
	i.getsClusterAPI(cluster)
	i.followsMachines()
	i.addsANode()
	i.leaves(p)
}

// selectsProd makes a budget of the clusters with the label that the page sets.
func (i *installed) selectsProd() {
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}, CreateNamespace: new(true),
			},
		},
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, fq} {
		if err := i.hub.Create(i.Context(), object); err != nil {
			i.Fatal(err)
		}
	}
}

func (i *installed) cluster() *clusterv1.Cluster {
	i.Helper()
	cluster := &clusterv1.Cluster{}
	if err := i.hub.Get(i.Context(), client.ObjectKey{Namespace: "default", Name: "east"}, cluster); err != nil {
		i.Fatal(err)
	}
	return cluster
}

// replacesTheSecret changes the Secret as the page says, and then deletes it: the Cluster stays as it is.
func (i *installed) replacesTheSecret(p *page, before *clusterv1.Cluster) {
	i.Helper()
	p.runs("Replace the kubeconfig")
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "default", Name: "east-kubeconfig"}
	if err := i.hub.Get(i.Context(), key, secret); err != nil {
		i.Fatal(err)
	}
	if secret.Labels[quotav1alpha1.JoinLabel] != "true" {
		i.Errorf("the labels of the Secret are gone: %v", secret.Labels)
	}
	again := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: secret.Labels}, Type: secret.Type, Data: secret.Data}
	if err := errors.Join(i.hub.Delete(i.Context(), secret), i.hub.Create(i.Context(), again)); err != nil {
		i.Fatal(err)
	}
	if now := i.cluster(); now.UID != before.UID {
		i.Error("the Cluster is another one")
	}
}

// makesTheClusterAgain deletes the Cluster of a Secret that asks for it.
func (i *installed) makesTheClusterAgain() {
	i.Helper()
	var before types.UID
	// It leads nowhere: that the hub is to make its Cluster does not hang on that.
	unused := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "west-kubeconfig", Labels: map[string]string{
		clusterv1.ClusterNameLabel: "west", quotav1alpha1.JoinLabel: "true",
	}}}
	nowhere := clientcmdapi.NewConfig()
	nowhere.CurrentContext = "west"
	nowhere.Contexts["west"] = &clientcmdapi.Context{Cluster: "west", AuthInfo: "west"}
	nowhere.Clusters["west"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	nowhere.AuthInfos["west"] = &clientcmdapi.AuthInfo{Token: "none"}
	kubeconfig, err := clientcmd.Write(*nowhere)
	if err != nil {
		i.Fatal(err)
	}
	unused.Data = map[string][]byte{"value": kubeconfig}
	if err := i.hub.Create(i.Context(), unused); err != nil {
		i.Fatal(err)
	}
	west := &clusterv1.Cluster{}
	made := func(ctx context.Context) error {
		err := i.hub.Get(ctx, client.ObjectKey{Namespace: "default", Name: "west"}, west)
		if err == nil && west.UID == before {
			err = errors.New("it is the deleted one")
		}
		return err
	}
	i.eventually("the Cluster of another Secret", made)
	before = west.UID
	if err := i.hub.Delete(i.Context(), west); err != nil {
		i.Fatal(err)
	}
	i.eventually("the Cluster again", made)
	if err := errors.Join(i.hub.Delete(i.Context(), unused), i.hub.Delete(i.Context(), west)); err != nil {
		i.Fatal(err)
	}
}

// getsClusterAPI has Cluster API's kind take the place of the one that the page brings, and its machines be served.
func (i *installed) getsClusterAPI(before *clusterv1.Cluster) {
	i.Helper()
	paths, err := fleet.ClusterAPICRDs(i.Context(), "clusters", "machinedeployments", "machinepools")
	if err != nil {
		i.Fatal(err)
	}
	options := envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&options); err != nil {
		i.Fatal(err)
	}
	for _, crd := range options.CRDs {
		crd.Spec.Conversion = nil // its webhook does not run here
	}
	options.Paths = nil
	if _, err := envtest.InstallCRDs(i.system.Hub.Config, options); err != nil {
		i.Fatal(err)
	}
	i.eventually("the schema of Cluster API", func(ctx context.Context) error {
		unknown := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":"maybe"}}`))
		if err := i.hub.Patch(ctx, before.DeepCopy(), unknown, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("it takes anything: %w", err)
		}
		return nil
	})
	if diff := cmp.Diff(before.Spec, i.cluster().Spec); diff != "" {
		i.Errorf("the Cluster is another one:\n%s", diff)
	}
}

// followsMachines sees that the hub manager, which has begun without Cluster API's machines, ends once they are served,
// and that the next one follows them.
func (i *installed) followsMachines() {
	i.Helper()
	i.eventually("a hub manager that follows machines", func(context.Context) error {
		log, err := os.ReadFile(i.system.HubManager.LogPath)
		if err != nil {
			return err
		}
		_, next, ended := strings.Cut(string(log), "the hub serves Cluster API's machines now: ending")
		if !ended || !strings.Contains(next, "*v1beta2.MachineDeployment") {
			return fmt.Errorf("it has ended: %t, and follows none", ended)
		}
		return nil
	})
}

// machines is a MachineDeployment that came after the hub manager. Nothing makes its Machines here.
const machines = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: workers
  namespace: default
  annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "3"
    capacity.cluster-autoscaler.kubernetes.io/cpu: "4"
    capacity.cluster-autoscaler.kubernetes.io/memory: 16Gi
    quota.fedquota.io/scale-out: "true"
spec:
  clusterName: east
  replicas: 0
  selector: {matchLabels: {group: workers}}
  template:
    metadata: {labels: {group: workers}}
    spec:
      clusterName: east
      bootstrap: {dataSecretName: none}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: None, name: none}
---
apiVersion: v1
kind: Namespace
metadata: {name: grows}
---
apiVersion: quota.fedquota.io/v1alpha1
kind: FederatedQuota
metadata: {name: compute, namespace: grows}
spec:
  hard: {requests.cpu: "8"}
  capacity: {scaleOut: {machineDeploymentSelector: {}}}
  placement: {clusters: [east], createNamespace: true}
`

// addsANode has a pod ask for what no node has: machines that came late are added, too.
func (i *installed) addsANode() {
	i.Helper()
	late, err := bundle.Decode([]byte(machines))
	if err != nil {
		i.Fatal(err)
	}
	for _, object := range late {
		if err := i.hub.Create(i.Context(), object); err != nil {
			i.Fatal(err)
		}
	}
	resume := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":false}}`))
	if err := i.hub.Patch(i.Context(), i.cluster(), resume); err != nil { // nothing is scaled of one that is paused
		i.Fatal(err)
	}
	budget := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "grows", Name: "compute"}}
	i.eventually("a MachineDeployment that came late to be scaled", func(ctx context.Context) error {
		pod := kept(0)
		pod.Namespace = budget.Namespace
		asks := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		pod.Spec.Containers[0].Resources.Requests = asks
		refusal := i.member.Create(ctx, pod)
		workers := &clusterv1.MachineDeployment{}
		if err := i.hub.Get(ctx, client.ObjectKey{Namespace: "default", Name: "workers"}, workers); err != nil {
			return err
		}
		if err := i.hub.Get(ctx, client.ObjectKeyFromObject(budget), budget); err != nil {
			return err
		}
		if replicas := *workers.Spec.Replicas; replicas != 1 || !apierrors.IsForbidden(refusal) {
			return fmt.Errorf("it has %d replicas, told is %+v, and a pod gets %w", replicas, budget.Status.ScaleOut, refusal)
		}
		return nil
	})
	if err := i.hub.Delete(i.Context(), budget); err != nil {
		i.Fatal(err)
	}
	i.eventually("the budget of nodes to be gone", func(ctx context.Context) error {
		if err := i.hub.Get(ctx, client.ObjectKeyFromObject(budget), budget); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it gives %w", err)
		}
		return nil
	})
}

// leaves takes the cluster out of the budget, and then away.
func (i *installed) leaves(p *page) {
	i.Helper()
	cluster := i.cluster()
	i.deselects()
	p.runs("Leave")
	if err := i.hub.Get(i.Context(), client.ObjectKeyFromObject(cluster), cluster); !apierrors.IsNotFound(err) {
		i.Errorf("the Cluster is there: %v", err)
	}
}

// deselects takes the cluster out of the budget, and waits until it has left.
func (i *installed) deselects() {
	i.Helper()
	cluster := i.cluster()
	off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tier":null}}}`))
	if err := i.hub.Patch(i.Context(), cluster, off); err != nil {
		i.Fatal(err)
	}
	i.eventually("the cluster to have left", func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		err := i.hub.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, fq)
		if err == nil && len(fq.Status.Clusters) > 0 {
			err = errors.New("it is in the list")
		}
		return err
	})
}
