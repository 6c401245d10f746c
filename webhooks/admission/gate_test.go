package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

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
		"another replica gave the room away": {
			cpu: "2", dryRun: true, change: func(s *scene) { s.charged("10") },
			want: "exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=10, limited: requests.cpu=10; fleet: used requests.cpu=28 of 30",
		},
		"the API server is silent when room is tight":            {cpu: "2", change: func(s *scene) { s.live = nil }},
		"the API server is silent":                               {cpu: "3", dryRun: true, change: func(s *scene) { s.live = nil }},
		"usage is not known":                                     {cpu: "3", change: func(s *scene) { s.quota.Status.Used = nil; s.gate.SetQuota(s.quota) }},
		"nothing is in force yet, and the request has no effect": {cpu: "3", dryRun: true, change: func(s *scene) { s.begin("0") }},
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
		"glass broken, and no reason given": {cpu: "3", want: denied, dryRun: true, demand: "0", change: func(s *scene) {
			s.quota.Annotations = map[string]string{quotav1alpha1.BreakGlassAnnotation: " "}
			s.gate.SetQuota(s.quota)
		}},
		"native quota refuses it for what it does not state": {cpu: "3", dryRun: true, change: func(s *scene) {
			s.quota.Status.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("10"), "limits.cpu": resource.MustParse("10")}
			s.gate.SetQuota(s.quota)
		}},
		"and it would be held": {cpu: "3", change: func(s *scene) {
			s.quota.Status.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("10"), "requests.memory": resource.MustParse("10")}
			s.gate.SetQuota(s.quota)
		}},
		"not managed": {cpu: "3", change: func(s *scene) { s.quota.Labels = nil; s.gate.SetQuota(s.quota) }},
		"no quota":    {cpu: "3", change: func(s *scene) { s.gate.DeleteQuota(key) }},
		"no share":    {cpu: "3", change: func(s *scene) { s.gate.DeleteShare(key) }},
		"the share goes": {cpu: "3", change: func(s *scene) {
			s.share.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			s.gate.SetShare(s.share)
		}},
		"admission is off":                                 {cpu: "3", change: func(s *scene) { s.share.Spec.Admission.Mode = quotav1alpha1.AdmissionOff; s.gate.SetShare(s.share) }},
		"the controller is stuck":                          {cpu: "3", change: func(s *scene) { s.stuck = true }},
		"the share says that the controller is stuck":      {cpu: "3", change: func(s *scene) { s.saysStuck(metav1.ConditionTrue) }},
		"the share says so, and the request has no effect": {cpu: "3", dryRun: true, change: func(s *scene) { s.saysStuck(metav1.ConditionTrue) }},
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
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				if tc.change != nil {
					tc.change(s)
				}
				r := request(tc.cpu)
				r.DryRun = tc.dryRun
				if got := s.answer(s.send(r), pace.CatchUp); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if s.reports.Load() > 0 || s.demand() != "0" {
					t.Errorf("it left %d reports and a demand of %s", s.reports.Load(), s.demand())
				}
			})
		})
	}
}

func TestAdmitReservesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
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

// TestAdmitHoldsWhatAnotherReplicaHasNoRoomFor has a request ask for room that another replica gave away, which the
// watch shows later.
func TestAdmitHoldsWhatAnotherReplicaHasNoRoomFor(t *testing.T) {
	for name, raise := range map[string]func(s *scene){
		"the last room":               func(*scene) {},
		"what others were raised for": func(s *scene) { s.set("20", "8") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				raise(s)
				before, hard := s.quota.DeepCopy(), s.quota.Spec.Hard["requests.cpu"]
				s.charged(hard.String())
				second := s.held(request("2"))
				before.ResourceVersion = "1"
				s.gate.SetQuota(before) // a late watch gives no room back
				synctest.Wait()
				if s.waiting() != 1 {
					t.Error("the request went on")
				}
				s.set("30", hard.String())
				if got := s.answer(second, time.Second); got != "" {
					t.Error(got)
				}
			})
		})
	}
}

// TestAdmitHoldsOnWhenAnotherReplicaTookTheRoom has another replica let a request through for which a raise came, before the
// one here goes on.
func TestAdmitHoldsOnWhenAnotherReplicaTookTheRoom(t *testing.T) {
	for name, raised := range map[string]func(s *scene) <-chan string{
		"from one that was held": func(s *scene) <-chan string {
			held := s.held(request("3"))
			s.set("11", "8")
			return held
		},
		"from one that came right after the raise": func(s *scene) <-chan string {
			s.set("20", "8")
			return s.send(request("3"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				s.gate.Echo = func(context.Context, types.NamespacedName) (*corev1.ResourceQuota, bool) {
					hard := s.quota.Status.Hard["requests.cpu"]
					s.charged(hard.String())
					return s.live, true
				}
				answer := raised(s)
				s.still(answer, 10*pace.CatchUp)
				if s.waiting() != 1 {
					t.Error("the request is not held")
				}
				s.gate.Echo = nil
				s.set("30", "20")
				if got := s.answer(answer, time.Second); got != "" {
					t.Error(got)
				}
			})
		})
	}
}

