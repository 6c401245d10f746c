package tenant_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/hub/tenant"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// many is how many namespaces come and go.
const many = 300

const label = "many"

// manager runs the controllers of pools and tenants, and returns a client.
func manager(t *testing.T) client.Client {
	t.Helper()
	config := tenant.Config(t)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: schemes.All(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{UsePriorityQueue: new(false)}, // it may hang as it shuts down
	})
	must(t, err)
	r := &pool.Reconciler{
		Needs: &pool.Needs{}, Trees: &trees.Trees{},
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Recorder: mgr.GetEventRecorder("test"),
		Tenants: &tenant.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
	}
	must(t, r.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: 10}, func() error { return nil }))
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
	})
	c, err := client.New(config, client.Options{Scheme: schemes.All()})
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each does something for a number of namespaces, several at once.
func each(t *testing.T, from, to int, do func(context.Context, *corev1.Namespace) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(10)
	for i := from; i < to; i++ {
		group.Go(func() error {
			return do(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("many-%03d", i), Labels: map[string]string{label: "yes"},
			}})
		})
	}
	must(t, group.Wait())
}

// TestManyNamespaces has namespaces come and go by hundreds.
func TestManyNamespaces(t *testing.T) {
	c := manager(t)
	p := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "many"}}
	p.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1000")}
	p.Spec.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}}
	must(t, c.Create(t.Context(), p))
	reaches := func(want int) {
		t.Helper()
		begun := time.Now()
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			var kept quotav1alpha1.FederatedQuotaList
			err := c.List(ctx, &kept, client.MatchingLabels{quotav1alpha1.KeptLabel: "QuotaPool"})
			if err == nil {
				err = c.Get(ctx, client.ObjectKeyFromObject(p), p)
			}
			count := 0
			for i := range kept.Items {
				if kept.Items[i].Spec.Pool.Name == "many" {
					count++
				}
			}
			return count == want && p.Status.Namespaces == fmt.Sprintf("%d/%d", want, want), err
		})
		if err != nil {
			t.Fatalf("want %d, status %+v: %v", want, p.Status, err)
		}
		t.Logf("%d after %s", want, time.Since(begun).Round(time.Millisecond))
	}
	each(t, 0, many, func(ctx context.Context, n *corev1.Namespace) error { return c.Create(ctx, n) })
	reaches(many)
	each(t, 0, 100, func(ctx context.Context, n *corev1.Namespace) error {
		n.Labels[label] = "no"
		return c.Patch(ctx, n, client.Merge)
	})
	reaches(many - 100)
	each(t, 100, 150, func(ctx context.Context, n *corev1.Namespace) error {
		return c.DeleteAllOf(ctx, &quotav1alpha1.FederatedQuota{}, client.InNamespace(n.Name))
	})
	each(t, 50, 100, func(ctx context.Context, n *corev1.Namespace) error { return c.Patch(ctx, n, client.Merge) })
	reaches(many - 50)
	must(t, c.Delete(t.Context(), p))
	must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(p), p)), nil
	}))
	var left quotav1alpha1.FederatedQuotaList
	must(t, c.List(t.Context(), &left))
	for i := range left.Items {
		if left.Items[i].Spec.Pool != nil && left.Items[i].Spec.Pool.Name == "many" {
			t.Errorf("%s stays without its pool", left.Items[i].Namespace)
		}
	}
}
