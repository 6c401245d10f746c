package admission

import (
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestAdmitAgainAndAgain asks three times for an object, which is let through and charged each time, and once more when
// all is used. One of a name that was let through is there by now: it is neither held nor demand.
func TestAdmitAgainAndAgain(t *testing.T) {
	named := func(name string) Request {
		r := request("2")
		r.Name = name
		return r
	}
	dry := named("claim")
	dry.DryRun = true
	for name, tc := range map[string]struct {
		first, then Request
		later       time.Duration
		held        bool
	}{
		"of the same name":              {first: named("claim"), then: named("claim")},
		"of the same name, much later":  {first: named("claim"), then: named("claim"), later: time.Minute, held: true},
		"of another name":               {first: named("claim"), then: named("another"), held: true},
		"of names that are made up":     {first: request("2"), then: request("2"), held: true},
		"that had no effect until then": {first: dry, then: named("claim"), held: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "4")
				for _, charged := range []string{"6", "8", "10"} {
					if denial := s.admit(tc.first); denial != "" {
						t.Fatalf("denied: %s", denial)
					}
					s.set("10", charged)
				}
				s.clock.Step(tc.later)
				if tc.held {
					s.answer(s.held(tc.then), time.Second)
				} else if s.admit(tc.then) == "" {
					t.Error("not denied")
				}
				if demand := s.demand(); (demand != "0") != tc.held {
					t.Errorf("demand %s", demand)
				}
			})
		})
	}
}

// TestNameOfAnObject has a request be remembered by the name that its client gave, and by no other.
func TestNameOfAnObject(t *testing.T) {
	for raw, want := range map[string]string{
		`{"metadata":{"name":"claim"}}`:                         "claim",
		`{"metadata":{"name":"claim","generateName":"claim-"}}`: "",
	} {
		request, err := read(&admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Name: "claim", Object: runtime.RawExtension{Raw: []byte(raw)},
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"},
		})
		if err != nil || request.Name != want {
			t.Errorf("%s: %q, %v", raw, request.Name, err)
		}
	}
}
