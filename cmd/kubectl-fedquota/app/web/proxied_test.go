package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
)

const own = "fedquota-system"

// deployed is the page of config/view behind an API server.
type deployed struct {
	*testing.T

	environment *envtest.Environment
	config      *rest.Config
	hub         client.Client
	// address is where kubectl proxy serves it, for somebody who may reach it and nothing else.
	address string
}

// TestProxied serves the page behind a real API server, and sees that two people are shown what each of them may read.
func TestProxied(t *testing.T) {
	d := deploy(t)
	ann, bob := guestOf(t, d.address), guestOf(t, d.address)
	d.enters(ann, "team-a", "ann")
	d.enters(bob, "team-b", "bob")
	d.sees(ann, "row/team-a/compute", "team-b")
	d.sees(bob, "row/team-b/compute", "team-a")
	d.looksBack(ann, "team-a", http.StatusOK, `"denied":"get quotarecords`)
	d.looksBack(bob, "team-b", http.StatusOK, `"from":`)
	d.looksBack(ann, "team-b", http.StatusNotFound, "you may not see it")
	for _, namespace := range []string{"", "team-b"} {
		if code, body := guestOf(t, d.address).enter(d.token("team-a", "ann"), namespace); code != http.StatusForbidden {
			t.Errorf("ann is answered with %d for namespace %q: %s", code, namespace, body)
		}
	}
	if code, body := guestOf(t, d.address).ask(http.MethodGet, "events?page=budgets", nil, nil); code != http.StatusUnauthorized {
		t.Errorf("who shows no token is answered with %d: %s", code, body)
	}
	t.Run("browser", func(t *testing.T) { d.browse(t) })
	d.must(d.hub.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "ann"}}))
	ann.isOut()
	if name := bob.viewer(); name != "system:serviceaccount:team-b:bob" {
		t.Errorf("%q looks after ann has lost her right", name)
	}
}

// browse has somebody enter by a browser, see a change, and leave.
func (d *deployed) browse(t *testing.T) {
	b := (&world{T: t}).launch()
	b.do("open the address", cdplog.Enable(), chromedp.Navigate(d.address))
	b.do("enter", chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", d.token("team-b", "bob")),
		chromedp.SendKeys("#namespace", "team-b"), chromedp.Click(`//button[.="Enter"]`))
	b.reads("team-b/compute")
	b.reads("system:serviceaccount:team-b:bob")
	d.budget("team-b", "another")
	b.reads("team-b/another")
	b.do("open the budget", chromedp.Click(`//a[.="team-b/another"]`), chromedp.WaitVisible(`//h1[.="team-b/another"]`))
	b.picture("deployed")
	b.do("leave", chromedp.Click(`//button[.="Leave"]`), chromedp.WaitVisible("#token"))
	b.picture("enter")
}

func deploy(t *testing.T) *deployed {
	t.Helper()
	config := filepath.Join("..", "..", "..", "..", "config")
	d := &deployed{T: t, environment: apiserver.Start(t, apiserver.Options{Files: []string{"config/crd/bases"}})}
	d.config = d.environment.Config
	var err error
	d.hub, err = client.New(d.config, client.Options{Scheme: schemes.All()})
	d.must(err)
	d.namespace(own)
	admin, err := d.environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	d.must(err)
	d.must(d.kubectl(admin, "apply", "-k", filepath.Join(config, "view")).Run())
	d.endpoint(d.serve())
	for namespace, name := range map[string]string{"team-a": "ann", "team-b": "bob"} {
		d.namespace(namespace)
		d.budget(namespace, "compute")
		d.mayRead(namespace, name)
	}
	d.proxy()
	return d
}

// must fails the test.
func (d *deployed) must(errs ...error) {
	d.Helper()
	if err := errors.Join(errs...); err != nil {
		d.Fatal(err)
	}
}

// kubectl runs kubectl as somebody.
func (d *deployed) kubectl(user *envtest.AuthenticatedUser, args ...string) *exec.Cmd {
	d.Helper()
	content, err := user.KubeConfig()
	d.must(err)
	file := filepath.Join(d.TempDir(), "kubeconfig")
	d.must(os.WriteFile(file, content, 0o600))
	command := exec.CommandContext(d.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), append([]string{"--kubeconfig", file}, args...)...)
	command.Stderr = os.Stderr
	return command
}

// namespace makes a namespace in which pods are restricted.
func (d *deployed) namespace(name string) {
	d.Helper()
	d.must(d.hub.Create(d.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
	}))
}

func (d *deployed) budget(namespace, name string) {
	d.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	fq.Spec.Hard = corev1.ResourceList{"pods": resource.MustParse("5")}
	fq.Spec.Placement.Clusters = []quotav1alpha1.ClusterName{"east"}
	d.must(d.hub.Create(d.Context(), fq))
}

// looksBack asks for the past of the budget of a namespace. Bob may read records, and ann may not.
func (d *deployed) looksBack(g *guest, namespace string, want int, words string) {
	d.Helper()
	code, body := g.ask(http.MethodGet, "replay?name=compute&namespace="+namespace, nil, nil)
	if code != want || !strings.Contains(body, words) || namespace == "team-b" && strings.Contains(body, "denied") {
		d.Errorf("the past of %s is answered with %d: %s", namespace, code, body)
	}
}

