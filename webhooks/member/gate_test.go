package member

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/cost"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
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
}

// Get makes the scene the API server.
func (s *scene) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.live == nil {
		return errors.New("no answer")
	}
	s.live.DeepCopyInto(into.(*corev1.ResourceQuota))
	return nil
}

func (s *scene) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not used")
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
		Charge: cost.Charge{Resource: cost.Pods, Object: cpuPod(cpu)},
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
	for deadline := time.Now().Add(10 * time.Second); s.waiting() == before || !s.clock.HasWaiters(); {
		if time.Now().After(deadline) {
			s.Fatal("the request is not held")
		}
		time.Sleep(time.Millisecond)
	}
	return answer
}

func (s *scene) waiting() int {
	return s.gate.lane(key).waiting()
}

func (l *lane) waiting() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.waiters)
}

// answer waits for an answer while the clock goes on.
func (s *scene) answer(answers <-chan string, within time.Duration) string {
	s.Helper()
	const step = 5 * time.Millisecond
	for passed := time.Duration(0); passed <= within; passed += step {
		select {
		case denial := <-answers:
			return denial
		case <-time.After(2 * time.Millisecond):
			s.clock.Step(step)
		}
	}
	s.Fatalf("no answer within %s", within)
	return ""
}

func (s *scene) demand() string {
	s.Helper()
	needs, _ := s.gate.Book.Demand(s.share, s.clock.Now())
	amounts := demand.Total(needs)
	quantity := amounts.ToList(s.share.Spec.Hard)["requests.cpu"]
	return quantity.String()
}

const denied = "exceeded quota: compute, requested: requests.cpu=3, used: requests.cpu=8, limited: requests.cpu=10; fleet: used requests.cpu=28 of 30"

func TestAdmit(t *testing.T) {
	tests := map[string]struct {
		change func(s *scene)
		cpu    string
		dryRun bool
		want   string
		demand string
	}{
		"fits":          {cpu: "2", demand: "0"},
		"nothing asked": {cpu: "0", demand: "0"},
		"dry run":       {cpu: "3", dryRun: true, want: denied, demand: "0"},
		"dry run fits":  {cpu: "2", dryRun: true, demand: "0"},
		"the cache is behind": {cpu: "3", dryRun: true, change: func(s *scene) {
			s.live = s.quota.DeepCopy()
			s.live.Status.Used["requests.cpu"] = resource.MustParse("7")
		}},
		"the API server is silent": {cpu: "3", dryRun: true, change: func(s *scene) { s.live = nil }},
		"usage is not known":       {cpu: "3", change: func(s *scene) { s.quota.Status.Used = nil; s.gate.SetQuota(s.quota) }},
		"another name is not counted": {
			cpu: "3", dryRun: true, want: denied,
			change: func(s *scene) { s.limitUncounted("count/widgets.example.com") },
		},
		"asks for what is not counted": {cpu: "3", change: func(s *scene) { s.limitUncounted("count/pods") }},
		"asks for what is not counted any more": {cpu: "3", dryRun: true, change: func(s *scene) {
			s.live = s.quota.DeepCopy()
			s.live.Status.Hard["requests.cpu"], s.live.Status.Used = resource.MustParse("1"), nil
		}},
		"glass broken": {cpu: "3", change: func(s *scene) {
			s.quota.Annotations = map[string]string{quotav1alpha1.BreakGlassAnnotation: "why"}
			s.gate.SetQuota(s.quota)
		}},
		"not managed": {cpu: "3", change: func(s *scene) { s.quota.Labels = nil; s.gate.SetQuota(s.quota) }},
		"no quota":    {cpu: "3", change: func(s *scene) { s.gate.DeleteQuota(key) }},
		"no share":    {cpu: "3", change: func(s *scene) { s.gate.DeleteShare(key) }},
		"the share goes": {cpu: "3", change: func(s *scene) {
			s.share.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			s.gate.SetShare(s.share)
		}},
		"admission is off":        {cpu: "3", change: func(s *scene) { s.share.Spec.Admission.Mode = quotav1alpha1.AdmissionOff; s.gate.SetShare(s.share) }},
		"the controller is stuck": {cpu: "3", change: func(s *scene) { s.stuck = true }},
		"another scope": {cpu: "3", change: func(s *scene) {
			s.quota.Spec.Scopes = []corev1.ResourceQuotaScope{"BestEffort"}
			s.gate.SetQuota(s.quota)
		}},
		"spec.hard is being lowered": {cpu: "2", dryRun: true, change: func(s *scene) {
			s.quota.Spec.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("9")}
			s.gate.SetQuota(s.quota)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "8")
			if tc.change != nil {
				tc.change(s)
			}
			r := request(tc.cpu)
			r.DryRun = tc.dryRun
			if got := s.admit(r); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if s.reports.Load() > 0 || s.demand() != "0" {
				t.Errorf("it left %d reports and a demand of %s", s.reports.Load(), s.demand())
			}
		})
	}
}

