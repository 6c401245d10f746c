package admission

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// laggard is an API server whose cache of ResourceQuotas can be kept from what is stored: before etcd stands a proxy
// that holds back what watches show, and nothing else.
type laggard struct {
	*testing.T
	client.Client
	watches sync.RWMutex
}

// newLaggard starts an API server that ends with the test.
func newLaggard(t *testing.T) *laggard {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: run `make test`, which builds an API server")
	}
	l := &laggard{T: t}
	const patience = 2 * time.Minute
	etcd := &envtest.Etcd{StartTimeout: patience, StopTimeout: patience}
	l.must(etcd.Start())
	server := &envtest.APIServer{EtcdURL: etcd.URL, StartTimeout: patience, StopTimeout: patience}
	plane := envtest.ControlPlane{APIServer: server, Etcd: etcd}
	t.Cleanup(func() { l.must(plane.Stop()) })
	server.Configure().Append("etcd-servers-overrides", "/resourcequotas#"+l.proxy(etcd.URL))
	l.must(server.Start())
	admin, err := plane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, &rest.Config{QPS: -1})
	l.must(err)
	l.Client, err = client.New(admin.Config(), client.Options{})
	l.must(err)
	return l
}

// proxy starts the proxy and returns its URL. etcd speaks HTTP/2 without TLS.
func (l *laggard) proxy(etcd *url.URL) string {
	l.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	listener, err := new(net.ListenConfig).Listen(l.Context(), "tcp", "127.0.0.1:0")
	l.must(err)
	silent := log.New(io.Discard, "", 0)
	server := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: silent, Handler: &httputil.ReverseProxy{
		ErrorLog:  silent,
		Transport: &http.Transport{Protocols: protocols},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(etcd) },
		ModifyResponse: func(r *http.Response) error {
			if strings.HasPrefix(r.Request.URL.Path, "/etcdserverpb.Watch/") {
				r.Body = heldBack{ReadCloser: r.Body, until: &l.watches}
			}
			return nil
		},
	}}
	go func() { _ = server.Serve(listener) }()
	l.Cleanup(func() { l.must(server.Close()) })
	return "http://" + listener.Addr().String()
}

// heldBack is a body that shows nothing while somebody holds the lock.
type heldBack struct {
	io.ReadCloser
	until *sync.RWMutex
}

func (h heldBack) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.until.RLock()
	defer h.until.RUnlock()
	return n, err
}

// fallBehind keeps the API server's cache as it is until the returned function is called, or the test ends.
func (l *laggard) fallBehind() (catchUp func()) {
	l.watches.Lock()
	catchUp = sync.OnceFunc(l.watches.Unlock)
	l.Cleanup(catchUp)
	return catchUp
}

// apply creates the objects of a manifest.
func (l *laggard) apply(path string) {
	l.Helper()
	file, err := os.Open(path)
	l.must(err)
	defer file.Close() //nolint:errcheck // it was only read
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return
		}
		l.must(err)
		l.must(l.Create(l.Context(), object))
	}
}

func (l *laggard) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// eventually waits until a condition holds.
func (l *laggard) eventually(what string, condition func() bool) {
	l.Helper()
	err := wait.PollUntilContextTimeout(l.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		l.Fatalf("waited in vain: %s", what)
	}
}
