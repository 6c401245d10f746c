package admission

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/admission/lanes"
)

// inVain sends a request that is held until its time is up.
func (s *scene) inVain() {
	s.Helper()
	s.clock.Step(time.Millisecond)
	s.answer(s.held(request("3")), 600*time.Millisecond)
}

// notHeld sends a request that is denied at once.
func (s *scene) notHeld() {
	s.Helper()
	if got := s.admit(request("3")); got != denied {
		s.Errorf("got %q, want %q", got, denied)
	}
}

// written makes the hub write the share, with this limit.
func (s *scene) written(hard string) {
	s.share = s.share.DeepCopy()
	s.share.Generation++
	s.share.Spec.Hard["requests.cpu"] = resource.MustParse(hard)
	s.gate.SetShare(s.share)
}

// TestAdmitGivesUpHolding holds no more when nobody raises although the hub is there, tries again after a while, and at
// once when the limit is raised.
func TestAdmitGivesUpHolding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		for range lanes.Disappointments {
			s.inVain()
			s.written("10")
		}
		s.notHeld()
		s.clock.Step(pace.HoldPause)
		s.inVain()
		s.written("10")
		s.notHeld()
		s.written("10.5")
		s.inVain()
	})
}

// TestAdmitGivesUpHoldingForWhoAsksForNoLess goes on holding smaller requests after large ones were held in vain, until
// that is in vain for them too; and large ones again after a pause, whatever became of small ones meanwhile.
func TestAdmitGivesUpHoldingForWhoAsksForNoLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		vain := func(cpu string) {
			s.Helper()
			s.clock.Step(time.Millisecond)
			s.answer(s.held(request(cpu)), 600*time.Millisecond)
			s.written("10")
		}
		notHeld := func(cpu string) {
			s.Helper()
			if got := s.admit(request(cpu)); got == "" {
				s.Errorf("%s fits", cpu)
			}
		}
		for range lanes.Disappointments {
			vain("9")
		}
		notHeld("9")
		notHeld("10")
		s.clock.Step(pace.HoldPause / 2)
		vain("4")
		notHeld("4")
		notHeld("9")
		vain("3")
		s.clock.Step(pace.HoldPause)
		vain("9")
		notHeld("9")
		vain("4")
		notHeld("4")
	})
}

// TestAdmitHoldsNothingForMoreThanThereIs denies at once what the whole budget has no room for, and asks for nothing;
// not so when the budget is not known, or was raised.
func TestAdmitHoldsNothingForMoreThanThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		budget := func(list corev1.ResourceList) {
			s.share = s.share.DeepCopy()
			s.share.Spec.Fleet.Budget = list
			s.gate.SetShare(s.share)
		}
		huge := request("31")
		if got := s.admit(huge); !strings.HasPrefix(got, "exceeded quota: compute, requested: requests.cpu=31,") {
			t.Errorf("got %q", got)
		}
		if s.reports.Load() > 0 || s.demand() != "0" {
			t.Errorf("it left %d reports and a demand of %s", s.reports.Load(), s.demand())
		}
		s.answer(s.held(request("30")), 600*time.Millisecond)
		s.written("10")
		for _, list := range []corev1.ResourceList{nil, {"pods": resource.MustParse("1")}, {"requests.cpu": resource.MustParse("31")}} {
			budget(list)
			s.written("10")
			s.clock.Step(pace.HoldPause)
			s.answer(s.held(huge), 600*time.Millisecond)
		}
	})
}

// TestAdmitHoldsNothingForFullNodes denies at once a pod that no node has room for, which the hub is not told of, and
// holds others.
func TestAdmitHoldsNothingForFullNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.gate.Book.SetPod(demand.Pod{
			UID: "stuck", Owner: "other", Namespace: key.Namespace, Unschedulable: s.clock.Now(), Signature: signature.Of(&cpuPod("3").Spec),
		}, s.clock.Now())
		s.inVain()
		s.written("10")
		s.clock.Step(time.Minute)
		s.notHeld()
		if got := s.demand(); got != "0" {
			t.Errorf("a demand of %s is stated", got)
		}
		s.answer(s.held(request("2900m")), 600*time.Millisecond)
	})
}