func TestAdmitReservesRoom(t *testing.T) {
	s := newScene(t, "8")
	if got := s.admit(request("2")); got != "" {
		t.Fatal(got)
	}
	second := s.held(request("1"))
	s.set("10", "8.5") // some other charge
	s.set("10", "10")  // the first one's
	s.set("11", "10")
	if got := s.answer(second, time.Second); got != "" {
		t.Error(got)
	}
}

func TestAdmitReservesNoRoomForADryRun(t *testing.T) {
	s := newScene(t, "8")
	r := request("2")
	r.DryRun = true
	for _, r := range []Request{r, request("2")} {
		if got := s.admit(r); got != "" {
			t.Error(got)
		}
	}
}

// TestAdmitGivesBackNoRoomOfADryRun leaves the room of another request alone when a dry run that asks for the same is denied.
func TestAdmitGivesBackNoRoomOfADryRun(t *testing.T) {
	s := newScene(t, "8")
	other, set := s.another("bulk", nil)
	set("20")
	s.clock.Step(settlingMost) // the raise is settled
	r := request("3")
	r.DryRun = true
	l := s.gate.lane(other)
	asked, _ := l.charge(r.Charge)
	l.enter(asked, s.clock.Now(), false)
	s.live = s.quota
	if got := s.admit(r); got != denied {
		t.Errorf("got %q, want %q", got, denied)
	}
	if len(l.passed) == 0 {
		t.Error("the room of another request was given back")
	}
}

// TestAdmitSeesAShareThatCameBack goes on holding when a share was deleted and created again, although its ResourceQuota does not
// change, or the other way round; of what is gone altogether nothing is kept.
func TestAdmitSeesAShareThatCameBack(t *testing.T) {
	s := newScene(t, "8")
	s.gate.DeleteShare(key)
	if got := s.admit(request("3")); got != "" {
		t.Errorf("without a share: %q", got)
	}
	s.gate.SetShare(s.share)
	s.inVain()
	s.gate.DeleteQuota(key)
	if got := s.admit(request("3")); got != "" {
		t.Errorf("without a ResourceQuota: %q", got)
	}
	s.set("10", "8")
	s.written("10")
	s.inVain()
	for name, remove := range map[string][]func(types.NamespacedName){
		"the share first":         {s.gate.DeleteShare, s.gate.DeleteQuota},
		"the ResourceQuota first": {s.gate.DeleteQuota, s.gate.DeleteShare},
	} {
		s.gate.SetShare(s.share)
		s.gate.SetQuota(s.quota)
		for _, r := range remove {
			r(key)
		}
		if len(s.gate.lanes) > 0 {
			t.Errorf("%s: %d namespaces are kept", name, len(s.gate.lanes))
		}
	}
}

func TestAdmitForgetsWhatWasRefusedElsewhere(t *testing.T) {
	s := newScene(t, "8")
	if got := s.admit(request("2")); got != "" {
		t.Fatal(got)
	}
	s.clock.Step(underway)
	if got := s.admit(request("2")); got != "" {
		t.Error(got)
	}
}

func TestAdmitHoldsUntilRaised(t *testing.T) {
	s := newScene(t, "8")
	first, second := s.held(request("3")), s.held(request("4"))
	if got := s.demand(); got != "7" {
		t.Errorf("the demand is %s, want 7", got)
	}
	s.set("11", "8")
	if got := s.answer(first, 50*time.Millisecond); got != "" {
		t.Error(got)
	}
	if got := s.demand(); got != "4" {
		t.Errorf("the demand is %s, want 4", got)
	}
	s.set("15", "11")
	if got := s.answer(second, 50*time.Millisecond); got != "" {
		t.Error(got)
	}
	if got := s.demand(); got != "0" {
		t.Errorf("the demand is %s, want none", got)
	}
}