// mayRead makes an account that may read the budgets of its namespace, and bob records.
func (d *deployed) mayRead(namespace, name string) {
	d.Helper()
	named := metav1.ObjectMeta{Namespace: namespace, Name: name}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{quotav1alpha1.GroupVersion.Group}, Resources: []string{"federatedquotas"}, Verbs: []string{"list", "watch"}},
	}
	if name == "bob" {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{quotav1alpha1.GroupVersion.Group}, Resources: []string{"quotarecords"}, Verbs: []string{"get"}})
	}
	d.must(
		d.hub.Create(d.Context(), &corev1.ServiceAccount{ObjectMeta: named}),
		d.hub.Create(d.Context(), &rbacv1.Role{ObjectMeta: named, Rules: rules}),
		d.hub.Create(d.Context(), &rbacv1.RoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
		}),
	)
}

func (d *deployed) token(namespace, name string) string {
	d.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	d.must(d.hub.SubResource("token").Create(d.Context(), account, request))
	return request.Status.Token
}

// serve serves the page as the Deployment does, and returns where. API servers lead to no address of their own machine.
func (d *deployed) serve() *net.TCPAddr {
	d.Helper()
	addresses, err := net.InterfaceAddrs()
	d.must(err)
	for _, address := range addresses {
		ip := address.(*net.IPNet).IP
		if ip.To4() == nil || !ip.IsGlobalUnicast() {
			continue
		}
		pair, err := certificate()
		d.must(err)
		listener, err := tls.Listen("tcp", net.JoinHostPort(ip.String(), "0"), &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12})
		d.must(err)
		flags := genericclioptions.NewConfigFlags(false)
		flags.WrapConfigFn = func(*rest.Config) *rest.Config { return d.config } // with an administrator's rights, which nobody is to have
		env := &cli.Env{Config: flags, Clock: clock.RealClock{}, Connect: func(config *rest.Config) (client.WithWatch, error) {
			return client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
		}}
		ctx, cancel := context.WithCancel(context.WithoutCancel(d.Context()))
		l := &lobby{
			connect: env.ClientOf, clock: env.Clock, live: live.Options{Clusters: members.Namespaces{Home: "default"}, AgentNamespace: own},
			most: 10, each: 5, recheck: 100 * time.Millisecond, viewers: map[string]*viewer{}, places: map[string]int{},
		}
		go func() { _ = serve(ctx, listener, l.handler(ctx)) }()
		d.Cleanup(cancel)
		return listener.Addr().(*net.TCPAddr)
	}
	d.Skip("this machine has no address but its own")
	return nil
}

// endpoint has the Service lead to an address, by a pod of the Deployment.
func (d *deployed) endpoint(at *net.TCPAddr) {
	d.Helper()
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: own, Name: "fedquota-view"}
	d.must(d.hub.Get(d.Context(), key, deployment))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "fedquota-view", Labels: deployment.Spec.Template.Labels}, Spec: deployment.Spec.Template.Spec}
	d.must(d.hub.Create(d.Context(), pod))
	pod.Status.PodIPs = []corev1.PodIP{{IP: at.IP.String()}}
	pod.Status.PodIP = at.IP.String()
	d.must(d.hub.Status().Update(d.Context(), pod))
	d.must(d.hub.Create(d.Context(), &corev1.Endpoints{ //nolint:staticcheck // what API servers go by where they lead to Services
		ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "fedquota-view"},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // as above
			Addresses: []corev1.EndpointAddress{{IP: at.IP.String(), TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: own, Name: "fedquota-view"}}},
			Ports:     []corev1.EndpointPort{{Port: int32(at.Port)}},
		}},
	}))
}

// proxy runs kubectl proxy as docs say, as somebody who is bound to the Role of config/view alone.
func (d *deployed) proxy() {
	d.Helper()
	visitor, err := d.environment.AddUser(envtest.User{Name: "visitor"}, nil)
	d.must(err)
	d.must(d.hub.Create(d.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "visitor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "fedquota-view"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "visitor"}},
	}))
	command := d.kubectl(visitor, "proxy", "--port=0", "--accept-paths=^"+below)
	out, err := command.StdoutPipe()
	d.must(err, command.Start())
	d.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	d.must(err)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if address == "" {
		d.Fatalf("kubectl proxy says %q", line)
	}
	d.address = "http://" + address + below
}

// enters waits until somebody is let in: API servers learn of a binding a moment later.
func (d *deployed) enters(g *guest, namespace, name string) {
	d.Helper()
	for deadline := time.After(patience); ; {
		code, body := g.enter(d.token(namespace, name), namespace)
		if code == http.StatusNoContent {
			return
		}
		select {
		case <-deadline:
			d.Fatalf("%s is answered with %d: %s", name, code, body)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sees reads the list of budgets until one is there, and sees that nothing of another namespace is.
func (d *deployed) sees(g *guest, row, never string) {
	d.Helper()
	response := g.open(http.MethodGet, "events?page=budgets", nil, nil)
	defer func() { _ = response.Body.Close() }()
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		if strings.Contains(scanner.Text(), never) {
			d.Errorf("it tells of %s: %s", never, scanner.Text())
		}
		if strings.Contains(scanner.Text(), row) {
			return
		}
	}
	d.Errorf("the stream ends without %s", row)
}
