package member_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
)

const (
	assetsVariable  = "KUBEBUILDER_ASSETS"
	systemNamespace = "fedquota-system"

	admin               = ""
	tenant              = "tenant"
	agent               = "system:serviceaccount:fedquota-system:fedquota-agent"
	apiServer           = "system:apiserver"
	quotaController     = "system:serviceaccount:kube-system:resourcequota-controller"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// server is how to reach the API server that TestMain started, if its programs are at hand.
var server *rest.Config

// TestMain runs the tests with an API server that has the CRDs, the policies and the roles of a member.
func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{Files: []string{"config/crd/bases"}}, func(env *envtest.Environment) error {
		server = env.Config
		return install(context.Background())
	}))
}

// install applies the manifests of a member, and waits until its policies are in force.
func install(ctx context.Context) error {
	c, err := clientOf(admin)
	if err != nil {
		return err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}); err != nil {
		return err
	}
	if err := c.Create(ctx, relic()); err != nil {
		return err
	}
	for _, path := range []string{
		"rbac/agent/role.yaml", "rbac/agent/service_account.yaml", "rbac/agent/leader_election_role.yaml", "rbac/agent/bindings.yaml",
		"member/policy/guard.yaml", "member/policy/fence.yaml", "member/policy/share.yaml", "member/policy/agent.yaml", "member/policy/takeover.yaml",
		"member/policy/covered.yaml",
	} {
		if err := apply(ctx, c, "../../config/"+path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := allowTenant(ctx, c); err != nil {
		return err
	}
	canary := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "probe"}}
	share := newShare(systemNamespace)
	share.Finalizers = nil
	if err := errors.Join(c.Create(ctx, canary), c.Create(ctx, share, client.FieldOwner(quotav1alpha1.HubFieldManager))); err != nil {
		return err
	}
	bounded, err := clientOf(agent)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		dry := client.NewDryRunClient(c)
		label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"quota.fedquota.io/managed":"true"}}}`))
		guard, fence := dry.Patch(ctx, canary.DeepCopy(), label), dry.Status().Patch(ctx, canary.DeepCopy(), label)
		moved := share.DeepCopy()
		moved.Annotations["quota.fedquota.io/cluster"] = "another"
		covered := dry.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}},
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"quota.fedquota.io/covered":"BestEffort"}}}`)))
		bounds := client.NewDryRunClient(bounded).Create(ctx, unmanaged().in(metav1.NamespaceDefault).Obj())
		return apierrors.IsForbidden(guard) && apierrors.IsForbidden(fence) && apierrors.IsForbidden(dry.Update(ctx, moved)) &&
			apierrors.IsForbidden(bounds) && apierrors.IsForbidden(covered), nil
	})
	return errors.Join(err, c.Delete(ctx, share))
}

// relic is a managed ResourceQuota from before there were policies, with what is no revision.
func relic() *corev1.ResourceQuota {
	return quota("relic").managed("abc").hard("pods", "10").in(metav1.NamespaceDefault).Obj()
}

// allowTenant gives the tenant all rights on ResourceQuotas, their status included.
func allowTenant(ctx context.Context, c client.Client) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: tenant}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"resourcequotas", "resourcequotas/status"}, Verbs: []string{"*"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tenant},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenant},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: tenant}},
	}
	return errors.Join(c.Create(ctx, role), c.Create(ctx, binding))
}

// apply creates the objects of a manifest.
func apply(ctx context.Context, c client.Client, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
}

// clients holds the clients of the users, each of which has asked the API server for its kinds.
var clients sync.Map

// clientOf returns a client of a user. The tenant and the agent have the rights that they were given, all others every
// right.
func clientOf(user string) (client.WithWatch, error) {
	if c, ok := clients.Load(user); ok {
		return c.(client.WithWatch), nil
	}
	config := rest.CopyConfig(server)
	if user != admin {
		config.Impersonate.UserName = user
		if user != tenant && user != agent {
			config.Impersonate.Groups = []string{"system:masters"}
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
	if err == nil {
		clients.Store(user, c)
	}
	return c, err
}

// as returns a client of a user, or skips the test if there is no API server.
func as(t *testing.T, user string) client.WithWatch {
	t.Helper()
	// Asked again here, since go test only caches by the variables that are read after TestMain's m.Run.
	if os.Getenv(assetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds an API server", assetsVariable)
	}
	c, err := clientOf(user)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// asHub returns a client that says that it is the hub's.
func asHub(t *testing.T) client.Client {
	t.Helper()
	return client.WithFieldOwner(as(t, admin), "fedquota-hub")
}

// newNamespace returns the name of a new namespace.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, as(t, admin).Create(t.Context(), namespace))
	return namespace.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until what returns nothing, which is what it still waits for.
func eventually(t *testing.T, what func(context.Context) string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = what(ctx)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("waited in vain: %s", last)
	}
}

// refusal returns why the API server refused, or nothing if it did not.
func refusal(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if _, reason, found := strings.Cut(err.Error(), "denied request: "); found {
		return reason
	}
	if !apierrors.IsForbidden(err) {
		t.Fatalf("not refused: %v", err)
	}
	return err.Error()
}
