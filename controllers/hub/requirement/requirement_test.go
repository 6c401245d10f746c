package requirement

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/requirement"
)

// server is a client of the API server that TestMain started, which is the hub's and the one of all members. It is nil
// where the program is not at hand.
var server client.WithWatch

func TestMain(m *testing.M) {
	os.Exit(apiserver.Run(m, apiserver.Options{
		ClusterAPI: []string{"clusters"}, Files: []string{apiserver.CRD("quotarequirements")},
	}, func(env *envtest.Environment) (err error) {
		server, err = client.NewWithWatch(env.Config, client.Options{Scheme: schemes.All()})
		return err
	}))
}

// connections is a cluster cache. A member that has an error in it is not connected.
type connections struct {
	clustercache.ClusterCache

	member client.Client
	errs   map[string]error
}

func (c *connections) GetUncachedClient(_ context.Context, member client.ObjectKey) (client.Client, error) {
	return c.member, c.errs[member.Name]
}

func (c *connections) GetHealthCheckingState(context.Context, client.ObjectKey) clustercache.HealthCheckingState {
	return clustercache.HealthCheckingState{ConsecutiveFailures: 1}
}

// world is a hub with the members east and west. Both are the same API server, so each test looks at one member at a
// time.
type world struct {
	*testing.T

	connections *connections
	enforcer    *Enforcer
	reconciler  *Reconciler
	clock       *testclock.FakePassiveClock
}

func newWorld(t *testing.T) *world {
	if server == nil {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	w := &world{T: t, connections: &connections{member: server, errs: map[string]error{}}, clock: testclock.NewFakePassiveClock(time.Now())}
	w.restart()
	for _, name := range []string{"east", "west"} {
		cluster := &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"name": name}},
			Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "example.com", Kind: "ExternalCluster", Name: name,
			}},
		}
		w.must(server.Create(t.Context(), cluster))
		t.Cleanup(func() { _ = server.Delete(context.Background(), cluster) })
	}
	t.Cleanup(func() {
		_ = server.DeleteAllOf(context.Background(), &admissionregistrationv1.ValidatingAdmissionPolicy{})
		_ = server.DeleteAllOf(context.Background(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
	})
	return w
}

// restart has a hub manager that knows nothing take over.
func (w *world) restart() {
	w.enforcer = NewEnforcer(&applied.Controller{
		Client: server, Members: w.connections, Clusters: members.Namespaces{Home: "default"},
		Clock: w.clock, Timeout: pace.MemberTimeout, Wake: make(chan event.GenericEvent, 100),
	}, "fedquota-system")
	w.reconciler = &Reconciler{Client: server, Enforcer: w.enforcer, Clock: w.clock}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// demand makes a QuotaRequirement of storage of a class, in the members whose names are given.
func (w *world) demand(class string, members ...string) {
	w.Helper()
	r := &quotav1alpha1.QuotaRequirement{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: quotav1alpha1.QuotaRequirementSpec{
			ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "name", Operator: metav1.LabelSelectorOpIn, Values: members}}},
			Resources:       []quotav1alpha1.RequiredResource{quotav1alpha1.RequiredResource(class + ".storageclass.storage.k8s.io/requests.storage")},
		},
	}
	w.must(server.Create(w.Context(), r))
	w.Cleanup(func() {
		_ = server.Patch(context.Background(), r, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		_ = server.Delete(context.Background(), r)
	})
	w.tell(class) // takes the finalizer
}

// look looks at a member, and says whether that brought news.
func (w *world) look(member string) (news bool) {
	w.Helper()
	news, err := w.try(member)
	w.must(err)
	return news
}

// try looks at a member, and says whether that brought news or has failed and is tried again.
func (w *world) try(member string) (news bool, err error) {
	_, err = w.enforcer.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: member}})
	for ; len(w.enforcer.Wake) > 0; news = true {
		<-w.enforcer.Wake
	}
	return news, err
}

// tell writes the status of a QuotaRequirement, long after the last time.
func (w *world) tell(name string) *quotav1alpha1.QuotaRequirement {
	w.Helper()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	_, err := w.reconciler.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	w.must(err)
	stored := &quotav1alpha1.QuotaRequirement{}
	if err := server.Get(w.Context(), client.ObjectKey{Name: name}, stored); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		w.Fatal(err)
	}
	return stored
}

