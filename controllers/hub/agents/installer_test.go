package agents

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/pace"
)

const image = "registry.example/fedquota:v1"

// server is a client of the API server that TestMain started, which is the hub's and the member's. It is nil where the
// program is not at hand.
var (
	server       client.Client
	serverConfig *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{
		ClusterAPI: []string{"clusters"}, Files: []string{apiserver.CRD("federatedquotas"), apiserver.CRD("quotarequirements")},
	}, func(env *envtest.Environment) (err error) {
		serverConfig = env.Config
		server, err = client.New(serverConfig, client.Options{Scheme: schemes.All()})
		return err
	}))
}

// connected is a cluster cache with one member.
type connected struct {
	clustercache.ClusterCache

	member client.Client
	err    error
}

func (c *connected) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return c.member, c.err
}

// world is an installer with a Cluster that a FederatedQuota selects.
type world struct {
	*testing.T
	*Installer

	clock   *testclock.FakePassiveClock
	members *connected
	quota   *quotav1alpha1.FederatedQuota
}

func newWorld(t *testing.T) *world {
	if server == nil {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	objects, err := bundle.Objects(bundle.Options{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, clock: testclock.NewFakePassiveClock(time.Now()), members: &connected{member: server}}
	w.Installer = NewInstaller(&applied.Controller{
		Client: server, Members: w.members, Clusters: members.Namespaces{Home: "default"},
		Clock: w.clock, Timeout: pace.MemberTimeout, Wake: make(chan event.GenericEvent, 100),
	}, objects)
	name := strings.ToLower(t.Name())
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "example.com", Kind: "ExternalCluster", Name: name,
		}},
	}
	w.quota = &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       quotav1alpha1.FederatedQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}, Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"other"}}},
	}
	for _, object := range []client.Object{cluster, w.quota} {
		w.must(server.Create(t.Context(), object))
		t.Cleanup(func() { _ = server.Delete(context.Background(), object) })
	}
	t.Cleanup(w.uninstall)
	return w
}

// uninstall removes what was installed, but for the namespace: without a namespace controller one that is deleted stays
// for ever.
func (w *world) uninstall() {
	ctx := context.Background()
	for _, object := range slices.Backward(w.Objects) {
		if object.GetKind() == "Namespace" {
			continue
		}
		_ = server.Delete(ctx, object.DeepCopy())
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
			return apierrors.IsNotFound(server.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())), nil
		})
		if err != nil {
			w.Errorf("%s %s stays: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// selects has the FederatedQuota have an entry for the Cluster.
func (w *world) selects(state quotav1alpha1.ClusterState, reason string) {
	w.quota.Status.Clusters = []quotav1alpha1.ClusterStatus{{Name: quotav1alpha1.ClusterName(w.quota.Name), State: state, Reason: reason}}
	w.must(server.Status().Update(w.Context(), w.quota))
}

// look reconciles once, and returns how many times the installer has woken the rounds by that.
func (w *world) look() (woken int) {
	w.Helper()
	_, err := w.Reconcile(w.Context(), w.request())
	w.must(err)
	for ; len(w.Wake) > 0; woken++ {
		<-w.Wake
	}
	return woken
}

func (w *world) request() ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: w.quota.Name}}
}

// missing returns the objects of the bundle that are not there.
func (w *world) missing() (missing []string) {
	for _, object := range w.Objects {
		stored := object.DeepCopy()
		err := server.Get(w.Context(), client.ObjectKeyFromObject(object), stored)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, object.GetKind()+"/"+object.GetName())
		case err != nil:
			w.Fatal(err)
		}
	}
	return missing
}

// TestInstall installs the agent where a FederatedQuota wants it, and then leaves it alone.
func TestInstall(t *testing.T) {
	w := newWorld(t)
	if w.look(); len(w.missing()) == 0 {
		t.Fatal("the agent was installed in a Cluster that nobody selects")
	}
	w.selects(quotav1alpha1.ClusterUnread, "")
	if woken := w.look(); woken != 1 {
		t.Errorf("rounds were woken %d times", woken)
	}
	if missing := w.missing(); len(missing) > 0 {
		t.Fatalf("missing: %s", missing)
	}
	deployment := &appsv1.Deployment{}
	w.must(server.Get(t.Context(), client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.DeploymentName}, deployment))
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != image {
		t.Errorf("the image is %s", got)
	}
	before := w.versions()
	w.clock.SetTime(w.clock.Now().Add(pace.InstallInterval))
	if woken := w.look(); woken != 0 {
		t.Error("rounds were woken, and nothing was missing")
	}
	if diff := cmp.Diff(before, w.versions()); diff != "" {
		t.Errorf("what was there was written again:\n%s", diff)
	}
}

