package members

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/internal/pace"
)

// WrapTransport implements rest.AuthProvider.
func (a *account) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return counting{lazily{asOwn{RoundTripper: next, account: a}}}
}

// Login implements rest.AuthProvider.
func (a *account) Login() error { return nil }

// asOwn sends requests as the hub's ServiceAccount. Until that is there, it reads with the credentials of the
// kubeconfig, since by this connection the hub sees what it has to install. So does the probe where the account has
// lost its role, which is healed the same way.
type asOwn struct {
	http.RoundTripper

	account *account
}

// WrappedRoundTripper says what is wrapped, for those who close idle connections.
func (t asOwn) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t asOwn) RoundTrip(r *http.Request) (*http.Response, error) {
	reads := r.Method == http.MethodGet
	if reads && t.account.absent() {
		return t.bootstrapped(r)
	}
	token, err := t.account.current(r.Context())
	if err != nil {
		if reads && t.account.absent() { // as was found just now
			return t.bootstrapped(r)
		}
		discard(r.Body)
		return nil, err
	}
	response, err := t.RoundTripper.RoundTrip(bearing(r, token))
	if err != nil {
		return nil, err
	}
	switch probes := reads && r.URL.Path == "/"; {
	case response.StatusCode == http.StatusUnauthorized:
		return t.renewed(r, token, response)
	case response.StatusCode == http.StatusForbidden && probes:
		discard(response.Body)
		return t.bootstrapped(r)
	}
	return response, nil
}

// renewed sends a request again whose token was refused, by another one. Where there is none the refusal stands: it has
// Cluster API's cache connect anew.
func (t asOwn) renewed(r *http.Request, refused string, response *http.Response) (*http.Response, error) {
	t.account.drop(refused)
	again, err := copied(r)
	if err != nil {
		return response, nil //nolint:nilerr // the refusal is the answer
	}
	token, err := t.account.current(r.Context())
	if err != nil {
		discard(again.Body)
		return response, nil //nolint:nilerr // the refusal is the answer
	}
	discard(response.Body)
	return t.RoundTripper.RoundTrip(bearing(again, token))
}

// bootstrapped reads with the credentials of the kubeconfig. A watch ends after a while, to begin anew as the account.
func (t asOwn) bootstrapped(r *http.Request) (*http.Response, error) {
	config, err := t.account.bootstrap(r.Context(), t.account.secret, t.account.way)
	if err != nil {
		return nil, t.account.unusable(err)
	}
	next, err := rest.TransportFor(config)
	if err != nil {
		return nil, t.account.unusable(err)
	}
	if r.URL.Query().Has("watch") {
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(pace.InstallInterval, cancel)
		r = r.WithContext(ctx)
	}
	return next.RoundTrip(r)
}

// bearing returns a request with a token.
func bearing(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// copied returns a request that was sent, to be sent again.
func copied(r *http.Request) (*http.Request, error) {
	again := r.Clone(r.Context())
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return again, nil
	case r.GetBody == nil:
		return nil, errors.New("its body is gone")
	}
	var err error
	again.Body, err = r.GetBody()
	return again, err
}

// discard closes a body that nobody reads.
func discard(body io.Closer) {
	if body != nil {
		_ = body.Close()
	}
}
