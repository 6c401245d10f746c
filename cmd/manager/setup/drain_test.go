package setup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/fedquota/fedquota/internal/pace"
)

// TestDrain asks a process to end while a request is held. It serves on, has API servers go elsewhere, and ends once
// the request is answered.
func TestDrain(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	held, answer := make(chan struct{}), make(chan struct{})
	d := &Drain{clock: clock, least: pace.Drain, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(held)
			<-answer
		}
	})}
	server := httptest.NewServer(d)
	defer server.Close()
	// get says whether the connection closes after the answer.
	get := func(path string) (closes bool) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Error(err)
			return false
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Error(err)
			return false
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		return response.Close
	}
	asked, ask := context.WithCancel(t.Context())
	drained := d.after(asked)
	if get("/") {
		t.Error("a connection closes before it is asked to end")
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		get("/held")
	}()
	<-held

	ask()
	step := func(by time.Duration) {
		t.Helper()
		for !clock.HasWaiters() {
			if drained.Err() != nil {
				t.Fatal("it has ended")
			}
		}
		clock.Step(by)
	}
	step(pace.Drain - time.Millisecond)
	if !get("/") {
		t.Error("a connection stays although it is asked to end")
	}
	step(time.Millisecond)
	step(drainInterval)
	if drained.Err() != nil {
		t.Error("it has ended although a request is held")
	}
	close(answer)
	<-answered
	passUntilEnd(drained, clock)
}

// TestDrainEnds asks a process to end whose request is never answered.
func TestDrainEnds(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	d := &Drain{clock: clock}
	d.underWay.Add(1)
	asked, ask := context.WithCancel(t.Context())
	drained := d.after(asked)
	ask()
	passUntilEnd(drained, clock)
	if d.underWay.Load() != 1 {
		t.Error("the request is answered")
	}
}

// passUntilEnd has time pass until a context has ended.
func passUntilEnd(ctx context.Context, clock *testclock.FakeClock) {
	for ctx.Err() == nil {
		if clock.HasWaiters() {
			clock.Step(drainInterval)
		}
	}
}