// TestInstallByBootstrap installs where the connection may look at nothing, as one that has lost its role, and by other
// credentials.
func TestInstallByBootstrap(t *testing.T) {
	w := newWorld(t)
	w.selects(quotav1alpha1.ClusterUnread, "")
	config := rest.CopyConfig(serverConfig)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	var err error
	w.members.member, err = client.New(config, client.Options{Scheme: server.Scheme()})
	w.must(err)
	if _, err := w.Reconcile(t.Context(), w.request()); !apierrors.IsForbidden(err) {
		t.Errorf("without other credentials: %v", err)
	}
	asked := 0
	w.Bootstrap = func(_ context.Context, member client.ObjectKey) (client.Client, error) {
		asked++
		if member.Name != w.quota.Name {
			t.Errorf("asked for credentials of %s", member)
		}
		return server, nil
	}
	_, err = w.Reconcile(t.Context(), w.request())
	if missing := w.missing(); len(missing) > 0 {
		t.Errorf("missing: %s: %v", missing, err)
	}
	if asked != 1 {
		t.Errorf("asked for credentials %d times", asked)
	}
	w.members.member = server
	if w.look(); asked != 1 {
		t.Errorf("nothing was to be installed: asked for credentials %d times", asked)
	}
}

// versions returns the resource versions of all objects.
func (w *world) versions() map[string]string {
	versions := map[string]string{}
	for _, object := range w.Objects {
		stored := object.DeepCopy()
		w.must(server.Get(w.Context(), client.ObjectKeyFromObject(object), stored))
		versions[object.GetKind()+"/"+object.GetName()] = stored.GetResourceVersion()
	}
	return versions
}

// TestHeal has somebody delete and change what was installed.
func TestHeal(t *testing.T) {
	w := newWorld(t)
	w.selects(quotav1alpha1.ClusterSettled, "")
	w.look()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-agent"}}
	w.must(server.Delete(t.Context(), configuration))
	w.look()
	if missing := w.missing(); len(missing) > 0 {
		t.Errorf("not healed at the next look: %s", missing)
	}
	guard := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	weaken := func() {
		w.must(server.Get(t.Context(), client.ObjectKey{Name: "fedquota-guard"}, guard))
		guard.Labels = map[string]string{"team": "platform"}
		ignore := admissionregistrationv1.Ignore
		guard.Spec.FailurePolicy = &ignore
		w.must(server.Update(t.Context(), guard))
	}
	healed := func() bool {
		w.must(server.Get(t.Context(), client.ObjectKey{Name: "fedquota-guard"}, guard))
		return *guard.Spec.FailurePolicy == admissionregistrationv1.Fail
	}
	weaken()
	w.clock.SetTime(w.clock.Now().Add(pace.InstallInterval))
	if w.look(); !healed() {
		t.Error("the guard was not healed within the interval")
	}
	if guard.Labels["team"] != "platform" {
		t.Error("a label that is somebody's own was taken off")
	}
	weaken()
	w.selects(quotav1alpha1.ClusterNotReady, quotav1alpha1.ReasonPolicyNotInForce)
	if w.look(); !healed() {
		t.Error("the guard was not healed at once where the agent says that it is not in force")
	}
}

