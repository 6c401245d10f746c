package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// below is where the page is served in tests: as an API server serves what is behind a Service.
const below = "/api/v1/namespaces/fedquota-system/services/https:fedquota-view:/proxy/"

// hotel is a lobby of a hub that knows two tokens: ann may list everything, and bob budgets of team-a alone.
type hotel struct {
	*world

	lobby *lobby
	clock *testingclock.FakePassiveClock
	mutex sync.Mutex
	// expired are tokens that the hub knew once.
	expired map[string]bool
}

func openLobby(t *testing.T, most int) *hotel {
	t.Helper()
	h := &hotel{world: &world{T: t}, clock: testingclock.NewFakePassiveClock(clock.RealClock{}.Now()), expired: map[string]bool{}}
	hubs := map[string]client.WithWatch{
		"token-of-ann": hubOf(t, "full", denied{}, nil),
		"token-of-bob": hubOf(t, "full", denied{atOnce: []string{"FederatedQuota", "Event"}, everywhere: []string{"QuotaPool", "Cluster", "ClusterCapacity"}}, nil),
	}
	h.lobby = &lobby{
		connect: func(token string) (client.WithWatch, error) { return h.known(token, hubs[token]), nil },
		clock:   h.clock, live: live.Options{Clusters: members.Namespaces{Home: "default"}, AgentNamespace: "fedquota-system"},
		most: most, each: 2, recheck: 10 * time.Millisecond, viewers: map[string]*viewer{}, places: map[string]int{},
	}
	h.server = httptest.NewServer(http.StripPrefix(strings.TrimSuffix(below, "/"), h.lobby.handler(t.Context())))
	t.Cleanup(func() { h.server.CloseClientConnections(); h.server.Close() })
	return h
}

// known is a hub that knows a token until it expires.
func (h *hotel) known(token string, hub client.WithWatch) client.WithWatch {
	check := func() error {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if hub == nil || h.expired[token] {
			return apierrors.NewUnauthorized("Unauthorized")
		}
		return nil
	}
	if hub == nil {
		hub = hubOf(h.T, "full", denied{}, nil)
		token, hub := token, hub
		return interceptor.NewClient(hub, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewUnauthorized("no such token: " + token)
		}})
	}
	return interceptor.NewClient(hub, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			self := object.(*authenticationv1.SelfSubjectReview)
			self.Status.UserInfo.Username = strings.TrimPrefix(token, "token-of-")
			return check()
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := check(); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})
}

func (h *hotel) expire(token string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.expired[token] = true
}

func (h *hotel) guest() *guest { return guestOf(h.T, h.server.URL+below) }

// guest has a browser's cookies.
type guest struct {
	*testing.T

	address string
	client  *http.Client
}

func guestOf(t *testing.T, address string) *guest {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &guest{t, address, &http.Client{Jar: jar}}
}

// viewer returns who looks, "" if nobody does.
func (g *guest) viewer() string {
	g.Helper()
	var told struct{ Name string }
	code, body := g.ask(http.MethodGet, "viewer", nil, nil)
	if err := json.Unmarshal([]byte(body), &told); err != nil || code != http.StatusOK {
		g.Fatalf("%d: %v", code, err)
	}
	return told.Name
}

// enter shows a token, and returns what is answered.
func (g *guest) enter(token, namespace string) (int, string) {
	g.Helper()
	body, err := json.Marshal(map[string]string{"token": token, "namespace": namespace})
	if err != nil {
		g.Fatal(err)
	}
	return g.ask(http.MethodPost, "enter", nil, body)
}