// TestRefreshNotesNothingThatIsGone has a ResourceQuota deleted while it is read.
func TestRefreshNotesNothingThatIsGone(t *testing.T) {
	s := newScene(t, "8")
	l := s.gate.lane(key)
	s.gate.DeleteQuota(key)
	s.gate.refresh(t.Context(), l)
	if l.Quota() != nil {
		t.Error("it is noted again")
	}
}

// TestAdmitGivesBackNoRoomOfADryRun leaves the room of another request alone when a dry run that asks for the same is
// denied.
func TestAdmitGivesBackNoRoomOfADryRun(t *testing.T) {
	s := newScene(t, "8")
	other, set := s.another("bulk", nil)
	set("20")
	s.clock.Step(pace.CatchUpMost) // the API server has caught up
	r := request("3")
	r.DryRun = true
	l := s.gate.lane(other)
	asked, _ := l.Charge(r.Charge)
	l.Enter(asked, s.clock.Now(), false)
	s.live = s.quota
	if got := s.admit(r); got != denied {
		t.Errorf("got %q, want %q", got, denied)
	}
	if l.Enter(amount.List{"requests.cpu": 12000}, s.clock.Now(), true) != nil {
		t.Error("the room of another request was given back")
	}
}

// TestAdmitSeesAShareThatCameBack goes on holding when a share was deleted and created again, although its
// ResourceQuota does not change, or the other way round; of what is gone altogether nothing is kept.
func TestAdmitSeesAShareThatCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

func TestAdmitForgetsWhatWasRefusedElsewhere(t *testing.T) {
	s := newScene(t, "8")
	if got := s.admit(request("2")); got != "" {
		t.Fatal(got)
	}
	s.clock.Step(pace.Underway)
	if got := s.admit(request("2")); got != "" {
		t.Error(got)
	}
}

func TestAdmitHoldsUntilRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// TestAdmitHoldsFromTheStart holds what comes when a ResourceQuota is new: its first limit, zero, is about to be in
// force, and to be raised.
func TestAdmitHoldsFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "0")
		s.begin("0")
		held := s.held(request("3"))
		if got := s.demand(); got != "3" {
			t.Errorf("the demand is %s, want 3", got)
		}
		s.set("0", "0")
		s.set("10", "0")
		if got := s.answer(held, 50*time.Millisecond); got != "" {
			t.Error(got)
		}
	})
}

// TestAdmitLeavesToNativeQuotaWhatIsNotCounted holds for nothing: usage is not counted in time.
func TestAdmitLeavesToNativeQuotaWhatIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "0")
		s.begin("10")
		if got := s.answer(s.held(request("3")), pace.Hold); got != "" {
			t.Error(got)
		}
	})
}

// TestAdmitHoldsBesideANameThatIsNotCounted holds what asks for cpu although the cluster counts nothing under another
// name.
func TestAdmitHoldsBesideANameThatIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.limitUncounted("count/widgets.example.com")
		s.inVain()
	})
}

func TestAdmitGoesOnWhenUsageFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		held := s.held(request("3"))
		s.set("10", "7")
		if got := s.answer(held, 50*time.Millisecond); got != "" {
			t.Error(got)
		}
	})
}

func TestAdmitDeniesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.share.Spec.Admission.WaitMilliseconds = ptr.To[int32](100)
		held := s.held(request("3"))
		s.clock.Step(99 * time.Millisecond)
		synctest.Wait()
		select {
		case denial := <-held:
			t.Fatalf("answered early: %q", denial)
		default:
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
	})
}

// TestAdmitTakesDemandDownOnRetry has requests that were refused fit when they are tried again: nothing is asked for
// twice.
func TestAdmitTakesDemandDownOnRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		r := request("3")
		first, second := s.held(r), s.held(r)
		s.answer(first, 600*time.Millisecond)
		s.answer(second, 10*time.Millisecond)
		s.set("16", "8")
		s.clock.Step(pace.CatchUpMost) // the API server has caught up
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
	})
}

// TestAdmitForAClientThatGivesUp goes on asking for what a client has given up, which will be back, and keeps no room
// for it.
func TestAdmitForAClientThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		more := s.gate.lane(types.NamespacedName{Namespace: key.Namespace, Name: "more"})
		if more.Enter(amount.List{"requests.cpu": 12000}, s.clock.Now(), true) == nil {
			t.Error("room is kept")
		}
	})
}
