package fleet_test

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/e2e/fleet"
)

const testTimeout = time.Minute

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
	crds, err := fleet.ClusterAPICRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, fleet.Options{
		CRDPaths: crds,
		Members: []fleet.ControlPlaneOptions{
			{Name: "east", Labels: map[string]string{"tier": "prod"}, SecondAPIServer: true},
			{Name: "west"},
		},
	})
	t.Run("quota", func(t *testing.T) { testQuota(t, f.Member("east")) })
}

// testQuota sees the member's real quota controller count, and both its API servers refuse.
func testQuota(t *testing.T, member *fleet.ControlPlane) {
	client := clientFor(t, member.Config)
	quotas := client.CoreV1().ResourceQuotas(metav1.NamespaceDefault)
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
