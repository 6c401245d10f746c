package members

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AccountName is the name of the hub's ServiceAccount in members.
const AccountName = "fedquota-hub"

// ownAccount names the plug-in for connections that are the hub's ServiceAccount.
const ownAccount = "fedquota-own-account"

// Accounts have the hub be a ServiceAccount of its own in members. The credentials of a kubeconfig Secret get it a
// token, and bring it into being where it is not there; nothing else is written with them.
type Accounts struct {
	// Secrets reads the kubeconfig Secrets.
	Secrets client.Reader
	// Namespace is that of the ServiceAccount in members.
	Namespace string
	// Clock says when a token is to be renewed.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to answer one request that is made with a kubeconfig.
	Timeout time.Duration
	// Scheme knows the kinds that are installed.
	Scheme *runtime.Scheme
}

// AccountError is why the hub is nobody in a member. It does not unwrap to the answer of the API server: that would
// read as the answer to the request that the token was for, such as that a share is not there.
type AccountError struct {
	// Why stays the same while the reason does.
	Why    string
	detail string
}

func (e *AccountError) Error() string { return e.Why + ": " + e.detail }

// Bootstrap returns a client of a member with the credentials of its kubeconfig Secret.
func (a *Accounts) Bootstrap(ctx context.Context, member client.ObjectKey) (client.Client, error) {
	config, err := a.bootstrap(
		ctx, client.ObjectKey{Namespace: member.Namespace, Name: secret.Name(member.Name, secret.Kubeconfig)}, "",
	)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: a.Scheme})
}

// errMoved is that a kubeconfig leads elsewhere than the connection that was made by it.
var errMoved = errors.New("its kubeconfig Secret leads to another API server by now")

// bootstrap returns the way to an API server by a kubeconfig Secret. If a way is named, it has to be that: a token is
// for the one who issued it, and for nobody who took its place.
func (a *Accounts) bootstrap(ctx context.Context, key client.ObjectKey, way string) (*rest.Config, error) {
	s := &corev1.Secret{}
	if err := a.Secrets.Get(ctx, key, s); err != nil {
		return nil, fmt.Errorf("reading kubeconfig Secret %s: %w", key, err)
	}
	kubeconfig, err := clientcmd.Load(s.Data[secret.KubeconfigDataName])
	if err == nil && way != "" && way != wayOf(kubeconfig) {
		err = errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig Secret %s: %w", key, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig Secret %s: %w", key, err)
	}
	config.UserAgent, config.QPS, config.Timeout = "fedquota-hub", -1, a.Timeout
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next} })
	return config, nil
}

// asAccount makes all users of a kubeconfig the hub's ServiceAccount, and keeps their keys out of the connection.
func asAccount(config *clientcmdapi.Config, key client.ObjectKey) {
	plugin := map[string]string{"namespace": key.Namespace, "secret": key.Name, "way": wayOf(config)}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{
			AuthProvider: &clientcmdapi.AuthProviderConfig{Name: ownAccount, Config: plugin},
		}
	}
}

// wayOf tells ways to API servers apart.
func wayOf(config *clientcmdapi.Config) string {
	chosen := config.Contexts[config.CurrentContext]
	if chosen == nil {
		return "none"
	}
	text, err := json.Marshal(config.Clusters[chosen.Cluster])
	if err != nil {
		return "none"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// factory makes the plug-in of a connection.
func (a *Accounts) factory(
	_ string, config map[string]string, _ rest.AuthProviderConfigPersister,
) (rest.AuthProvider, error) {
	return &account{
		Accounts: a, secret: client.ObjectKey{Namespace: config["namespace"], Name: config["secret"]}, way: config["way"],
	}, nil
}
