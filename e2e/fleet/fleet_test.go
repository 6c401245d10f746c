package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fedquota/fedquota/e2e/fleet"
)

const testTimeout = 3 * time.Minute

// needAssets skips a test where there are no control planes to run.
func needAssets(t *testing.T) {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: it names the folder with etcd, kube-apiserver and kube-controller-manager", fleet.AssetsVariable)
	}
}

// start starts a fleet that ends with the test.
func start(t *testing.T, options fleet.Options) *fleet.Fleet {
	t.Helper()
	needAssets(t)
	options.Progress = func(step string) { t.Log(step) }
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	f, err := fleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// clientFor returns a client.
func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, testTimeout, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestFleet(t *testing.T) {
	needAssets(t)
	crds, err := fleet.ClusterAPICRDs(t.Context(), "clusters")
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, fleet.Options{
		CRDPaths:         crds,
		ClusterNamespace: "clusters",
		Members: []fleet.ControlPlaneOptions{
			{Name: "east", Labels: map[string]string{"tier": "prod"}, SecondAPIServer: true},
			{Name: "west", ResourceQuotaSyncPeriod: time.Second, Nodes: nodes(t)},
		},
	})
	t.Run("quota", func(t *testing.T) { testQuota(t, f.Member("east")) })
	t.Run("cluster cache", func(t *testing.T) { testClusterCache(t, f) })
	t.Run("service account", func(t *testing.T) { testServiceAccount(t, f.Member("east")) })
	t.Run("program", func(t *testing.T) { testProgram(t, f) })
	t.Run("pause", func(t *testing.T) { testPause(t, f.Member("east")) })
	t.Run("restart", func(t *testing.T) { testRestart(t, f.Member("east")) })
	t.Run("nodes", func(t *testing.T) { testNodes(t, f.Member("west")) })
	t.Run("second fleet", func(t *testing.T) {
		second := start(t, fleet.Options{})
		createConfigMap(t, second.Hub, "here")
		if hasConfigMap(t, f.Hub, "here") {
			t.Error("the fleets share a hub")
		}
		testRestore(t, second.Hub)
	})
}

// testQuota sees the member's real quota controller count, and both its API servers refuse.
func testQuota(t *testing.T, member *fleet.ControlPlane) {
	quotas := clientFor(t, member.Config).CoreV1().ResourceQuotas(metav1.NamespaceDefault)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "quota in force", func(ctx context.Context) (bool, error) {
		q, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
		return err == nil && len(q.Status.Used) > 0, err
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for _, config := range []*rest.Config{member.Config, member.SecondConfig} {
		pods := clientFor(t, config).CoreV1().Pods(metav1.NamespaceDefault)
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("create a pod at %s: got %v, want Forbidden", config.Host, err)
		}
	}
}

// testServiceAccount gets in as a service account and may do as little as one.
func testServiceAccount(t *testing.T, member *fleet.ControlPlane) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := member.ServiceAccountKubeconfig(t.Context(), metav1.NamespaceDefault, "default", path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, config)
	self, err := client.AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := self.Status.UserInfo.Username, "system:serviceaccount:default:default"; got != want {
		t.Errorf("got user %s, want %s", got, want)
	}
	_, err = client.CoreV1().Secrets(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("list Secrets: got %v, want Forbidden", err)
	}
}

// testProgram runs a program beside the control planes, and one that fails.
func testProgram(t *testing.T, f *fleet.Fleet) {
	p, err := f.Run(t.Context(), fleet.Program{
		Name: "greeter",
		Path: "/bin/sh",
		Args: []string{"-c", `echo "$GREETING"; exec sleep 3600`},
		Env:  []string{"GREETING=hello"},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "output", func(context.Context) (bool, error) {
		log, err := os.ReadFile(p.LogPath)
		return string(log) == "hello\n", err
	})
	_, err = f.Run(t.Context(), fleet.Program{
		Name:  "failing",
		Path:  "/bin/sh",
		Args:  []string{"-c", "echo out of luck; exit 1"},
		Ready: func(context.Context) error { return errors.New("no answer") },
	})
	for _, want := range []string{"failing", "has exited", "out of luck", filepath.Join(f.Dir, "programs", "logs", "failing.log")} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// nodes returns nodes for a member, or nil if KWOK is not built.
func nodes(t *testing.T) *fleet.Nodes {
	t.Helper()
	kwok := filepath.Join("..", "..", "bin", "tools", "kwok")
	if _, err := os.Stat(kwok); err != nil {
		return nil
	}
	stages, err := fleet.KWOKStages(t.Context(), filepath.Join("..", "..", "hack", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	return &fleet.Nodes{KWOK: kwok, Stages: stages, Count: 3}
}

// testNodes sees a Deployment's pods run.
func testNodes(t *testing.T, member *fleet.ControlPlane) {
	if member.Process(fleet.KWOK) == nil {
		t.Skip("kwok is not built")
	}
	deployments := clientFor(t, member.Config).AppsV1().Deployments(metav1.NamespaceDefault)
	labels := map[string]string{"app": "test"}
	replicas := int32(5)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "test"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
	if _, err := deployments.Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pods ready", func(ctx context.Context) (bool, error) {
		d, err := deployments.Get(ctx, deployment.Name, metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas, err
	})
}
