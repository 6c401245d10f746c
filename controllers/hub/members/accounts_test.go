package members

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testclock "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/bundle"
)

var (
	// server is an administrator's client of the API server that is both hub and member here, nil where there is none, and
	// admin the administrator's kubeconfig.
	server client.Client
	admin  []byte
	// accounts are those of the plug-in, which is registered once in a process.
	accounts = &Accounts{Namespace: bundle.Namespace, Timeout: 10 * time.Second, Scheme: clientgoscheme.Scheme}
)

func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{}, func(env *envtest.Environment) (err error) {
		admin = env.KubeConfig
		if server, err = client.New(env.Config, client.Options{}); err != nil {
			return err
		}
		accounts.Secrets = server
		return (Kubeconfigs{Accounts: accounts}).Register()
	}))
}

// linked is a member with the kubeconfig Secret of an administrator.
type linked struct {
	*testing.T

	cluster client.ObjectKey
	secret  *corev1.Secret
	clock   *testclock.FakePassiveClock
	// as is a connection as Cluster API's cache makes it, and config what it is made of.
	as     *kubernetes.Clientset
	config *rest.Config
}

func link(t *testing.T) *linked {
	if server == nil {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	name := strings.ToLower(t.Name())
	m := &linked{T: t, cluster: client.ObjectKey{Namespace: "default", Name: name}, clock: testclock.NewFakePassiveClock(time.Now())}
	accounts.Clock = m.clock
	m.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-kubeconfig"},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": admin},
	}
	m.must(server.Create(t.Context(), m.secret))
	text, err := kubeconfig.FromSecret(t.Context(), Kubeconfigs{Reader: server, Accounts: accounts}, m.cluster)
	m.must(err)
	m.config, err = clientcmd.RESTConfigFromKubeConfig(text)
	m.must(err)
	m.as, err = kubernetes.NewForConfig(m.config)
	m.must(err)
	t.Cleanup(func() { m.removes(context.Background()) })
	return m
}

func (m *linked) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// kinds are those of the manifests that make the account.
var kinds = []string{"ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}

// installs applies what makes the account, as the installer does, or those kinds of it alone.
func (m *linked) installs(only ...string) {
	m.Helper()
	objects, err := bundle.Objects(bundle.Options{Image: "i"})
	m.must(err)
	c, err := accounts.Bootstrap(m.Context(), m.cluster)
	m.must(err)
	for _, object := range objects {
		if object.GetKind() == "Namespace" || strings.HasPrefix(object.GetName(), "fedquota-hub") && slices.Contains(only, object.GetKind()) {
			m.must(c.Apply(m.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership))
		}
	}
}

// removes takes the account away again.
func (m *linked) removes(ctx context.Context) {
	about := metav1.ObjectMeta{Namespace: bundle.Namespace, Name: AccountName}
	role := metav1.ObjectMeta{Name: "fedquota-hub-in-member"}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: about}, &rbacv1.ClusterRole{ObjectMeta: role}, &rbacv1.ClusterRoleBinding{ObjectMeta: role},
	} {
		if err := client.IgnoreNotFound(server.Delete(ctx, object)); err != nil {
			m.Error(err)
		}
	}
}

// am returns the user that the API server takes the connection for.
func (m *linked) am() (string, error) {
	review, err := m.as.AuthenticationV1().SelfSubjectReviews().Create(m.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	return review.Status.UserInfo.Username, err
}

// eventually waits for a condition.
func (m *linked) eventually(what string, condition func() error) {
	m.Helper()
	var last error
	err := wait.PollUntilContextTimeout(m.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = condition()
		return last == nil, nil
	})
	if err != nil {
		m.Fatalf("waiting for %s: %v: %v", what, err, last)
	}
}

const own = "system:serviceaccount:" + bundle.Namespace + ":" + AccountName

// TestAccountIsOwn has an administrator's kubeconfig lead to a connection that is the hub's account, with its rights
// and no others.
func TestAccountIsOwn(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	who, err := m.am()
	m.must(err)
	if who != own {
		t.Errorf("the connection is %s, want %s", who, own)
	}
	_, err = m.as.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("what its role does not name: %v", err)
	}
	m.eventually("its rights", func() error {
		_, err := m.as.CoreV1().Namespaces().Get(t.Context(), bundle.Namespace, metav1.GetOptions{})
		return err
	})
	if _, err := m.as.RESTClient().Get().AbsPath("/").DoRaw(t.Context()); err != nil {
		t.Errorf("the probe: %v", err)
	}
	if len(m.config.CertData)+len(m.config.KeyData) > 0 || m.config.BearerToken != "" {
		t.Error("the connection holds the keys of the administrator")
	}
}

// TestAccountIsAbsent reads with the kubeconfig until the account is there, and writes nothing with it.
func TestAccountIsAbsent(t *testing.T) {
	m := link(t)
	if _, err := m.as.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("reading: %v", err)
	}
	_, err := m.as.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "written"}}, metav1.CreateOptions{})
	var nobody *AccountError
	if !errors.As(err, &nobody) || !strings.Contains(nobody.Why, "fedquota-system/fedquota-hub is not there") {
		t.Errorf("writing: %v", err)
	}
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("that there is no account reads as an answer: %v", err)
	}
	m.installs(kinds...)
	if who, err := m.am(); who != own { // it writes: the absence of a moment ago is not believed
		t.Errorf("the connection is %q: %v", who, err)
	}
	m.eventually("reads by the account", func() error {
		_, err := m.as.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("a list that its role does not name: %w", err)
		}
		return nil
	})
}