// says compares the status of a QuotaRequirement.
func (w *world) says(name, reason, message string, clusters ...quotav1alpha1.RequirementCluster) {
	w.Helper()
	stored := w.tell(name)
	if stored == nil {
		w.Fatalf("%s is gone", name)
	}
	ready := apimeta.FindStatusCondition(stored.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || ready.Reason != reason || !strings.Contains(ready.Message, message) || (ready.Status == metav1.ConditionTrue) != (reason == quotav1alpha1.ReasonEnforced) {
		w.Errorf("Ready is %+v, want %s: %s", ready, reason, message)
	}
	if diff := cmp.Diff(clusters, stored.Status.Clusters); diff != "" {
		w.Errorf("clusters (-want +got):\n%s", diff)
	}
	if got, want := w.kstatusOf(stored), health[reason]; got != want {
		w.Errorf("kstatus reads %s, want %s", got, want)
	}
}

// health is what Flux and others make of the reason why a QuotaRequirement is ready or not.
var health = map[string]status.Status{
	quotav1alpha1.ReasonEnforced: status.CurrentStatus, quotav1alpha1.ReasonSettling: status.InProgressStatus,
	quotav1alpha1.ReasonDegraded: status.InProgressStatus, quotav1alpha1.ReasonRemoving: status.TerminatingStatus,
	quotav1alpha1.ReasonInvalidSpec: status.FailedStatus, quotav1alpha1.ReasonNoClusters: status.InProgressStatus,
}

func (w *world) kstatusOf(r *quotav1alpha1.QuotaRequirement) status.Status {
	w.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	w.must(err)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("QuotaRequirement"))
	result, err := status.Compute(object)
	w.must(err)
	return result.Status
}

// enforced returns for which resources the member has a policy that is bound.
func (w *world) enforced() (messages []string) {
	w.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for _, object := range []client.Object{policy, binding} {
		if err := server.Get(w.Context(), client.ObjectKey{Name: requirement.Name}, object); client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
	}
	if (policy.UID == "") != (binding.UID == "") {
		w.Error("policy or binding is there, and not the other")
	}
	if binding.UID != "" && !cmp.Equal(binding.Spec.ValidationActions, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}) {
		w.Errorf("the binding is to %v", binding.Spec.ValidationActions)
	}
	for _, v := range policy.Spec.Validations {
		class, _, _ := strings.Cut(strings.TrimPrefix(v.Message, "insufficient quota to consume: "), ".")
		messages = append(messages, class)
	}
	return messages
}

func (w *world) enforces(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.enforced()); diff != "" {
		w.Errorf("enforced (-want +got):\n%s", diff)
	}
}

func cluster(name string, state quotav1alpha1.RequirementState, message string) quotav1alpha1.RequirementCluster {
	return quotav1alpha1.RequirementCluster{Name: quotav1alpha1.ClusterName(name), State: state, Message: message}
}

const (
	enforced    = quotav1alpha1.RequirementEnforced
	notEnforced = quotav1alpha1.RequirementNotEnforced
	leaving     = quotav1alpha1.RequirementLeaving
)

// TestLife has a member enforce two requirements, one of them changed and removed, then the other.
func TestLife(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east")
	w.says("gold", quotav1alpha1.ReasonSettling, "0 of 1 clusters enforce it; missing: east (not looked at yet)", cluster("east", notEnforced, unlooked))
	if !w.look("east") || w.look("east") {
		t.Error("the first look is news, and the second one is none")
	}
	w.says("gold", quotav1alpha1.ReasonEnforced, "1 of 1 clusters enforce it", cluster("east", enforced, ""))
	w.demand("silver", "east")
	w.look("east")
	w.enforces("gold", "silver")
	w.must(server.Patch(t.Context(), w.tell("gold"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":["bronze.storageclass.storage.k8s.io/requests.storage"]}}`))))
	w.says("gold", quotav1alpha1.ReasonSettling, "0 of 1", cluster("east", notEnforced, unlooked))
	w.look("east")
	w.enforces("bronze", "silver")
	w.must(server.Delete(t.Context(), w.tell("gold")))
	w.says("gold", quotav1alpha1.ReasonRemoving, "Waiting for clusters that may still enforce it: east", cluster("east", leaving, unlooked))
	w.look("east")
	w.enforces("silver")
	if w.tell("gold") != nil {
		t.Error("it stays")
	}
	w.says("silver", quotav1alpha1.ReasonEnforced, "1 of 1", cluster("east", enforced, ""))
	w.must(server.Delete(t.Context(), w.tell("silver")))
	w.look("east")
	w.enforces()
}

// TestHealing has others change what a member is to have.
func TestHealing(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east")
	for name, harm := range map[string]func(policy *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error{
		"policy deleted": func(policy *admissionregistrationv1.ValidatingAdmissionPolicy, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
			return server.Delete(t.Context(), policy)
		},
		"binding deleted": func(_ *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
			return server.Delete(t.Context(), binding)
		},
		"binding warns": func(_ *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
			binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
			return server.Update(t.Context(), binding)
		},
		"condition added": func(policy *admissionregistrationv1.ValidatingAdmissionPolicy, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
			policy.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
			return server.Update(t.Context(), policy)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.look("east")
			policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
			for _, object := range []client.Object{policy, binding} {
				w.must(server.Get(t.Context(), client.ObjectKey{Name: requirement.Name}, object))
			}
			w.must(harm(policy, binding))
			w.look("east")
			w.enforces("gold")
			w.must(server.Get(t.Context(), client.ObjectKey{Name: requirement.Name}, policy))
			if len(policy.Spec.MatchConditions) > 0 {
				t.Errorf("conditions %v stay", policy.Spec.MatchConditions)
			}
		})
	}
}

// TestUnreachable has a member be cut off, before and after it enforces something, and at the removal.
func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east", "west")
	w.connections.errs["west"] = clustercache.ErrClusterNotConnected
	w.look("east")
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonDegraded, "1 of 2 clusters enforce it; missing: west (not connected)", cluster("east", enforced, ""), cluster("west", notEnforced, "not connected"))
	delete(w.connections.errs, "west")
	w.look("west")
	w.connections.errs["west"] = clustercache.ErrClusterNotConnected
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonEnforced, "2 of 2", cluster("east", enforced, ""), cluster("west", enforced, "not connected"))
	w.restart()
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonEnforced, "2 of 2", cluster("east", enforced, ""), cluster("west", enforced, "not connected"))
	w.must(server.Delete(t.Context(), w.tell("gold")))
	w.look("east")
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonRemoving, "still enforce it: west (not connected)", cluster("west", leaving, "not connected"))
	west := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "west"}}
	destroyed := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+quotav1alpha1.DestroyedAnnotation+`":"burnt"}}}`))
	w.must(server.Patch(t.Context(), west, destroyed))
	if w.tell("gold") != nil {
		t.Error("it waits for a cluster that is said to be destroyed")
	}
}

