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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
)

// TestWatch has the book know of the workloads of the cluster, by the rights of the agent.
func TestWatch(t *testing.T) {
	namespace := newNamespace(t)
	must(t, as(t, admin).Create(t.Context(), statefulSet(namespace, "before", 3)))
	book := watch(t, as(t, agent), agentsAPI(t))
	pods := func(want int64) {
		t.Helper()
		eventually(t, func(context.Context) string { return cmp.Diff(want, lacking(book, namespace)[corev1.ResourcePods]) })
	}

	pods(3)
	after := statefulSet(namespace, "after", 2)
	must(t, as(t, admin).Create(t.Context(), after))
	pods(5)
	must(t, as(t, admin).Delete(t.Context(), after))
	pods(3)
	daemons := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daemons"},
		Spec:       appsv1.DaemonSetSpec{Selector: after.Spec.Selector, Template: after.Spec.Template},
	}
	must(t, as(t, admin).Create(t.Context(), daemons))
	daemons.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 4}
	must(t, as(t, admin).Status().Update(t.Context(), daemons))
	pods(7)
}

// TestLimitRanges has the book know what a LimitRange gives to pods, as long as there is one, by the rights of the
// agent.
func TestLimitRanges(t *testing.T) {
	namespace := newNamespace(t)
	must(t, as(t, admin).Create(t.Context(), statefulSet(namespace, "db", 3)))
	book := watch(t, as(t, agent), agentsAPI(t))
	heard := func(want amount.List) {
		t.Helper()
		eventually(t, func(context.Context) string { return cmp.Diff(want, lacking(book, namespace)) })
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
	book := watch(t, noShares{}, api)

	synctest.Wait()
	if got := lacking(book, "team"); !got.IsZero() {
		t.Errorf("lacking before %s are known: %v", slow, got)
	}
	close(api.listed)
	synctest.Wait()
	if diff := cmp.Diff(amount.List{"pods": 3, "requests.cpu": 6000}, lacking(book, "team")); diff != "" {
		t.Errorf("lacking once they are known (-want +got):\n%s", diff)
	}
}

// watch returns a book that is kept by a cluster until the test ends.
func watch(t *testing.T, shares client.Client, api kubernetes.Interface) *demand.Book {
	t.Helper()
	d := &memberdemand.Demand{Client: shares, Clock: clock.RealClock{}, Book: demand.NewBook(), Nodes: &capacity.Nodes{}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- (&memberdemand.Watch{Demand: d, API: api}).Start(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	return d.Book
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
	return shape.Total(needs)
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
