package member_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/member"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestNamespaces has the book know of workloads where there is a share, for as long as there is one, by the rights of the agent.
func TestNamespaces(t *testing.T) {
	w, elsewhere := newWorld(t), newNamespace(t)
	config := rest.CopyConfig(server)
	config.Impersonate.UserName = agent
	api, err := kubernetes.NewForConfig(config)
	must(t, err)
	d := &member.Demand{Client: as(t, agent), Clock: clock.RealClock{}, Book: demand.NewBook()}
	namespaces := &member.Namespaces{Reader: as(t, agent), Follow: func(namespace string) (func(), error) {
		return d.Follow(t.Context(), api, namespace)
	}}
	reconcile := func() {
		t.Helper()
		for _, namespace := range []string{w.key.Namespace, elsewhere} {
			_, err := namespaces.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: namespace}})
			must(t, err)
		}
	}
	lacking := func(namespace string) int64 {
		t.Helper()
		share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.key.Name}}
		share.Spec.Hard = list("pods", "10")
		needs, _ := d.Book.Demand(share, time.Now().Add(time.Minute))
		return demand.Total(needs)[corev1.ResourcePods]
	}
	heard := func(context.Context) string { return cmp.Diff(int64(3), lacking(w.key.Namespace)) }

	for _, namespace := range []string{w.key.Namespace, elsewhere} {
		must(t, w.hub.Create(t.Context(), statefulSet(namespace, "db", 3)))
	}
	w.share(1, "pods", "10")
	reconcile()
	reconcile() // of which nothing comes twice
	eventually(t, heard)
	if got := lacking(elsewhere); got != 0 {
		t.Errorf("%d pods are lacking where there is no share", got)
	}

	share := w.status()
	share.Finalizers = nil
	must(t, w.hub.Update(t.Context(), share))
	must(t, w.hub.Delete(t.Context(), share))
	reconcile()
	if got := lacking(w.key.Namespace); got != 0 {
		t.Errorf("%d pods are lacking where there is no share any more", got)
	}

	w.share(1, "pods", "10")
	reconcile()
	eventually(t, heard)
	must(t, w.hub.Delete(t.Context(), w.status())) // its finalizer keeps it
	reconcile()
	if diff := heard(t.Context()); diff != "" {
		t.Errorf("pods that are lacking while a share leaves:\n%s", diff)
	}
}

// TestPodsFirst has an agent that starts not take pods for lacking that it does not know yet: somebody would be lowered for them.
func TestPodsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := statefulSet("team", "db", 3)
		db.UID = "db"
		api := slowPods{Clientset: fake.NewClientset(db), listed: make(chan struct{})}
		d := &member.Demand{Client: noShares{}, Clock: clock.RealClock{}, Book: demand.NewBook()}
		stop, err := d.Follow(t.Context(), api, "team")
		must(t, err)
		defer stop()
		lacking := func() amount.List {
			share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "compute"}}
			share.Spec.Hard = list("pods", "10")
			needs, _ := d.Book.Demand(share, time.Now().Add(time.Minute))
			return demand.Total(needs)
		}

		synctest.Wait()
		if got := lacking(); !got.IsZero() {
			t.Errorf("lacking before pods are known: %v", got)
		}
		close(api.listed)
		synctest.Wait()
		if diff := cmp.Diff(amount.List{"pods": 3}, lacking()); diff != "" {
			t.Errorf("lacking once they are known (-want +got):\n%s", diff)
		}
	})
}

// slowPods is an API server that takes its time to list pods.
type slowPods struct {
	*fake.Clientset
	listed chan struct{}
}

func (s slowPods) CoreV1() corev1client.CoreV1Interface {
	return slowCore{s.Clientset.CoreV1(), s.listed}
}

type slowCore struct {
	corev1client.CoreV1Interface
	listed chan struct{}
}

func (s slowCore) Pods(namespace string) corev1client.PodInterface {
	return slowList{s.CoreV1Interface.Pods(namespace), s.listed}
}

type slowList struct {
	corev1client.PodInterface
	listed chan struct{}
}

func (s slowList) List(ctx context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
	<-s.listed
	return s.PodInterface.List(ctx, opts)
}

// noShares is a client that knows of no shares.
type noShares struct{ client.Client }

func (noShares) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func statefulSet(namespace, name string, replicas int32) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}},
			},
		},
	}
}
