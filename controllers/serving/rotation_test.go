package serving

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/e2e/apiserver"
)

const day = 24 * time.Hour

// rotation is an API server whose webhook two replicas serve by turns, each with its own idea of the certificate.
type rotation struct {
	*testing.T
	api      client.Client
	clock    *testingclock.FakeClock
	replicas [2]*Certificate
	url      string

	asked  atomic.Int64 // handshakes
	path   atomic.Value // that was asked last
	told   int          // how often the API server was told whom to trust
	mutex  sync.Mutex
	leaves map[string]bool // that were served
}

// TestRotation renews a certificate twice under load, step by step. A request whose review does not reach the webhook
// is refused: none is.
func TestRotation(t *testing.T) {
	r := startRotation(t)
	r.live(2 * day)
	r.ensure(0)
	r.configure()
	r.ensure(1)
	stop := r.load()
	for renewal := range 2 {
		r.live(time.Duration(renewal+2) * 3 * day)
		r.clock.Step(3 * day)
		for _, leading := range []int{0, 1} {
			r.ensure(1 - leading)
			r.goOn()
			r.ensure(leading)
			r.goOn()
			r.configure()
			r.goOn()
		}
		r.clock.Step(rolloutTime)
		r.ensure(0)
		r.goOn() // one serves with the new one, the other with the old one
		r.ensure(1)
		r.goOn()
	}
	stop()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.leaves) != 3 {
		t.Errorf("%d certificates were served, want the first and two renewed ones", len(r.leaves))
	}
}

func startRotation(t *testing.T) *rotation {
	t.Helper()
	api, err := client.New(apiserver.Start(t, apiserver.Options{}).Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rotation{T: t, api: api, clock: testingclock.NewFakeClock(time.Now()), leaves: map[string]bool{}}
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	for i := range r.replicas {
		r.replicas[i] = &Certificate{
			Client: store, Live: store, Clock: r.clock, Namespace: "system", Secret: secretName, Hosts: []string{"127.0.0.1"},
		}
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: r.serve})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(r.allow)}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-ended); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	r.url = "https://" + listener.Addr().String()
	return r
}

// live has the next certificate renewed a time after the test began.
func (r *rotation) live(until time.Duration) {
	for _, replica := range r.replicas {
		replica.Lifetime = renewBefore + until
	}
}

// serve is a handshake with one of the replicas.
func (r *rotation) serve(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := r.replicas[r.asked.Add(1)%2].Serving(hello)
	if err == nil {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.leaves[string(pair.Leaf.Raw)] = true
	}
	return pair, err
}

// allow answers a review.
func (r *rotation) allow(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	r.path.Store(req.URL.Path)
	_ = json.NewEncoder(w).Encode(review)
}

func (r *rotation) ensure(replica int) {
	r.Helper()
	if err := r.replicas[replica].Ensure(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// configure tells the API server whom to trust, as the replica that leads does.
func (r *rotation) configure() {
	r.Helper()
	r.told++
	url := fmt.Sprintf("%s/%d", r.url, r.told)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta: TypeMeta("ValidatingWebhookConfiguration"), ObjectMeta: metav1.ObjectMeta{Name: "rotation"},
	}
	configuration.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name:         "rotation.fedquota.io",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: r.replicas[0].Authority()},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
	}}
	err := r.api.Patch(r.Context(), configuration, patches.Applied{}, client.ForceOwnership, client.FieldOwner("rotation"))
	if err != nil {
		r.Fatal(err)
	}
}

// load creates objects until it is stopped.
func (r *rotation) load() (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("load-%d-%d", writer, n)}}
				if err := r.api.Create(ctx, object, client.DryRunAll); err != nil && ctx.Err() == nil {
					r.Errorf("refused: %v", err)
					return
				}
			}
		})
	}
	return func() {
		cancel()
		writers.Wait()
	}
}

// goOn lets both replicas be asked for a while by an API server that knows whom to trust. It learns that within a
// rolloutTime.
func (r *rotation) goOn() {
	r.Helper()
	until := r.asked.Load() + 20
	err := wait.PollUntilContextTimeout(r.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return r.asked.Load() >= until && r.path.Load() == fmt.Sprintf("/%d", r.told), nil
	})
	if err != nil {
		r.Fatal("the load has ended")
	}
}
