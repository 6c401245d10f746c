package census

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/internal/observer"
)

func TestFinish(t *testing.T) {
	cases := map[string]struct{ inB, ceiling, overcharged, over string }{
		"all of the budget":         {"6", "10", "0", ""},
		"more than the budget":      {"9", "10", "0", "pods=3"},
		"overcharged":               {"8", "10", "2", ""},
		"more than was overcharged": {"8", "10", "1", "pods=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Recount{Resources: []Resource{
				{Name: "pods", Ceiling: amount(tc.ceiling), Members: map[string]resource.Quantity{}}, {Name: "secrets"},
			}}
			r.add("a", amounts("pods=4"))
			r.add("b", amounts("pods="+tc.inB))
			r.finish(amounts("pods=9"), amounts("pods="+tc.overcharged))
			if over := r.Over(); !quotav1.Equals(over, amounts(tc.over)) {
				t.Errorf("over %v, want %s", over, tc.over)
			}
			if len(r.Uncounted) != 1 || r.Uncounted[0] != "secrets" {
				t.Errorf("uncounted %v", r.Uncounted)
			}
		})
	}
}

// member is a namespace of a real API server for each of two members.
type member struct {
	*testing.T

	config *rest.Config
	client *kubernetes.Clientset
}

// start starts an API server, which stops with the test.
func start(t *testing.T) *member {
	t.Helper()
	config := apiserver.Start(t, apiserver.Options{}).Config
	return &member{T: t, config: config, client: kubernetes.NewForConfigOrDie(config)}
}

func (m *member) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// create creates a pod of half a core in a phase.
func (m *member) create(namespace string, phase corev1.PodPhase, deadline *int64) {
	m.Helper()
	pod := podWith("500m", "")
	pod.Name, pod.Spec.ActiveDeadlineSeconds = strings.ToLower(string(phase)), deadline
	if deadline != nil {
		pod.Name += "-short"
	}
	delete(pod.Spec.Containers[0].Resources.Requests, "hugepages-2Mi")
	delete(pod.Spec.Containers[0].Resources.Limits, "hugepages-2Mi")
	pod, err := m.client.CoreV1().Pods(namespace).Create(m.Context(), pod, metav1.CreateOptions{})
	m.must(err)
	pod.Status.Phase = phase
	_, err = m.client.CoreV1().Pods(namespace).UpdateStatus(m.Context(), pod, metav1.UpdateOptions{})
	m.must(err)
}

// counts compares what exists in two namespaces with what is wanted.
func (m *member) counts(budget, want, over, uncounted string, scopes ...corev1.ScopedResourceSelectorRequirement) {
	m.Helper()
	options := observer.Options{Places: map[string]observer.Place{}, Budget: amounts(budget)}
	for _, namespace := range []string{"a", "b"} {
		place := observer.Place{Config: m.config, Namespace: namespace, Name: "compute"}
		if len(scopes) > 0 {
			place.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
			place.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: scopes}
		}
		options.Places[namespace] = place
	}
	o, err := observer.Watch(m.Context(), options)
	m.must(err)
	defer o.Stop()
	counted, err := Of(m.Context(), o)
	m.must(err)
	got := corev1.ResourceList{}
	for _, res := range counted.Resources {
		got[res.Name] = res.Exists
	}
	if !quotav1.Equals(amounts(want), got) {
		m.Errorf("exists %v, want %s", got, want)
	}
	if got := counted.Over(); !quotav1.Equals(got, amounts(over)) {
		m.Errorf("over %v, want %s", got, over)
	}
	if len(counted.Uncounted) != 1 || string(counted.Uncounted[0]) != uncounted {
		m.Errorf("uncounted %v", counted.Uncounted)
	}
}

func TestOf(t *testing.T) {
	m := start(t)
	for _, name := range []string{"a", "b"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := m.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		m.must(err)
		m.create(name, corev1.PodRunning, nil)
		m.create(name, corev1.PodSucceeded, nil)
	}
	m.counts(
		"requests.cpu=700m,pods=2,count/pods=9,count/deployments.apps=1,services.nodeports=1,count/nothing.example.com=1",
		"requests.cpu=1,pods=2,count/pods=4,count/deployments.apps=0,services.nodeports=0",
		"requests.cpu=300m", "count/nothing.example.com")
	for _, name := range []string{"a", "b"} {
		m.create(name, corev1.PodRunning, new(int64(3600)))
	}
	m.counts("requests.cpu=5,pods=9,persistentvolumeclaims=1,services=1",
		"requests.cpu=1,pods=2,persistentvolumeclaims=0", "", "services", corev1.ScopedResourceSelectorRequirement{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpDoesNotExist,
		})
}
