package fleet

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// CAFile is the path of the certificate of the authority that signs for the control plane.
func (c *ControlPlane) CAFile() string { return c.credentials.path(caFile) }

// UserKubeconfig writes the kubeconfig of a user in some groups, known by a certificate, and returns its path.
func (c *ControlPlane) UserKubeconfig(user string, groups ...string) (string, error) {
	return c.credentials.writeUser(user, c.url(c.port), groups...)
}

// tokenSeconds is how long tokens live: longer than any test or demo.
const tokenSeconds = int64(24 * 60 * 60)

// ServiceAccountKubeconfig writes the kubeconfig of a service account, which must exist, with a token that the API
// server issues and that holds for a day.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name, path string) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	seconds := tokenSeconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err = client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("get a token for service account %s/%s: %w", namespace, name, err)
	}
	user := &clientcmdapi.AuthInfo{Token: request.Status.Token}
	return writeKubeconfig(path, c.Name, c.url(c.port), c.credentials.ca.KeyPair.Cert, user)
}