// TestAdmitHoldsBesideANameThatIsNotCounted holds what asks for cpu although the cluster counts nothing under another name.
func TestAdmitHoldsBesideANameThatIsNotCounted(t *testing.T) {
	s := newScene(t, "8")
	s.limitUncounted("count/widgets.example.com")
	s.inVain()
}

func TestAdmitGoesOnWhenUsageFalls(t *testing.T) {
	s := newScene(t, "8")
	held := s.held(request("3"))
	s.set("10", "7")
	if got := s.answer(held, 50*time.Millisecond); got != "" {
		t.Error(got)
	}
}

func TestAdmitDeniesInTime(t *testing.T) {
	s := newScene(t, "8")
	s.share.Spec.Admission.WaitMilliseconds = ptr.To[int32](100)
	held := s.held(request("3"))
	s.clock.Step(99 * time.Millisecond)
	select {
	case denial := <-held:
		t.Fatalf("answered early: %q", denial)
	case <-time.After(20 * time.Millisecond):
	}
	if got := s.answer(held, 10*time.Millisecond); got != denied {
		t.Errorf("got %q, want %q", got, denied)
	}
	if got := s.demand(); got != "3" {
		t.Errorf("the demand is %s, want 3 until it is forgotten", got)
	}
	s.clock.Step(pace.Memory)
	if got := s.demand(); got != "0" {
		t.Errorf("the demand is %s after a minute, want none", got)
	}
}

// TestAdmitTakesDemandDownOnRetry has requests that were refused fit when they are tried again: nothing is asked for twice.
func TestAdmitTakesDemandDownOnRetry(t *testing.T) {
	s := newScene(t, "8")
	r := request("3")
	first, second := s.held(r), s.held(r)
	s.answer(first, 600*time.Millisecond)
	s.answer(second, 10*time.Millisecond)
	s.set("16", "8")
	s.clock.Step(settlingMost) // the raise is settled
	dry := r
	dry.DryRun = true
	for _, step := range []struct {
		r       Request
		demand  string
		reports int32
	}{{dry, "6", 0}, {r, "3", 1}, {request("1"), "3", 0}, {r, "0", 1}, {request("500m"), "0", 0}} {
		before := s.reports.Load()
		if got := s.admit(step.r); got != "" {
			t.Error(got)
		}
		if got := s.demand(); got != step.demand {
			t.Errorf("the demand is %s, want %s", got, step.demand)
		}
		if got := s.reports.Load() - before; got != step.reports {
			t.Errorf("%d reports, want %d", got, step.reports)
		}
	}
}

// another adds a share like the first one, and returns what sets its limit.
func (s *scene) another(name string, change func(*quotav1alpha1.QuotaShare)) (key types.NamespacedName, set func(hard string)) {
	share, quota := s.share.DeepCopy(), s.quota.DeepCopy()
	share.Name, quota.Name = name, name
	if change != nil {
		change(share)
	}
	s.gate.SetShare(share)
	set = func(hard string) {
		quota = quota.DeepCopy()
		quota.Spec.Hard["requests.cpu"], quota.Status.Hard["requests.cpu"] = resource.MustParse(hard), resource.MustParse(hard)
		s.live = quota
		s.gate.SetQuota(quota)
	}
	set("10")
	return client.ObjectKeyFromObject(share), set
}

// TestAdmitHoldsForSeveralShares tells all shares of a namespace at once what a request lacks, and holds it for all of them together
// as long as for one.
func TestAdmitHoldsForSeveralShares(t *testing.T) {
	s := newScene(t, "8")
	other, set := s.another("more", nil)
	held := s.held(request("3"))
	if !s.gate.Book.Refused(other) {
		t.Error("only the first share is asked for room")
	}
	s.clock.Step(400 * time.Millisecond)
	set("11")
	s.set("11", "8")
	if got := s.answer(held, 100*time.Millisecond); got != "" {
		t.Error(got)
	}
	if got := s.demand(); got != "0" || s.gate.Book.Refused(other) {
		t.Errorf("the demand is %s, want none", got)
	}
}

// TestAdmitDeniesForOneOfSeveralShares gives back the room in one share when another has none, and goes on asking for both.
func TestAdmitDeniesForOneOfSeveralShares(t *testing.T) {
	s := newScene(t, "8")
	other, set := s.another("more", nil)
	held := s.held(request("3"))
	start := s.clock.Now()
	s.set("11", "8")
	set("10.5")
	if got := s.answer(held, 600*time.Millisecond); !strings.HasPrefix(got, "exceeded quota: more,") {
		t.Errorf("got %q", got)
	}
	if took := s.clock.Since(start); took > 550*time.Millisecond {
		t.Errorf("held for %s", took)
	}
	if sum := s.gate.lane(key).sum; sum != nil {
		t.Errorf("room is kept for %v", sum)
	}
	if got := s.demand(); got != "3" || !s.gate.Book.Refused(other) {
		t.Errorf("the demand is %s, want 3 of both", got)
	}
}

