package system

import (
	"context"
	"net/http"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// scraperName is a service account that is bound to the role for metrics and to nothing else, and the name of that
// binding.
const scraperName = "metrics-reader"

// Scraper returns a client that may read the metrics of the managers of a control plane, as a Prometheus there may. It is
// to be called once for each.
func Scraper(ctx context.Context, c *fleet.ControlPlane) (*http.Client, error) {
	cl, err := Client(c)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: scraperName}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fedquota-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: scraperName}},
	}
	for _, object := range []client.Object{account, binding} {
		if err := client.IgnoreAlreadyExists(cl.Create(ctx, object)); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(c.Dir, scraperName+".kubeconfig")
	if err := c.ServiceAccountKubeconfig(ctx, namespace, scraperName, path); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: true} // managers sign the certificate for their metrics themselves
	return rest.HTTPClientFor(config)
}
