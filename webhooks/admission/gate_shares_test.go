package admission

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

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

// TestAdmitHoldsForSeveralShares tells all shares of a namespace at once what a request lacks, and holds it for all of
// them together as long as for one.
func TestAdmitHoldsForSeveralShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// TestAdmitDeniesForOneOfSeveralShares gives back the room in one share when another has none, and goes on asking for
// both.
func TestAdmitDeniesForOneOfSeveralShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		if s.gate.lane(key).Enter(amount.List{"requests.cpu": 3000}, s.clock.Now(), true) == nil {
			t.Error("room is kept")
		}
		if got := s.demand(); got != "3" || !s.gate.Book.Refused(other) {
			t.Errorf("the demand is %s, want 3 of both", got)
		}
	})
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

// TestAdmitEndsTheHoldsOfOtherShares waits for no share after another has denied, and does not take that for a sign
// that there is nothing to be had.
func TestAdmitEndsTheHoldsOfOtherShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.share.Spec.Admission.WaitMilliseconds = ptr.To[int32](100)
		other, _ := s.another("more", func(share *quotav1alpha1.QuotaShare) { share.Spec.Admission.WaitMilliseconds = nil })
		s.live = s.quota
		if got := s.answer(s.held(request("3")), 150*time.Millisecond); got != denied {
			t.Errorf("got %q", got)
		}
		if s.gate.lane(other).Waiting() > 0 {
			t.Error("it waits on")
		}
		if s.gate.Pings(other) {
			t.Error("the hub is pinged after a hold of a moment")
		}
	})
}
