package members

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/pace"
)

// account is the hub's ServiceAccount in the member that one connection leads to.
type account struct {
	*Accounts

	// secret is the kubeconfig Secret of the connection, and way where it led to then.
	secret client.ObjectKey
	way    string

	// flight is the one request for a token that is under way.
	flight singleflight.Group

	mutex sync.Mutex
	// token is the last one, to be renewed from then on.
	token   string
	renewAt time.Time
	// absentAt is when the ServiceAccount was last seen not to be there.
	absentAt time.Time
}

// errAbsent is that a member has no such ServiceAccount.
var errAbsent = errors.New("it is not there")

// current returns the token. While one is being renewed the last one goes on: where that has ended, its refusal says
// so.
func (a *account) current(ctx context.Context) (string, error) {
	a.mutex.Lock()
	token, due := a.token, !a.Clock.Now().Before(a.renewAt)
	a.mutex.Unlock()
	if token != "" && !due {
		return token, nil
	}
	answer := a.flight.DoChan("", func() (any, error) { return a.ask() })
	if token != "" {
		return token, nil
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case result := <-answer:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	}
}

// ask asks the API server of the member for a token. Many requests may wait for it, so it is not up to the context of
// one of them.
func (a *account) ask() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), a.Timeout)
	defer cancel()
	begun := a.Clock.Now()
	issued, err := a.request(ctx)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch {
	case err == nil:
		// Its life is counted by this process's own clock, which the one of the member may differ from.
		life := time.Duration(ptr.Deref(issued.Spec.ExpirationSeconds, 0)) * time.Second
		a.token, a.renewAt, a.absentAt = issued.Status.Token, begun.Add(wait.Jitter(life*7/10, 0.2)), time.Time{}
		return a.token, nil
	case apierrors.IsNotFound(err):
		a.absentAt, err = begun, errAbsent
	}
	a.renewAt = begun.Add(pace.TokenRetry)
	ctrl.Log.V(1).Info("There is no token of the hub's ServiceAccount", "Secret", a.secret.String(), "err", err.Error())
	return "", a.explained(err)
}

// request makes the request for a token.
func (a *account) request(ctx context.Context) (*authenticationv1.TokenRequest, error) {
	config, err := a.bootstrap(ctx, a.secret, a.way)
	if err != nil {
		return nil, a.unusable(err)
	}
	c, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(pace.TokenLife.Seconds()))},
	}
	return c.ServiceAccounts(a.Namespace).CreateToken(ctx, AccountName, request, metav1.CreateOptions{})
}

// explained says why there is no token.
func (a *account) explained(err error) error {
	name := a.Namespace + "/" + AccountName
	var known *AccountError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("asking for a token of ServiceAccount %s: %w", name, context.DeadlineExceeded)
	case errors.Is(err, errAbsent):
		return &AccountError{"the hub's ServiceAccount " + name + " is not there; install the agent's manifests", err.Error()}
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return &AccountError{
			fmt.Sprintf("Secret %s may not create tokens of ServiceAccount %s", a.secret.Name, name), err.Error(),
		}
	default:
		return &AccountError{"there is no token of ServiceAccount " + name, err.Error()}
	}
}

// unusable says why nothing can be asked with the kubeconfig.
func (a *account) unusable(err error) error {
	return &AccountError{"the kubeconfig Secret " + a.secret.Name + " cannot be used", err.Error()}
}

// drop forgets a token that was refused.
func (a *account) drop(token string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.token == token {
		a.token, a.renewAt = "", time.Time{}
	}
}

// absent says whether the ServiceAccount is not there. Who only reads takes the word of a moment ago.
func (a *account) absent() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return !a.absentAt.IsZero() && a.Clock.Since(a.absentAt) < pace.TokenRetry
}