// TestAdmitHoldsNothingWhileTheHubIsSilent holds no more after one request was held without a sign of the hub, however
// long that lasts, until there is one.
func TestAdmitHoldsNothingWhileTheHubIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.inVain()
		if !s.gate.Pings(key) {
			t.Error("the hub is not pinged")
		}
		for range 3 {
			s.notHeld()
			s.clock.Step(10 * time.Minute)
			s.gate.SetShare(s.share) // its status has changed
		}
		s.written("10")
		if s.gate.Pings(key) {
			t.Error("the hub is pinged after it gave a sign")
		}
		s.inVain()
	})
}

// TestAdmitTakesAnyWriteForASign goes on holding when the hub wrote the share while a request was held.
func TestAdmitTakesAnyWriteForASign(t *testing.T) {
	for name, sign := range map[string]func(s *scene){
		"the share written": func(s *scene) { s.written("10") },
		"a raise":           func(s *scene) { s.set("10.5", "8") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				held := s.held(request("3"))
				sign(s)
				s.answer(held, 600*time.Millisecond)
				if s.gate.Pings(key) {
					t.Error("the hub is asked for a sign")
				}
				s.inVain()
			})
		})
	}
}

// beat renews the Lease of the hub. The clock of the hub is an hour off, and stands still.
func (s *scene) beat() {
	s.beats++
	s.gate.SetLease(s.lease())
}

// lease is the Lease as the hub renewed it last.
func (s *scene) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("hub"), LeaseDurationSeconds: new(int32(15)),
		RenewTime: &metav1.MicroTime{Time: time.Unix(1000, 0).Add(time.Hour + time.Duration(s.beats)*time.Microsecond)},
	}}
}

// TestAdmitHoldsNothingAfterTheLeaseRanOut holds not even the first request of a share once the Lease of the hub was
// not seen to change for as long as it is good for, and holds again as soon as it does.
func TestAdmitHoldsNothingAfterTheLeaseRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.beat()
		s.clock.Step(15*time.Second - time.Millisecond)
		s.beat()
		s.clock.Step(15*time.Second - time.Millisecond)
		s.gate.SetLease(s.lease()) // it is listed again
		held := s.held(request("3"))
		s.written("10")
		s.answer(held, 600*time.Millisecond)
		s.notHeld()
		if s.gate.Pings(key) {
			t.Error("the hub is asked for a sign although its Lease says that it is not there")
		}
		s.clock.Step(10 * time.Minute)
		s.gate.SetShare(s.share) // its status has changed
		s.notHeld()
		s.beat()
		s.inVain()
	})
}

// TestAdmitHoldsWithoutALease holds requests where the hub never renewed a Lease, or somebody has deleted it.
func TestAdmitHoldsWithoutALease(t *testing.T) {
	for name, change := range map[string]func(s *scene){
		"never held": func(s *scene) { s.gate.SetLease(&coordinationv1.Lease{}) },
		"deleted": func(s *scene) {
			s.beat()
			s.clock.Step(time.Minute)
			s.gate.DeleteLease(types.NamespacedName{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				change(s)
				s.clock.Step(time.Minute)
				s.inVain()
			})
		})
	}
}

// TestAdmitHoldsForAHubThatWrites holds requests when the hub writes shares although its Lease ran out, which says
// nothing until it is renewed.
func TestAdmitHoldsForAHubThatWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.beat()
		s.clock.Step(15 * time.Second)
		s.notHeld()
		s.written("10")
		s.clock.Step(time.Minute)
		s.inVain()
		s.written("10")
		s.beat()
		s.clock.Step(15 * time.Second)
		s.notHeld()
	})
}

// TestAdmitBesideAStuckQuotaController holds nothing, and denies nothing that is held already, from when the share says
// that the quota controller is stuck until it says so no more: a replica that does not lead has no other way to know.
func TestAdmitBesideAStuckQuotaController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		held := s.held(request("3"))
		s.saysStuck(metav1.ConditionTrue)
		if got := s.answer(held, 600*time.Millisecond); got != "" {
			t.Errorf("held before: %q", got)
		}
		s.written("10")
		if got := s.admit(request("3")); got != "" {
			t.Errorf("while it is stuck: %q", got)
		}
		s.saysStuck(metav1.ConditionFalse)
		s.inVain()
	})
}