func (g *guest) ask(method, path string, header http.Header, body []byte) (int, string) {
	g.Helper()
	response := g.open(method, path, header, body)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		g.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func (g *guest) open(method, path string, header http.Header, body []byte) *http.Response {
	g.Helper()
	request, err := http.NewRequestWithContext(g.Context(), method, g.address+path, bytes.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	response, err := g.client.Do(request)
	if err != nil {
		g.Fatal(err)
	}
	return response
}

// TestLobby sees that nobody is shown anything without a token, and each what his own token may read.
func TestLobby(t *testing.T) {
	h := openLobby(t, 5)
	stranger := h.guest()
	for path, want := range map[string]int{
		"": http.StatusOK, "app.js": http.StatusOK, "viewer": http.StatusOK, "events?page=budgets": http.StatusUnauthorized,
		"what-if?kind=FederatedQuota&namespace=team-a&name=compute": http.StatusUnauthorized, "replay?namespace=team-a&name=compute": http.StatusUnauthorized,
		"?token=token-of-ann": http.StatusOK,
	} {
		if code, body := stranger.ask(http.MethodGet, path, nil, nil); code != want || strings.Contains(body, "data: ") || path == "viewer" && body != "null\n" {
			t.Errorf("%q answers a stranger with %d, want %d: %s", path, code, want, body)
		}
	}
	for _, token := range []string{"", " ", "token-of-nobody"} {
		if code, body := stranger.enter(token, ""); code != http.StatusUnauthorized {
			t.Errorf("the token %q is answered with %d: %s", token, code, body)
		}
	}
	ann, bob := h.guest(), h.guest()
	if code, body := ann.enter("token-of-ann", ""); code != http.StatusNoContent {
		t.Fatalf("ann is answered with %d: %s", code, body)
	}
	if code, body := bob.enter("token-of-bob", ""); code != http.StatusForbidden || !strings.Contains(body, "bob lacks the right to list federatedquotas") {
		t.Errorf("bob may not list all, and is answered with %d: %s", code, body)
	}
	if code, body := bob.enter("token-of-bob", "team-a"); code != http.StatusNoContent {
		t.Fatalf("bob is answered with %d: %s", code, body)
	}
	for _, g := range []*guest{ann, bob} {
		if name := g.viewer(); name != map[*guest]string{ann: "ann", bob: "bob"}[g] {
			t.Errorf("it is said that %q looks", name)
		}
	}
	for _, v := range h.lobby.viewers {
		if namespace := v.source.budgets[0].namespace; namespace != map[string]string{"ann": "", "bob": "team-a"}[v.name] {
			t.Errorf("%s is shown budgets of namespace %q", v.name, namespace)
		}
	}
	if code, _ := bob.ask(http.MethodPost, "leave", nil, nil); code != http.StatusOK {
		t.Errorf("bob leaves with %d", code)
	}
	bob.isOut()
	if name := ann.viewer(); name != "ann" {
		t.Errorf("%q looks after bob has left", name)
	}
}

// isOut waits until nothing is shown any more.
func (g *guest) isOut() {
	g.Helper()
	for deadline := time.After(patience); ; {
		if g.viewer() == "" {
			return
		}
		select {
		case <-deadline:
			g.Fatal("it is still shown")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestLobbyEnds sees that a stream ends when its token does, and when nobody has looked for long.
func TestLobbyEnds(t *testing.T) {
	h := openLobby(t, 5)
	ann, bob := h.guest(), h.guest()
	ann.enter("token-of-ann", "")
	bob.enter("token-of-bob", "team-a")
	stream := ann.open(http.MethodGet, "events?page=budgets", nil, nil)
	defer func() { _ = stream.Body.Close() }()
	h.expire("token-of-ann")
	deadline := time.AfterFunc(patience, h.server.CloseClientConnections)
	content, err := io.ReadAll(stream.Body)
	if deadline.Stop(); err != nil || !strings.Contains(string(content), "data: ") {
		t.Errorf("the stream ends with %v: %s", err, content)
	}
	ann.isOut()
	if name := bob.viewer(); name != "bob" {
		t.Errorf("%q looks after ann's token has ended", name)
	}
	h.clock.SetTime(h.clock.Now().Add(idle + time.Second))
	h.empties()
}

// empties waits until nobody looks.
func (h *hotel) empties() {
	h.Helper()
	for deadline := time.After(patience); ; {
		h.lobby.mutex.Lock()
		viewers := len(h.lobby.viewers)
		h.lobby.mutex.Unlock()
		if viewers == 0 {
			return
		}
		select {
		case <-deadline:
			h.Fatalf("%d still look", viewers)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestLobbyHolds sees that not more may look than memory is meant for, that pages of other sites cannot enter, and that the
// cookie is for this page alone.
func TestLobbyHolds(t *testing.T) {
	h := openLobby(t, 1)
	body := []byte(`{"token":"token-of-ann"}`)
	foreign := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	ann := h.guest()
	if code, _ := ann.ask(http.MethodPost, "enter", foreign, body); code != http.StatusForbidden {
		t.Errorf("a page of another site enters with %d", code)
	}
	if code, _ := ann.ask(http.MethodPost, "enter", nil, bytes.Repeat([]byte(" "), 2*largest)); code != http.StatusBadRequest {
		t.Errorf("a long request is answered with %d", code)
	}
	response := ann.open(http.MethodPost, "enter", nil, body)
	defer func() { _ = response.Body.Close() }()
	cookies := response.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "" || len(cookies[0].Value) < 26 {
		t.Fatalf("the cookies are %v", cookies)
	}
	if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'") {
		t.Errorf("the policy is %q", policy)
	}
	if code, text := h.guest().enter("token-of-ann", ""); code != http.StatusServiceUnavailable {
		t.Errorf("one too many is answered with %d: %s", code, text)
	}
	ann.ask(http.MethodPost, "leave", nil, nil)
	h.empties()
	if code, text := h.guest().enter("token-of-ann", ""); code != http.StatusNoContent {
		t.Errorf("the next one is answered with %d: %s", code, text)
	}
}

// TestLobbyEach sees that one person cannot take the places of all, and gets one back when he leaves.
func TestLobbyEach(t *testing.T) {
	h := openLobby(t, 5)
	first, bob := h.guest(), h.guest()
	for _, g := range []*guest{first, h.guest()} {
		if code, body := g.enter("token-of-ann", ""); code != http.StatusNoContent {
			t.Fatalf("ann is answered with %d: %s", code, body)
		}
	}
	for range 5 {
		if code, body := h.guest().enter("token-of-ann", ""); code != http.StatusTooManyRequests || !strings.Contains(body, "ann looks from 2 places") {
			t.Errorf("ann is answered with %d from a third place: %s", code, body)
		}
	}
	if code, body := bob.enter("token-of-bob", ""); code != http.StatusForbidden {
		t.Errorf("bob may not list all, and is answered with %d: %s", code, body)
	}
	for range 2 {
		if code, body := h.guest().enter("token-of-bob", "team-a"); code != http.StatusNoContent {
			t.Errorf("bob is answered with %d: %s", code, body)
		}
	}
	first.ask(http.MethodPost, "leave", nil, nil)
	first.isOut()
	if code, body := h.guest().enter("token-of-ann", ""); code != http.StatusNoContent {
		t.Errorf("ann is answered with %d after she has left one: %s", code, body)
	}
}
