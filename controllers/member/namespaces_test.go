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
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestNamespaces has the book know of workloads where there is a share, for as long as there is one, by the rights of
// the agent.
func TestNamespaces(t *testing.T) {
	w, elsewhere := newWorld(t), newNamespace(t)
	api := agentsAPI(t)
	d := &memberdemand.Demand{Client: as(t, agent), Clock: clock.RealClock{}, Book: demand.NewBook()}
	namespaces := &memberdemand.Namespaces{Reader: as(t, agent), Follow: func(namespace string) (func(), error) {
		return d.Follow(t.Context(), api, namespace)
	}}
	reconcile := func() {
		t.Helper()
		for _, namespace := range []string{w.key.Namespace, elsewhere} {
			_, err := namespaces.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: namespace}})
			must(t, err)
		}
	}
	lacking := func(namespace string) int64 { return lacking(d.Book, namespace)[corev1.ResourcePods] }
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

// TestLimitRanges has the book know what a LimitRange gives to pods, as long as there is one, by the rights of the
// agent.
func TestLimitRanges(t *testing.T) {
	namespace := newNamespace(t)
	d := &memberdemand.Demand{Client: as(t, agent), Clock: clock.RealClock{}, Book: demand.NewBook()}
	must(t, as(t, admin).Create(t.Context(), statefulSet(namespace, "db", 3)))
	stop, err := d.Follow(t.Context(), agentsAPI(t), namespace)
	must(t, err)
	defer stop()
	heard := func(want amount.List) {
		t.Helper()
		eventually(t, func(context.Context) string { return cmp.Diff(want, lacking(d.Book, namespace)) })
	}

	heard(amount.List{"pods": 3})
	limits := limitRange(namespace, "2")
	must(t, as(t, admin).Create(t.Context(), limits))
	heard(amount.List{"pods": 3, "requests.cpu": 6000})
	limits.Spec.Limits[0].DefaultRequest = list("cpu", "1")
	must(t, as(t, admin).Update(t.Context(), limits))
	heard(amount.List{"pods": 3, "requests.cpu": 3000})
	must(t, as(t, admin).Delete(t.Context(), limits))
	heard(amount.List{"pods": 3})
}

// TestWorkloadsComeLast has an agent that starts not take pods for lacking that it does not know yet, nor for cheaper
// than they will be: somebody would be lowered for them, or woken in vain.
func TestWorkloadsComeLast(t *testing.T) {
	for _, slow := range []string{"pods", "limitranges"} {
		t.Run(slow, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testWorkloadsComeLast(t, slow) })
		})
	}
}

func testWorkloadsComeLast(t *testing.T, slow string) {
	t.Helper()
	db := statefulSet("team", "db", 3)
	db.UID = "db"
	api := slowLists{Clientset: fake.NewClientset(db, limitRange("team", "2")), slow: slow, listed: make(chan struct{})}
	d := &memberdemand.Demand{Client: noShares{}, Clock: clock.RealClock{}, Book: demand.NewBook()}
	stop, err := d.Follow(t.Context(), api, "team")
	must(t, err)
	defer stop()

	synctest.Wait()
	if got := lacking(d.Book, "team"); !got.IsZero() {
		t.Errorf("lacking before %s are known: %v", slow, got)
	}
	close(api.listed)
	synctest.Wait()
	if diff := cmp.Diff(amount.List{"pods": 3, "requests.cpu": 6000}, lacking(d.Book, "team")); diff != "" {
		t.Errorf("lacking once they are known (-want +got):\n%s", diff)
	}
}

// agentsAPI returns an API by the rights of the agent.
func agentsAPI(t *testing.T) kubernetes.Interface {
	t.Helper()
	as(t, agent)
	config := rest.CopyConfig(server)
	config.Impersonate.UserName = agent
	api, err := kubernetes.NewForConfig(config)
	must(t, err)
	return api
}

// lacking returns what the pods need that workloads of a namespace have lacked for a while.
func lacking(book *demand.Book, namespace string) amount.List {
	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "compute"}}
	share.Spec.Hard = list("pods", "10", "requests.cpu", "10")
	needs, _ := book.Demand(share, time.Now().Add(time.Minute))
	return demand.Total(needs)
}

// limitRange returns one that gives each container a request for cpu.
func limitRange(namespace, cpu string) *corev1.LimitRange {
	return &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limits"},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: list("cpu", cpu)}}},
	}
}

// slowLists is an API server that takes its time to list a kind.
type slowLists struct {
	*fake.Clientset
	slow   string
	listed chan struct{}
}

func (s slowLists) CoreV1() corev1client.CoreV1Interface {
	return slowCore{s.Clientset.CoreV1(), s.wait}
}

// wait waits before a kind is listed.
func (s slowLists) wait(kind string) {
	if kind == s.slow {
		<-s.listed
	}
}

type slowCore struct {
	corev1client.CoreV1Interface
	wait func(kind string)
}

func (s slowCore) Pods(namespace string) corev1client.PodInterface {
	return slowPods{s.CoreV1Interface.Pods(namespace), s.wait}
}

func (s slowCore) LimitRanges(namespace string) corev1client.LimitRangeInterface {
	return slowLimitRanges{s.CoreV1Interface.LimitRanges(namespace), s.wait}
}

type slowPods struct {
	corev1client.PodInterface
	wait func(kind string)
}

func (s slowPods) List(ctx context.Context, opts metav1.ListOptions) (*corev1.PodList, error) {
	s.wait("pods")
	return s.PodInterface.List(ctx, opts)
}

type slowLimitRanges struct {
	corev1client.LimitRangeInterface
	wait func(kind string)
}

func (s slowLimitRanges) List(ctx context.Context, opts metav1.ListOptions) (*corev1.LimitRangeList, error) {
	s.wait("limitranges")
	return s.LimitRangeInterface.List(ctx, opts)
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