// TestAdmitHoldsForNoShareInVain denies at once what one of the shares denies anyway.
func TestAdmitHoldsForNoShareInVain(t *testing.T) {
	s := newScene(t, "8")
	_, set := s.another("more", func(share *quotav1alpha1.QuotaShare) {
		share.Spec.Fleet.Budget["requests.cpu"] = resource.MustParse("2")
	})
	set("10")
	if got := s.admit(request("3")); !strings.HasPrefix(got, "exceeded quota: more,") {
		t.Errorf("got %q", got)
	}
	if s.reports.Load() > 0 || s.demand() != "0" {
		t.Errorf("it left %d reports and a demand of %s", s.reports.Load(), s.demand())
	}
}

// TestAdmitEndsTheHoldsOfOtherShares waits for no share after another has denied, and does not take that for a sign that there is
// nothing to be had.
func TestAdmitEndsTheHoldsOfOtherShares(t *testing.T) {
	s := newScene(t, "8")
	s.share.Spec.Admission.WaitMilliseconds = ptr.To[int32](100)
	other, _ := s.another("more", func(share *quotav1alpha1.QuotaShare) { share.Spec.Admission.WaitMilliseconds = nil })
	s.live = s.quota
	if got := s.answer(s.held(request("3")), 150*time.Millisecond); got != denied {
		t.Errorf("got %q", got)
	}
	if s.gate.lane(other).waiting() > 0 {
		t.Error("it waits on")
	}
	if s.gate.Asks(other) {
		t.Error("the hub is asked for a sign after a hold of a moment")
	}
}

// TestAdmitForAClientThatGivesUp goes on asking for what a client has given up, which will be back, and keeps no room for it.
func TestAdmitForAClientThatGivesUp(t *testing.T) {
	s := newScene(t, "8")
	_, set := s.another("more", nil)
	set("20")
	ctx, giveUp := context.WithCancel(t.Context())
	held := s.heldBy(ctx, request("3"))
	giveUp()
	<-held
	if got := s.demand(); got != "3" {
		t.Errorf("the demand is %s, want 3", got)
	}
	if sum := s.gate.lane(types.NamespacedName{Namespace: key.Namespace, Name: "more"}).sum; sum != nil {
		t.Errorf("room is kept for %v", sum)
	}
}

// readerFunc answers reads.
type readerFunc func(ctx context.Context) error

func (f readerFunc) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return f(ctx)
}

func (f readerFunc) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not used")
}

// TestReadForAll reads for all who share the answer, for a limited time, although the client has gone whose turn it is to read.
func TestReadForAll(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	gate := &Gate{Live: readerFunc(func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the read may take for ever")
		}
		return ctx.Err()
	})}
	if gate.read(ctx, &lane{key: key}) == nil {
		t.Error("it was not read")
	}
}

func TestDenialOfSeveralNames(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{"requests.memory": resource.MustParse("1Gi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("9")},
		Used: corev1.ResourceList{"requests.memory": resource.MustParse("512Mi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("1500m")},
	}}
	share := &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Fleet: quotav1alpha1.Fleet{
		Budget:  corev1.ResourceList{"requests.memory": resource.MustParse("8Gi"), "pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("9")},
		Used:    corev1.ResourceList{"requests.memory": resource.MustParse("8Gi"), "pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("1")},
		Waiting: []quotav1alpha1.ClusterName{"west", "north"},
	}}}
	asked := corev1.ResourceList{"requests.memory": resource.MustParse("513Mi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("1")}
	const want = "exceeded quota: q, requested: pods=1,requests.memory=513Mi, used: pods=1,requests.memory=512Mi, limited: pods=1,requests.memory=1Gi; " +
		"fleet: used pods=3 of 3, requests.memory=8Gi of 8Gi; waiting: west, north"
	if got := denial(quota, share, asked); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	share.Spec.Fleet = quotav1alpha1.Fleet{}
	native, _, _ := strings.Cut(want, "; fleet")
	if got := denial(quota, share, asked); got != native {
		t.Errorf("without the fleet: %s", got)
	}
}
