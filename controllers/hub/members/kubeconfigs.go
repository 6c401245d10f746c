package members

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubeconfigs reads the kubeconfig Secrets of members for the cluster cache. Connections by them are the hub's account,
// and learn few kinds of a member: all kinds of an API server take a third of a megabyte in each connection. The
// plug-in of a kubeconfig is the only place at which the cluster cache lets others in.
type Kubeconfigs struct {
	client.Reader

	// Accounts are as whom connections are made in place of the users of the kubeconfigs.
	Accounts *Accounts
}

// Register makes the plug-in known. It is to be called once.
func (k Kubeconfigs) Register() error {
	return rest.RegisterAuthProviderPlugin(ownAccount, k.Accounts.factory)
}

// Get implements client.Reader.
func (k Kubeconfigs) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	if err := k.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if s, ok := object.(*corev1.Secret); ok {
		if changed, err := withPlugin(s.Data[secret.KubeconfigDataName], key); err == nil {
			s.Data[secret.KubeconfigDataName] = changed
		}
	}
	return nil
}

// withPlugin has connections by a kubeconfig use our plug-in.
func withPlugin(kubeconfig []byte, key client.ObjectKey) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, err
	}
	asAccount(config, key)
	return clientcmd.Write(*config)
}

// lazily has a client learn the kinds of an API server group by group, as they are needed: where it asks for all kinds
// at once it gets the names of groups, as if the API server knew no other way. Of the core group, which is large, it
// learns the kinds alone that the hub uses.
type lazily struct{ http.RoundTripper }

// coreGroup is where an API server tells the kinds of the core group.
const coreGroup = "/api/v1"

// coreKinds are the resources of the core group that the hub uses in members. Cluster API's cache asks for nodes, and
// for the pod of its own process.
var coreKinds = sets.New("namespaces", "nodes", "pods", "resourcequotas", "serviceaccounts", "services")

// RoundTrip implements http.RoundTripper.
func (l lazily) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.URL.Path != "/api" && r.URL.Path != "/apis" && r.URL.Path != coreGroup {
		return l.RoundTripper.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	response, err := l.RoundTripper.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || r.URL.Path != coreGroup {
		return response, err
	}
	if err := few(response); err != nil {
		return nil, err
	}
	return response, nil
}

// few leaves the kinds in a response that the hub uses.
func few(response *http.Response) error {
	defer discard(response.Body)
	var list metav1.APIResourceList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return fmt.Errorf("reading the kinds of the core group: %w", err)
	}
	list.APIResources = slices.DeleteFunc(
		list.APIResources, func(r metav1.APIResource) bool { return !coreKinds.Has(r.Name) },
	)
	body, err := json.Marshal(list)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return err
}

// WrappedRoundTripper says what is wrapped, for those who close idle connections.
func (l lazily) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