// TestHealWhatWasAdded has somebody add fields that take a policy out of force, and that no manifest states, and have
// its binding warn.
func TestHealWhatWasAdded(t *testing.T) {
	w := newWorld(t)
	w.selects(quotav1alpha1.ClusterSettled, "")
	w.look()
	policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	read := func() {
		w.must(server.Get(t.Context(), client.ObjectKey{Name: "fedquota-guard"}, policy))
		w.must(server.Get(t.Context(), client.ObjectKey{Name: "fedquota-guard"}, binding))
	}
	read()
	wantPolicy, wantBinding := policy.Spec.DeepCopy(), binding.Spec.DeepCopy()
	nobody := &metav1.LabelSelector{MatchLabels: map[string]string{"no": "such"}}
	policy.Spec.MatchConditions = append(policy.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "never", Expression: "false"})
	w.must(server.Update(t.Context(), policy))
	binding.Spec.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: nobody}
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
	w.must(server.Update(t.Context(), binding))

	w.selects(quotav1alpha1.ClusterNotReady, quotav1alpha1.ReasonPolicyNotInForce)
	w.look()
	read()
	if diff := cmp.Diff(*wantPolicy, policy.Spec); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*wantBinding, binding.Spec); diff != "" {
		t.Errorf("binding (-want +got):\n%s", diff)
	}
}

// TestTrouble says why an agent does not run.
func TestTrouble(t *testing.T) {
	w := newWorld(t)
	w.selects(quotav1alpha1.ClusterUnread, "")
	w.look()
	if got, want := w.Trouble(w.quota.Name), "Deployment fedquota-system/fedquota-agent: no pod of it is ready"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	deployment := &appsv1.Deployment{}
	w.must(server.Get(t.Context(), client.ObjectKey{Namespace: bundle.Namespace, Name: bundle.DeploymentName}, deployment))
	deployment.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "pods are forbidden",
	}}
	w.must(server.Status().Update(t.Context(), deployment))
	w.look()
	if got, want := w.Trouble(w.quota.Name), "Deployment fedquota-system/fedquota-agent: pods are forbidden"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	deployment.Status = appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 1, AvailableReplicas: 1}
	w.must(server.Status().Update(t.Context(), deployment))
	w.look()
	if got := w.Trouble(w.quota.Name); got != "" {
		t.Errorf("a replica is available, and there is trouble: %q", got)
	}
	w.must(server.Delete(t.Context(), w.quota))
	w.look()
	if _, known := w.Known(w.quota.Name); known {
		t.Error("a Cluster that nobody selects any more is remembered")
	}
}

// TestRefusal has the API server of the member refuse the hub.
func TestRefusal(t *testing.T) {
	w := newWorld(t)
	w.selects(quotav1alpha1.ClusterUnread, "")
	w.members.member = refusing{server}
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.quota)}); err == nil {
		t.Error("nothing is tried again")
	}
	if got, want := w.Trouble(w.quota.Name), "installing the agent failed: applying Namespace fedquota-system: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// refusing is a member that takes nothing.
type refusing struct{ client.Client }

func (refusing) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return apierrors.NewForbidden(corev1.Resource("namespaces"), bundle.Namespace, errors.New("read only"))
}

// TestRequirementInstalls has a QuotaRequirement alone select a Cluster, and then leave it.
func TestRequirementInstalls(t *testing.T) {
	w := newWorld(t)
	w.look()
	if missing := w.missing(); len(missing) < len(w.Objects)-1 {
		t.Fatalf("installed where nothing selects it; missing %v", missing)
	}
	requirement := &quotav1alpha1.QuotaRequirement{
		ObjectMeta: metav1.ObjectMeta{Name: w.quota.Name},
		Spec:       quotav1alpha1.QuotaRequirementSpec{ClusterSelector: &metav1.LabelSelector{}, Resources: []quotav1alpha1.RequiredResource{"requests.example.com/gpu"}},
	}
	w.must(server.Create(t.Context(), requirement))
	t.Cleanup(func() { _ = server.Delete(context.Background(), requirement) })
	says := func(state quotav1alpha1.RequirementState) {
		requirement.Status.Clusters = []quotav1alpha1.RequirementCluster{{Name: quotav1alpha1.ClusterName(w.quota.Name), State: state}}
		w.must(server.Status().Update(t.Context(), requirement))
	}
	says(quotav1alpha1.RequirementNotEnforced)
	if diff := cmp.Diff([]ctrl.Request{w.request()}, w.requiring(t.Context(), requirement)); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	w.look()
	if missing := w.missing(); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	says(quotav1alpha1.RequirementEnforced)
	if woken := w.requiring(t.Context(), requirement); len(woken) > 0 {
		t.Errorf("woken for what is well: %v", woken)
	}
	says(quotav1alpha1.RequirementLeaving)
	w.look()
	if _, known := w.Known(w.quota.Name); known {
		t.Error("it looks after a Cluster that is leaving")
	}
}
