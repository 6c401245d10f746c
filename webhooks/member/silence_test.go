package member

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
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

// TestAdmitGivesUpHolding holds no more when nobody raises although the hub is there, tries again after a while, and at once
// when the limit is raised.
func TestAdmitGivesUpHolding(t *testing.T) {
	s := newScene(t, "8")
	for range disappointments {
		s.inVain()
		s.written("10")
	}
	s.notHeld()
	s.clock.Step(respite)
	s.inVain()
	s.written("10")
	s.notHeld()
	s.written("10.5")
	s.inVain()
}

// TestAdmitHoldsNothingWhileTheHubIsSilent holds no more after one request was held without a sign of the hub, however long
// that lasts, until there is one.
func TestAdmitHoldsNothingWhileTheHubIsSilent(t *testing.T) {
	s := newScene(t, "8")
	s.inVain()
	if !s.gate.Silent(key) {
		t.Error("the hub does not count as silent")
	}
	for range 3 {
		s.notHeld()
		s.clock.Step(10 * time.Minute)
		s.gate.SetShare(s.share) // its status has changed
	}
	s.written("10")
	if s.gate.Silent(key) {
		t.Error("the hub counts as silent after it wrote")
	}
	s.inVain()
}

// TestAdmitTakesAnyWriteForASign goes on holding when the hub wrote the share while a request was held.
func TestAdmitTakesAnyWriteForASign(t *testing.T) {
	for name, sign := range map[string]func(s *scene){
		"the share written": func(s *scene) { s.written("10") },
		"a raise":           func(s *scene) { s.set("10.5", "8") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "8")
			held := s.held(request("3"))
			sign(s)
			s.answer(held, 600*time.Millisecond)
			if s.gate.Silent(key) {
				t.Error("the hub counts as silent")
			}
			s.inVain()
		})
	}
}
