package members

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lazyKinds names the plug-in for connections by which they ask API servers for few kinds.
const lazyKinds = "fedquota-lazy-kinds"

// Kubeconfigs reads the kubeconfig Secrets of members for the cluster cache. Connections by them learn the kinds of a
// member group by group, as they are needed: all kinds of an API server take a third of a megabyte in each connection.
// The plug-in of a kubeconfig is the only place at which the cluster cache lets others in. One that has a plug-in of
// its own keeps it, unless the hub has accounts.
type Kubeconfigs struct {
	client.Reader

	// Accounts, if not nil, are as whom connections are made in place of the users of the kubeconfigs.
	Accounts *Accounts
}

// Register makes the plug-ins known. It is to be called once.
func (k Kubeconfigs) Register() error {
	if k.Accounts != nil {
		return rest.RegisterAuthProviderPlugin(ownAccount, k.Accounts.factory)
	}
	return rest.RegisterAuthProviderPlugin(lazyKinds, func(string, map[string]string, rest.AuthProviderConfigPersister) (rest.AuthProvider, error) {
		return plugin{}, nil
	})
}

// Get implements client.Reader.
func (k Kubeconfigs) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := k.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if s, ok := object.(*corev1.Secret); ok {
		if changed, err := k.withPlugin(s.Data[secret.KubeconfigDataName], key); err == nil {
			s.Data[secret.KubeconfigDataName] = changed
		}
	}
	return nil
}

// withPlugin has connections by a kubeconfig use a plug-in of ours.
func (k Kubeconfigs) withPlugin(kubeconfig []byte, key client.ObjectKey) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	if k.Accounts != nil {
		asAccount(config, key)
	} else {
		lazy(config)
	}
	return clientcmd.Write(*config)
}

// lazy adds the plug-in for few kinds to the users of a kubeconfig that have none.
func lazy(config *clientcmdapi.Config) {
	for _, user := range config.AuthInfos {
		if user.AuthProvider == nil && user.Exec == nil {
			user.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: lazyKinds}
		}
	}
}

// plugin implements rest.AuthProvider. It authenticates nobody.
type plugin struct{}

func (plugin) WrapTransport(next http.RoundTripper) http.RoundTripper { return lazily{next} }

func (plugin) Login() error { return nil }

// lazily asks for the names of groups where a client asks for all kinds at once, as if the API server knew no other
// way.
type lazily struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l lazily) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && (r.URL.Path == "/api" || r.URL.Path == "/apis") {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
	}
	return l.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper says what is wrapped, for those who close idle connections.
func (l lazily) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
