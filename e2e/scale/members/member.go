package members

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// errUnchanged says that nothing is to be stored.
var errUnchanged = errors.New("unchanged")

// Member is a light member.
type Member struct {
	Name string

	address     string
	credentials *credentials
	discovery   Discovery
	store       *store
	agent       *agent

	latency  atomic.Int64 // nanoseconds
	requests sync.Map     // of *atomic.Int64, by what was asked for
	sent     atomic.Int64

	// namespaces are served as metadata alone.
	namespaces *store

	mutex  sync.Mutex
	server *http.Server
}

// New returns a member that serves from now on. Its agent takes delay to act.
func New(name string, discovery Discovery, delay time.Duration) (*Member, error) {
	own, err := newCredentials(name)
	if err != nil {
		return nil, err
	}
	s := newStore()
	m := &Member{Name: name, address: "127.0.0.1:0", credentials: own, discovery: discovery, store: s, agent: newAgent(s, delay), namespaces: newStore()}
	return m, m.Start()
}

// Start lets the member serve, again if it was stopped: at the address that it had.
func (m *Member) Start() error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", m.address)
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.address = listener.Addr().String()
	clients := x509.NewCertPool()
	clients.AddCert(m.credentials.ca)
	m.server = &http.Server{
		Handler: m, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 100},
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{m.credentials.server}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients},
	}
	go func(server *http.Server) { _ = server.ServeTLS(listener, "", "") }(m.server)
	return nil
}

// Stop ends all connections and lets in no other one. What the member holds stays.
func (m *Member) Stop() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.server.Close()
}

// Slow makes each answer take that much longer.
func (m *Member) Slow(latency time.Duration) { m.latency.Store(int64(latency)) }

// hinder delays a request, and says whether it is lost.
func (m *Member) hinder(ctx context.Context) (lost bool) {
	if latency := time.Duration(m.latency.Load()); latency > 0 {
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// AddNamespace has the member have a namespace, and says whether it is new.
func (m *Member) AddNamespace(name string) (added bool) {
	key := types.NamespacedName{Name: name}
	_, _ = m.namespaces.change(key, func(before *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
		if before != nil {
			return before, errUnchanged
		}
		added = true
		return &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uuid.NewUUID()}}, nil
	})
	return added
}

func (m *Member) hasNamespace(name string) bool {
	return m.namespaces.get(types.NamespacedName{Name: name}) != nil
}

// Want sets how many requests would run in a namespace if it had no limit, and what each asks for.
func (m *Member) Want(share types.NamespacedName, requests int64, unit corev1.ResourceList) {
	m.store.mutex.Lock()
	running := int64(0)
	if before := m.agent.loads[share]; before != nil {
		running = before.running
	}
	m.agent.loads[share] = &load{unit: amount.Saturate(unit, amount.Up), wanted: requests, running: running}
	m.store.mutex.Unlock()
	m.agent.wake(share)
}

// Share returns a share, or nil. It is not to be changed.
func (m *Member) Share(key types.NamespacedName) *quotav1alpha1.QuotaShare {
	if found := m.store.get(key); found != nil {
		return found.QuotaShare
	}
	return nil
}

// Requests returns how many requests there were, by verb and resource, and how many bytes were sent.
func (m *Member) Requests() (counts map[string]int64, sent int64) {
	counts = map[string]int64{}
	m.requests.Range(func(what, count any) bool {
		counts[what.(string)] = count.(*atomic.Int64).Load()
		return true
	})
	return counts, m.sent.Load()
}

func (m *Member) count(what string) {
	count, ok := m.requests.Load(what)
	if !ok {
		count, _ = m.requests.LoadOrStore(what, new(atomic.Int64))
	}
	count.(*atomic.Int64).Add(1)
}
