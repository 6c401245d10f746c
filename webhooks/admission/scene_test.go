package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/nativequota"
)

var key = types.NamespacedName{Namespace: "team", Name: "compute"}

// scene is a gate with one share of 10 CPUs.
type scene struct {
	*testing.T
	gate    *Gate
	clock   *testingclock.FakeClock
	share   *quotav1alpha1.QuotaShare
	quota   *corev1.ResourceQuota
	live    *corev1.ResourceQuota // nil: the API server does not answer
	reports atomic.Int32
	beats   int // how often the hub renewed its Lease
	stuck   bool
	classes map[string]string // what device classes stand for; nil: the API server does not answer
	objects []string          // the names of objects; nil: the API server does not answer
}

// Get makes the scene the API server.
func (s *scene) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.live == nil {
		return errors.New("no answer")
	}
	s.live.DeepCopyInto(into.(*corev1.ResourceQuota))
	return nil
}

// List lists device classes, or objects of any other kind.
func (s *scene) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if objects, other := list.(*metav1.PartialObjectMetadataList); other {
		if s.objects == nil {
			return errors.New("no answer")
		}
		for _, name := range s.objects {
			objects.Items = append(objects.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return nil
	}
	if s.classes == nil {
		return errors.New("no answer")
	}
	for name, stands := range s.classes {
		into := list.(*resourcev1.DeviceClassList)
		into.Items = append(into.Items, resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &stands},
		})
	}
	return nil
}

func newScene(t *testing.T, used string) *scene {
	t.Helper()
	hard := corev1.ResourceList{"requests.cpu": resource.MustParse("10")}
	s := &scene{
		T:     t,
		clock: testingclock.NewFakeClock(time.Unix(1000, 0)),
		share: &quotav1alpha1.QuotaShare{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1},
			Spec: quotav1alpha1.QuotaShareSpec{Hard: hard, Fleet: quotav1alpha1.Fleet{
				Budget: corev1.ResourceList{"requests.cpu": resource.MustParse("30")},
				Used:   corev1.ResourceList{"requests.cpu": resource.MustParse("28")},
			}},
		},
	}
	s.gate = &Gate{
		Clock: s.clock, Book: demand.NewBook(), Live: s,
		Report: func(types.NamespacedName) { s.reports.Add(1) },
		Stuck:  func() bool { return s.stuck },
	}
	s.gate.SetShare(s.share)
	s.set("10", used)
	return s
}

// set makes the ResourceQuota say so, to the cache and live.
func (s *scene) set(hard, used string) {
	limits := corev1.ResourceList{"requests.cpu": resource.MustParse(hard)}
	s.quota = &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		Spec:       corev1.ResourceQuotaSpec{Hard: limits},
		Status:     corev1.ResourceQuotaStatus{Hard: limits, Used: corev1.ResourceList{"requests.cpu": resource.MustParse(used)}},
	}
	s.live = s.quota
	s.gate.SetQuota(s.quota)
}

// begin makes the ResourceQuota a new one, which nothing is counted under yet.
func (s *scene) begin(hard string) {
	s.set(hard, "0")
	s.quota = s.quota.DeepCopy()
	s.quota.Status = corev1.ResourceQuotaStatus{}
	s.live = s.quota
	s.gate.SetQuota(s.quota)
}

// charged makes the API server alone know of more usage.
func (s *scene) charged(used string) {
	s.live = s.quota.DeepCopy()
	s.live.ResourceVersion = "2"
	s.live.Status.Used["requests.cpu"] = resource.MustParse(used)
}

// saysStuck makes the share say whether the quota controller is stuck.
func (s *scene) saysStuck(stuck metav1.ConditionStatus) {
	s.share = s.share.DeepCopy()
	stuckCondition(s.share, stuck)
	s.gate.SetShare(s.share)
}

func stuckCondition(share *quotav1alpha1.QuotaShare, status metav1.ConditionStatus) {
	apimeta.SetStatusCondition(&share.Status.Conditions, metav1.Condition{
		Type: quotav1alpha1.ConditionStuckQuotaController, Status: status, Reason: quotav1alpha1.ReasonCanaryNotSynced,
	})
}

// limitUncounted makes the ResourceQuota limit a name that the quota controller counts nothing under.
func (s *scene) limitUncounted(name corev1.ResourceName) {
	quota := s.quota.DeepCopy()
	quota.Spec.Hard[name], quota.Status.Hard[name] = resource.MustParse("5"), resource.MustParse("5")
	s.quota, s.live = quota, quota
	s.gate.SetQuota(quota)
}

func cpuPod(cpu string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
	}}}}
}

func request(cpu string) Request {
	return Request{
		Namespace: key.Namespace, Owner: demand.Owner{Kind: "Pod", Name: "pod-" + cpu},
		Charge: nativequota.Charge{Resource: nativequota.Pods, Object: cpuPod(cpu)},
	}
}

// admit sends a request, which is answered now.
func (s *scene) admit(r Request) string {
	s.Helper()
	answer := s.send(r)
	select {
	case denial := <-answer:
		return denial
	case <-time.After(10 * time.Second):
		s.Fatal("the request is held")
		return ""
	}
}

func (s *scene) send(r Request) <-chan string { return s.sendBy(s.Context(), r) }

// sendBy sends a request of a client that gives it up when the context is done.
func (s *scene) sendBy(ctx context.Context, r Request) <-chan string {
	answer := make(chan string, 1)
	go func() { answer <- s.gate.Admit(ctx, r) }()
	return answer
}

// held sends a request that is held.
func (s *scene) held(r Request) <-chan string {
	s.Helper()
	return s.heldBy(s.Context(), r)
}

func (s *scene) heldBy(ctx context.Context, r Request) <-chan string {
	s.Helper()
	before := s.waiting()
	answer := s.sendBy(ctx, r)
	synctest.Wait()
	if s.waiting() == before {
		s.Fatal("the request is not held")
	}
	return answer
}

func (s *scene) waiting() int {
	return s.gate.lane(key).Waiting()
}

// answer waits for an answer while the clock goes on, which it does whenever all requests wait.
func (s *scene) answer(answers <-chan string, within time.Duration) string {
	s.Helper()
	const step = 5 * time.Millisecond
	for passed := time.Duration(0); passed <= within; passed += step {
		synctest.Wait()
		select {
		case denial := <-answers:
			return denial
		default:
			s.clock.Step(step)
		}
	}
	s.Fatalf("no answer within %s", within)
	return ""
}

func (s *scene) demand() string {
	s.Helper()
	needs, _ := s.gate.Book.Demand(s.share, s.clock.Now())
	amounts := shape.Total(needs)
	quantity := amounts.ToList(s.share.Spec.Hard)["requests.cpu"]
	return quantity.String()
}

const denied = "exceeded quota: compute, requested: requests.cpu=3, used: requests.cpu=8, limited: requests.cpu=10; fleet: used requests.cpu=28 of 30"