// TestAccountWithoutRole has the probe go on by the kubeconfig, so that a connection heals the role.
func TestAccountWithoutRole(t *testing.T) {
	m := link(t)
	m.installs("ServiceAccount")
	if _, err := m.as.RESTClient().Get().AbsPath("/").DoRaw(t.Context()); err != nil {
		t.Errorf("the probe: %v", err)
	}
	if _, err := m.as.CoreV1().Namespaces().Get(t.Context(), bundle.Namespace, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another read: %v", err)
	}
}

// TestTokenIsRenewed has a token be renewed before it ends, and be replaced when it is refused.
func TestTokenIsRenewed(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	account := &account{Accounts: accounts, secret: client.ObjectKeyFromObject(m.secret)}
	token := func() string {
		token, err := account.current(t.Context())
		m.must(err)
		return token
	}
	first := token()
	m.clock.SetTime(m.clock.Now().Add(40 * time.Minute))
	if token() != first {
		t.Error("it is renewed before its time")
	}
	m.clock.SetTime(m.clock.Now().Add(12 * time.Minute))
	if token() != first {
		t.Error("the first one holds still: nobody should wait for another")
	}
	m.eventually("another token", func() error {
		if token() == first {
			return errors.New("it is the first one")
		}
		return nil
	})
	_, err := m.am()
	m.must(err)
	m.must(server.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: AccountName}}))
	m.eventually("the token of an account that is gone to be refused", func() error {
		_, err := m.am()
		if !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("it is taken: %w", err)
		}
		return nil
	})
	m.installs(kinds...)
	_, err = m.am()
	m.must(err)
}

// TestKubeconfigIsRotated has a tool put another token into the kubeconfig Secret every few minutes, and each end before
// the next one is there: the connection goes on by the token of the account, and the Secret that is there when that is to
// be renewed does for it.
func TestKubeconfigIsRotated(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	account := &account{Accounts: accounts, secret: client.ObjectKeyFromObject(m.secret)}
	first, err := account.current(t.Context())
	m.must(err)
	_, err = m.am() // has a token of its own
	m.must(err)
	for _, text := range [][]byte{withToken(t, "one"), withToken(t, "two"), admin} {
		m.secret.Data["value"] = text
		m.must(server.Update(t.Context(), m.secret))
		m.clock.SetTime(m.clock.Now().Add(13 * time.Minute))
		if who, err := m.am(); who != own {
			t.Errorf("the connection is %q: %v", who, err)
		}
		if token, err := account.current(t.Context()); token != first {
			t.Errorf("another token is asked for: %v", err)
		}
	}
	m.clock.SetTime(m.clock.Now().Add(13 * time.Minute))
	m.eventually("another token", func() error {
		token, err := account.current(t.Context())
		if err == nil && token == first {
			err = errors.New("it is the first one")
		}
		return err
	})
}

// withToken is the administrator's kubeconfig with a token in place of its keys, which has expired.
func withToken(t *testing.T, token string) []byte {
	t.Helper()
	config, err := clientcmd.Load(admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		*user = clientcmdapi.AuthInfo{Token: token}
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTokenIsForItsIssuer asks for no token where a kubeconfig leads elsewhere by now: it would be sent to the former
// API server.
func TestTokenIsForItsIssuer(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	config, err := clientcmd.Load(admin)
	m.must(err)
	for _, cluster := range config.Clusters {
		cluster.TLSServerName = "localhost"
	}
	m.secret.Data["value"], err = clientcmd.Write(*config)
	m.must(err)
	m.must(server.Update(t.Context(), m.secret))
	if who, err := m.am(); err == nil || !strings.Contains(err.Error(), errMoved.Error()) {
		t.Errorf("the connection is %q: %v", who, err)
	}
}

// TestTokenIsDenied says so where a kubeconfig gets no tokens, and does not act as its user.
func TestTokenIsDenied(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	config, err := clientcmd.Load(admin)
	m.must(err)
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "somebody", []string{"system:authenticated"}
	}
	m.secret.Data["value"], err = clientcmd.Write(*config)
	m.must(err)
	m.must(server.Update(t.Context(), m.secret))
	_, err = m.as.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	var nobody *AccountError
	if want := "Secret testtokenisdenied-kubeconfig may not create tokens of ServiceAccount fedquota-system/fedquota-hub"; !errors.As(err, &nobody) || nobody.Why != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestKubeconfigForTokens has a kubeconfig do that may create tokens of the account and nothing else.
func TestKubeconfigForTokens(t *testing.T) {
	m := link(t)
	m.installs(kinds...)
	config, err := clientcmd.Load(admin)
	m.must(err)
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "tokens", []string{"system:authenticated"}
	}
	m.secret.Data["value"], err = clientcmd.Write(*config)
	m.must(err)
	m.must(server.Update(t.Context(), m.secret))
	about := metav1.ObjectMeta{Namespace: bundle.Namespace, Name: "tokens"}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: about, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{AccountName}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: about, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tokens"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "tokens"}},
		},
	} {
		m.must(server.Create(t.Context(), object))
	}
	m.eventually("a token", func() error {
		who, err := m.am()
		if err == nil && who != own {
			m.Fatalf("the connection is %s, want %s", who, own)
		}
		return err
	})
}
