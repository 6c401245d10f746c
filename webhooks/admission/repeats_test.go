package admission

import (
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
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

// TestExists asks for an object that was let through: the request is answered if the object is there, as far as anybody
// knows, and else goes on.
func TestExists(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []string
		kind    string
		change  func(r *Request)
		later   time.Duration
		want    bool
	}{
		"it is there":                       {objects: []string{"claim"}, want: true},
		"it is there for long":              {objects: []string{"claim"}, later: pace.RepeatMemory - 1, want: true},
		"it is gone":                        {objects: []string{}},
		"another one is there":              {objects: []string{"other"}},
		"nobody knows":                      {},
		"what was charged is counted again": {objects: []string{"claim"}, later: pace.RepeatMemory},
		"another name":                      {objects: []string{"other"}, change: func(r *Request) { r.Name = "other" }},
		"another namespace":                 {objects: []string{"claim"}, change: func(r *Request) { r.Namespace = "other" }},
		"a name that is made up":            {objects: []string{""}, change: func(r *Request) { r.Name = "" }},
		"a dry run":                         {objects: []string{"claim"}, change: func(r *Request) { r.DryRun = true }},
		"of a kind that is not looked at":   {objects: []string{"claim"}, kind: "secrets"},
		"another kind":                      {objects: []string{"claim"}, change: func(r *Request) { r.Charge.Resource = nativequota.Claims }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "4")
			r := request("2")
			r.Name = "claim"
			if tc.kind != "" {
				r.Charge.Resource.Resource = tc.kind
			}
			s.gate.repeats.note(&r, s.clock.Now())
			if tc.change != nil {
				tc.change(&r)
			}
			s.objects = tc.objects
			s.clock.Step(tc.later)
			if got := s.gate.Exists(t.Context(), r); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// TestExistsForLong has an object that somebody asks for again and again be known for as long as that goes on.
func TestExistsForLong(t *testing.T) {
	s := newScene(t, "4")
	r := request("2")
	r.Name = "claim"
	s.objects = []string{"claim"}
	if s.gate.Exists(t.Context(), r) {
		t.Error("an object is looked for that nobody has asked for before")
	}
	s.admit(r)
	for range 3 {
		s.clock.Step(pace.RepeatMemory - 1)
		if !s.gate.Exists(t.Context(), r) {
			t.Error("it is forgotten")
		}
	}
}

// TestAnswersThatItExists has the handler answer as the API server does.
func TestAnswersThatItExists(t *testing.T) {
	s := newScene(t, "4")
	s.objects = []string{"claim"}
	review := &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Name: "claim", Namespace: key.Namespace,
		Object:   runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"claim"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)},
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
	}
	handler := NewHandler(s.gate)
	for _, there := range []bool{false, true} {
		request, err := read(review)
		if err != nil {
			t.Fatal(err)
		}
		answer := handler.answer(t.Context(), review, request)
		if err := (&apierrors.StatusError{ErrStatus: ptr.Deref(answer.Result, metav1.Status{})}); answer.Allowed == there || apierrors.IsAlreadyExists(err) != there {
			t.Errorf("got %+v", answer)
		}
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