// TestDestroyedCountsWithoutConnection has a cluster be said to be destroyed that runs.
func TestDestroyedCountsWithoutConnection(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "west")
	west := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "west"}}
	w.must(server.Patch(t.Context(), west, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+quotav1alpha1.DestroyedAnnotation+`":"burnt"}}}`))))
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonEnforced, "1 of 1", cluster("west", enforced, ""))
}

// TestDeselected has a member that is not selected any more lose the policy, and one whose Cluster is gone be
// forgotten.
func TestDeselected(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east", "west")
	w.look("east")
	w.look("west")
	east := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "east"}}
	w.must(server.Patch(t.Context(), east, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"name":"other"}}}`))))
	w.says("gold", quotav1alpha1.ReasonEnforced, "1 of 1 clusters enforce it; no longer selected, and may still do: east",
		cluster("east", leaving, unlooked), cluster("west", enforced, ""))
	w.look("east")
	w.enforces()
	w.says("gold", quotav1alpha1.ReasonEnforced, "1 of 1 clusters enforce it", cluster("west", enforced, ""))
	w.must(server.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "west"}}))
	w.look("west")
	w.says("gold", quotav1alpha1.ReasonNoClusters, "spec.clusterSelector selects no Cluster yet; one that comes and matches is to enforce it")
}

// TestForgottenPolicy has a hub manager find a policy in a member that no requirement asks for, as after a restored
// hub.
func TestForgottenPolicy(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east")
	w.look("east")
	r := w.tell("gold")
	w.must(server.Patch(t.Context(), r, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	w.must(server.Delete(t.Context(), r))
	w.restart()
	w.look("east")
	w.enforces()
}

// TestRefused has the API server of a member refuse the policy, and then the look at one that is not wanted.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "validatingadmissionpolicies"}, requirement.Name, errors.New("no role"))
	w.connections.member = interceptor.NewClient(server, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
	})
	if news, err := w.try("east"); !news || !apierrors.IsForbidden(err) {
		t.Errorf("news: %t; to be tried again for: %v", news, err)
	}
	message := "looking at ValidatingAdmissionPolicy fedquota-requirement: " + forbidden.Error()
	w.says("gold", quotav1alpha1.ReasonDegraded, message, cluster("east", notEnforced, message))
	w.must(server.Delete(t.Context(), w.tell("gold")))
	w.look("east")
	if w.tell("gold") != nil {
		t.Error("it waits for a member that the hub never had a right in")
	}
}

// TestInvalid has a selector that cannot be read.
func TestInvalid(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east")
	w.look("east")
	w.must(server.Patch(t.Context(), w.tell("gold"), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"exemptNamespaces":{"selector":{"matchLabels":{"a b":"c"}}}}}`))))
	w.look("east")
	w.says("gold", quotav1alpha1.ReasonInvalidSpec, "No cluster enforces it: spec.exemptNamespaces.selector.matchLabels: Invalid value")
	if !apimeta.IsStatusConditionTrue(w.tell("gold").Status.Conditions, quotav1alpha1.ConditionStalled) {
		t.Error("it is not stalled")
	}
}

// TestCalm has news of many members come at once: the status is written each second at most.
func TestCalm(t *testing.T) {
	w := newWorld(t)
	w.demand("gold", "east", "west")
	w.tell("gold")
	w.look("east")
	result, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "gold"}})
	w.must(err)
	if result.RequeueAfter != pace.StatusInterval {
		t.Errorf("the next write is due after %s, want %s", result.RequeueAfter, pace.StatusInterval)
	}
}

// TestMessages names no more than a few clusters.
func TestMessages(t *testing.T) {
	if got, want := named([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
