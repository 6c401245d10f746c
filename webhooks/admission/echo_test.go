package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/internal/pace"
)

// behind makes the API server judge by an old version until the returned function is called.
func (s *scene) behind() (caughtUp func(), asked *atomic.Int32) {
	var done atomic.Bool
	asked = &atomic.Int32{}
	s.gate.Echo = func(context.Context, types.NamespacedName) (*corev1.ResourceQuota, bool) {
		asked.Add(1)
		return nil, done.Load()
	}
	return func() { done.Store(true) }, asked
}

// still fails if there is an answer although the clock goes on for so long.
func (s *scene) still(answers <-chan string, within time.Duration) {
	s.Helper()
	for passed := time.Duration(0); passed < within; passed += 5 * time.Millisecond {
		s.clock.Step(5 * time.Millisecond)
		synctest.Wait()
		select {
		case denial := <-answers:
			s.Fatalf("answered %q after %s although the API server is behind", denial, passed)
		default:
		}
	}
}

func TestAdmitWaitsForTheAPIServer(t *testing.T) {
	for name, room := range map[string]func(s *scene){
		"a raise":    func(s *scene) { s.set("11", "8") },
		"usage fell": func(s *scene) { s.set("10", "7") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				caughtUp, asked := s.behind()
				held := s.held(request("3"))
				room(s)
				s.still(held, 5*pace.CatchUp)
				caughtUp()
				if got := s.answer(held, 50*time.Millisecond); got != "" {
					t.Error(got)
				}
				if asked.Load() < 2 {
					t.Errorf("asked %d times", asked.Load())
				}
			})
		})
	}
}

// TestAdmitWaitsRightAfterARaise has a request come between a raise and the moment in which the API server judges by
// it.
func TestAdmitWaitsRightAfterARaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		caughtUp, _ := s.behind()
		s.set("11", "8")
		late := s.send(request("3"))
		s.still(late, 2*pace.CatchUp)
		caughtUp()
		if got := s.answer(late, 50*time.Millisecond); got != "" {
			t.Error(got)
		}
		s.set("12", "11")
		if got := s.answer(s.send(request("1")), 50*time.Millisecond); got != "" {
			t.Error(got)
		}
		if place := s.gate.lane(key).Enter(nil, s.clock.Now(), true); place == nil || !place.Gone {
			t.Error("the raise counts as not judged by although the API server has caught up")
		}
	})
}

// TestAdmitWaitsForRoomThatIsRead has the API server alone know of a raise when it is asked whether to deny a
// request.
func TestAdmitWaitsForRoomThatIsRead(t *testing.T) {
	for name, send := range map[string]func(s *scene) <-chan string{
		"one that is not held": func(s *scene) <-chan string {
			r := request("3")
			r.DryRun = true
			return s.send(r)
		},
		"one that was held": func(s *scene) <-chan string {
			answer := s.held(request("3"))
			s.clock.Step(pace.Hold)
			return answer
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				caughtUp, _ := s.behind()
				s.live = s.quota.DeepCopy()
				s.live.Status.Hard["requests.cpu"] = resource.MustParse("11")
				answer := send(s)
				s.still(answer, 5*pace.CatchUp)
				caughtUp()
				if got := s.answer(answer, 50*time.Millisecond); got != "" {
					t.Error(got)
				}
			})
		})
	}
}

// TestAdmitDoesNotWaitForever lets requests through when the API server does not catch up.
func TestAdmitDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "8")
		s.behind()
		held := s.held(request("3"))
		s.set("11", "8")
		if got := s.answer(held, 2*pace.CatchUpMost); got != "" {
			t.Error(got)
		}
	})
}

func TestEcho(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		want   bool
	}{
		"caught up":                 {want: true},
		"behind":                    {answer: errors.New(`resourcequotas "q" is forbidden: ValidatingAdmissionPolicy 'fedquota-echo' with binding 'fedquota-echo' denied request`)},
		"another policy is against": {answer: errors.New("ValidatingAdmissionPolicy 'fedquota-guard' denied request"), want: true},
		"no answer":                 {answer: errors.New("connection refused"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, options ...client.PatchOption) error {
					applied := (&client.PatchOptions{}).ApplyOptions(options)
					if len(applied.DryRun) == 0 {
						t.Error("the question has an effect")
					}
					return tc.answer
				},
			}).Build()
			if _, got := NewEcho(c)(t.Context(), key); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
