package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/recorded"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
)

const patience = time.Minute

// world is a page that shows a hub of which a state was recorded.
type world struct {
	*testing.T

	hub    client.WithWatch
	source *source
	server *httptest.Server
	site   *site
	// client has a browser's cookies.
	client *http.Client
}

// denied are the kinds that the caller may not read: everywhere, or in all namespaces at once. Silent is a hub that answers
// nobody who watches.
type denied struct {
	everywhere, atOnce []string
	silent             bool
}

// open serves a page of a state, with further objects.
func open(t *testing.T, state string, denied denied, further ...client.Object) *world {
	t.Helper()
	w := &world{T: t, hub: hubOf(t, state, denied, further)}
	if err := w.start(t.Context(), "team-a", false); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewUnstartedServer(nil)
	w.site = &site{host: w.server.Listener.Addr().String(), token: "0123456789", source: w.source}
	w.server.Config.Handler = w.site.handler()
	w.server.Start()
	t.Cleanup(func() { w.server.CloseClientConnections(); w.server.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Jar: jar}
	return w
}

func (w *world) start(ctx context.Context, namespace string, only bool) error {
	options := live.Options{Clusters: members.Namespaces{Home: "default"}, AgentNamespace: "fedquota-system"}
	w.source = newSource(w.hub, clock.RealClock{}, options)
	return w.source.start(ctx, namespace, only)
}

func hubOf(t *testing.T, state string, denied denied, further []client.Object) client.WithWatch {
	t.Helper()
	servers, err := recorded.Read(filepath.Join("..", "testdata", "recorded", state))
	if err != nil {
		t.Fatal(err)
	}
	scheme := schemes.All()
	objects, err := servers["hub"].Decoded(scheme)
	if err != nil {
		t.Fatal(err)
	}
	check := func(verb, namespace string, object runtime.Object) error {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		plural, _ := apimeta.UnsafeGuessKindToResource(gvk)
		where := "at the cluster scope"
		if namespace != "" {
			where = fmt.Sprintf("in the namespace %q", namespace)
		}
		if slices.Contains(denied.everywhere, gvk.Kind) || slices.Contains(denied.atOnce, gvk.Kind) && namespace == "" {
			return apierrors.NewForbidden(plural.GroupResource(), "", fmt.Errorf(
				"User \"bob\" cannot %s resource %q in API group %q %s", verb, plural.Resource, plural.Group, where))
		}
		return nil
	}
	list := func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if err := check("list", (&client.ListOptions{}).ApplyOptions(options).Namespace, list); err != nil {
			return err
		}
		return c.List(ctx, list, options...)
	}
	get := func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if err := check("get", key.Namespace, object); err != nil {
			return err
		}
		return c.Get(ctx, key, object, options...)
	}
	follow := func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
		if denied.silent {
			return nil, errors.New("connection refused")
		}
		return c.Watch(ctx, list, options...)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, further...)...).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).
		WithInterceptorFuncs(interceptor.Funcs{List: list, Get: get, Watch: follow}).Build()
}

// enter opens the address that the command prints.
func (w *world) enter() {
	w.Helper()
	if code := w.get("/?token="+w.site.token, "").code; code != http.StatusOK {
		w.Fatalf("the address answers with %d", code)
	}
}

// reply is what a server has answered. Its body is open until the test ends.
type reply struct {
	code   int
	header http.Header
	body   io.Reader
}

// get asks for a path, of another host if one is given.
func (w *world) get(path, host string) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Host = host
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = response.Body.Close() })
	return reply{response.StatusCode, response.Header, response.Body}
}

// page is what a browser knows of a page.
type page struct {
	w       *world
	scanner *bufio.Scanner
	parts   map[string]json.RawMessage
}

// follow opens the stream of a page.
func (w *world) follow(query string) *page {
	w.Helper()
	stream := w.get("/events?"+query, "")
	if stream.code != http.StatusOK {
		w.Fatalf("the stream answers with %d", stream.code)
	}
	scanner := bufio.NewScanner(stream.body)
	scanner.Buffer(nil, 64<<20)
	return &page{w: w, scanner: scanner, parts: map[string]json.RawMessage{}}
}

// until reads until a page is as it shall be.
func (p *page) until(what string, met func() bool) {
	p.w.Helper()
	for deadline := time.AfterFunc(patience, p.w.server.CloseClientConnections); ; {
		if met() {
			deadline.Stop()
			return
		}
		if !p.scanner.Scan() {
			p.w.Fatalf("it does not show %s: %v\n%v", what, p.scanner.Err(), slices.Sorted(maps.Keys(p.parts)))
		}
		data, found := strings.CutPrefix(p.scanner.Text(), "data: ")
		if !found {
			continue
		}
		var c change
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			p.w.Fatal(err)
		}
		maps.Copy(p.parts, c.Set)
		for _, key := range c.Gone {
			delete(p.parts, key)
		}
	}
}

// has says whether a part is there, and holds all words.
func (p *page) has(key string, words ...string) bool {
	part, there := p.parts[key]
	for _, word := range words {
		there = there && strings.Contains(string(part), word)
	}
	return there
}
