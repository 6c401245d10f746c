// Package cli holds what the commands share: the way to the API server, names of budgets, errors and exit codes.
package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/controllers/schemes"
)

// Env is what commands run in.
type Env struct {
	genericiooptions.IOStreams

	// Config are the flags of kubectl: kubeconfig, context, namespace and the like.
	Config *genericclioptions.ConfigFlags
	// Clock says what time it is.
	Clock clock.PassiveClock
	// Connect returns a client of an API server.
	Connect func(*rest.Config) (client.WithWatch, error)
	// Build says what the program was built from.
	Build Build
	// Color says whether output is coloured.
	Color bool
}

// Build says what the program was built from, as the linker set it; what it left empty is not known.
type Build struct {
	Version, Commit string
	// Image is that of the agents of the same release.
	Image string
	// Platform is what it was built for, and by which Go.
	Platform string
}

// NewEnv returns the environment of a person at a terminal, or of a script.
func NewEnv(streams genericiooptions.IOStreams) *Env {
	config := genericclioptions.NewConfigFlags(true)
	config.ClusterName = nil // --cluster is that of a budget here
	return &Env{
		IOStreams: streams,
		Config:    config,
		Clock:     clock.RealClock{},
		Connect: func(config *rest.Config) (client.WithWatch, error) {
			return client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
		},
		Color: text.IsTerminal(streams.Out),
	}
}

// AddFlags adds the flags of all commands.
func (e *Env) AddFlags(root *cobra.Command) {
	e.Config.AddFlags(root.PersistentFlags())
	namespaces := func(ctx context.Context, c client.Client) ([]string, error) {
		return namesIn(ctx, c, &corev1.NamespaceList{})
	}
	utilruntime.Must(root.RegisterFlagCompletionFunc("namespace", e.names(namespaces)))
}

// errNoKubeconfig is that nothing says where the API server is.
var errNoKubeconfig = errors.New("there is no kubeconfig: set KUBECONFIG, or pass --kubeconfig or --server")

// nowhere is the API server that kubectl goes to if nothing says where it is.
const nowhere = "http://localhost:8080"

// Client returns a client of the API server that the flags name.
func (e *Env) Client() (client.WithWatch, error) {
	config, err := e.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if raw, err := e.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && config.Host == nowhere &&
		clientcmdapi.IsConfigEmpty(&raw) && ptr.Deref(e.Config.APIServer, "") == "" {
		return nil, errNoKubeconfig
	}
	return e.Connect(tuned(config))
}

// ClientOf returns a client of the same API server that has the rights of a token, and no others.
func (e *Env) ClientOf(token string) (client.WithWatch, error) {
	config, err := e.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token
	return e.Connect(tuned(config))
}

// tuned leaves it to the API server who has to wait.
func tuned(config *rest.Config) *rest.Config {
	config = rest.AddUserAgent(config, "kubectl-fedquota")
	config.QPS = -1
	return config
}

// Namespace returns the namespace that the flags name, or that of the context.
func (e *Env) Namespace() (string, error) {
	namespace, _, err := e.Config.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// ClientAndNamespace returns both, for commands about what is in a namespace.
func (e *Env) ClientAndNamespace() (client.WithWatch, string, error) {
	c, err := e.Client()
	if err != nil {
		return nil, "", err
	}
	namespace, err := e.Namespace()
	return c, namespace, err
}

// Page returns where a command prints to.
func (e *Env) Page(out io.Writer) *text.Page { return &text.Page{Out: out, Color: e.Color} }
