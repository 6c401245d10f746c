package scaleout

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/scaleout"
)

func as(*quotav1alpha1.FederatedQuota) {}

func TestScalesOnce(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	for range 3 {
		if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	}
	status := h.read(key).Status.ScaleOut
	if h.replicas() != 1 || status.LastStep == nil || *status.LastStep.To != 1 || status.Reason != quotav1alpha1.ReasonNodesOnTheWay {
		t.Fatalf("there are %d replicas, and told is %+v", h.replicas(), status)
	}
	event := <-h.recorder.Events
	if want := "from 0 to 1 replicas, for 1 request for requests.cpu=2"; !strings.Contains(event, want) || len(h.recorder.Events) > 0 {
		t.Errorf("the event is %q, and %d more", event, len(h.recorder.Events))
	}
}

// TestStoresBeforeItScales has the scale fail: the step was stored, and is taken back.
func TestStoresBeforeItScales(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	seen := false
	refuses, err := client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
	h.must(err)
	h.r.Client = interceptor.NewClient(refuses, interceptor.Funcs{SubResourceUpdate: func(
		ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption,
	) error {
		if name != "scale" {
			return c.SubResource(name).Update(ctx, object, options...)
		}
		seen = h.read(key).Status.ScaleOut.LastStep != nil
		return apierrors.NewForbidden(quotav1alpha1.GroupVersion.WithResource("scale").GroupResource(), object.GetName(), nil)
	}})
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	fq := h.read(key)
	c := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	if !seen || fq.Status.ScaleOut.LastStep != nil || c == nil || c.Reason != quotav1alpha1.ReasonScaleRefused {
		t.Errorf("it was stored before: %v; now there is %+v, %+v", seen, fq.Status.ScaleOut, c)
	}
}

// frozen answers with what was there once.
type frozen struct {
	client.Reader

	fq *quotav1alpha1.FederatedQuota
}

func (f frozen) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if fq, is := object.(*quotav1alpha1.FederatedQuota); is {
		f.fq.DeepCopyInto(fq)
		return nil
	}
	return f.Reader.Get(ctx, key, object, options...)
}

// TestTwoManagers has another hub manager decide on what was there before the first one scaled.
func TestTwoManagers(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	other := h.reconciler(frozen{h.Client, h.read(key)})
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !apierrors.IsConflict(err) {
		t.Errorf("the other one got %v", err)
	}
	if n := h.replicas(); n != 1 {
		t.Errorf("there are %d replicas", n)
	}
}

// TestScalesWhatItHasRead has somebody change the MachineDeployment after it was read.
func TestScalesWhatItHasRead(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	s, err := h.r.kind.read(t.Context(), h.Client, key)
	h.must(err)
	in := s.Input(h.clock.Now())
	in.Patience = h.r.Patience
	h.must(h.r.spread(t.Context(), s))
	h.must(h.r.gather(t.Context(), s, in))
	groups := in.Groups
	_, err = h.r.take(t.Context(), s, in)
	h.must(err)
	s, err = h.r.kind.read(t.Context(), h.Client, key)
	h.must(err)
	h.clock.Step(time.Hour)
	later := s.Input(h.clock.Now())
	later.Patience, later.Clusters, later.Groups = h.r.Patience, in.Clusters, groups // as they were before the first step
	later.State.OnTheWay, later.State.Last = 0, nil
	if _, err := h.r.take(t.Context(), s, later); !apierrors.IsConflict(err) {
		t.Errorf("it got %v", err)
	}
	if n := h.replicas(); n != 1 {
		t.Errorf("there are %d replicas", n)
	}
}

func TestDryRun(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Capacity.ScaleOut.DryRun = new(true) })
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	status := h.read(key).Status.ScaleOut
	if h.replicas() != 0 || status.LastStep != nil || status.Reason != quotav1alpha1.ReasonWouldScaleOut {
		t.Errorf("there are %d replicas, and told is %+v", h.replicas(), status)
	}
}

// TestOfAPool has a pool add nodes for what is asked for two levels below it.
func TestOfAPool(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	h.quota(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Capacity = nil
		fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(h.namespace + "-team")}
	})
	org := &quotav1alpha1.QuotaPool{
		ObjectMeta: metav1.ObjectMeta{Name: h.namespace + "-org"},
		Spec: quotav1alpha1.QuotaPoolSpec{
			Hard: cpus("100"), Capacity: &quotav1alpha1.PoolCapacity{Capacity: *following()},
		},
	}
	h.create(org)
	h.create(&quotav1alpha1.QuotaPool{
		ObjectMeta: metav1.ObjectMeta{Name: h.namespace + "-team"},
		Spec:       quotav1alpha1.QuotaPoolSpec{Hard: cpus("100"), Parent: quotav1alpha1.PoolName(org.Name)},
	})
	org.Status.Hard, org.Status.Used, org.Status.Demand = cpus("4"), cpus("4"), cpus("2")
	org.Status.ObservedGeneration = org.Generation
	h.must(h.Status().Update(t.Context(), org))
	if _, err := h.r.of(pools).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(org)}); err != nil {
		t.Fatal(err)
	}
	h.must(h.Get(t.Context(), client.ObjectKeyFromObject(org), org))
	if h.replicas() != 1 || org.Status.ScaleOut.Reason != quotav1alpha1.ReasonScaledOut {
		t.Errorf("there are %d replicas, and told is %+v", h.replicas(), org.Status.ScaleOut)
	}
	for _, counter := range []*prometheus.CounterVec{stepsTaken, nodesAdded} {
		m := &dto.Metric{}
		h.must(counter.WithLabelValues("", org.Name).Write(m))
		if got := m.GetCounter().GetValue(); got != 1 {
			t.Errorf("%v is counted", got)
		}
	}
}

// TestPodsWithoutANode has pods that are there add a node where that is permitted.
func TestPodsWithoutANode(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	fq := h.read(key)
	fq.Status.Demand, fq.Status.Clusters[0].Unscheduled = nil, cpus("2")
	h.must(h.Status().Update(t.Context(), fq))
	share := &quotav1alpha1.QuotaShare{}
	h.must(h.member.Get(t.Context(), key, share))
	share.Status.DemandByShape = nil
	share.Status.Unscheduled = cpus("2")
	share.Status.UnscheduledByShape = []quotav1alpha1.DemandShape{{Amounts: cpus("2"), Unit: cpus("2")}}
	h.must(h.member.Update(t.Context(), share))
	for _, permitted := range []bool{false, true} {
		if permitted {
			h.annotate(scaleout.PermitsUnscheduled)
			h.clock.Step(time.Minute)
		}
		result, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("it is looked at again after %s, %v", result.RequeueAfter, err)
		}
		status := h.read(key).Status.ScaleOut
		if added := h.replicas() == 1; added != permitted || added != (status.Reason == quotav1alpha1.ReasonScaledOut) {
			t.Errorf("permitted: %v; there are %d replicas, and told is %s: %s", permitted, h.replicas(), status.Reason, status.Message)
		}
	}
}

// TestAbove has pools be looked at when pods below them wait for a node.
func TestAbove(t *testing.T) {
	h := newHub(t)
	h.create(&quotav1alpha1.QuotaPool{
		ObjectMeta: metav1.ObjectMeta{Name: h.namespace + "-org"},
		Spec:       quotav1alpha1.QuotaPoolSpec{Hard: cpus("100"), Capacity: &quotav1alpha1.PoolCapacity{Capacity: *following()}},
	})
	for _, name := range []string{"-team", "-other"} {
		pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: h.namespace + name}}
		pool.Spec.Hard = cpus("100")
		if name == "-team" {
			pool.Spec.Parent = quotav1alpha1.PoolName(h.namespace + "-org")
		}
		h.create(pool)
	}
	for pool, want := range map[string]int{"-org": 1, "-team": 1, "-other": 0} {
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "compute"}}
		fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(h.namespace + pool)}
		got := h.r.of(pools).above(t.Context(), fq)
		if len(got) != want || want == 1 && got[0].Name != h.namespace+"-org" {
			t.Errorf("of one in %s, got %v", pool, got)
		}
	}
}

// TestHeldBack has a condition come and go, and rounds keep it.
func TestHeldBack(t *testing.T) {
	h := newHub(t)
	h.workers("0")
	key := h.quota(as)
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	fq := h.read(key)
	kept := Keep(fq.Spec.Capacity, &fq.Status.ScaleOut, fq.Status.Conditions)
	if len(kept) != 1 || kept[0].Reason != quotav1alpha1.ReasonAtMaximum || fq.Status.ScaleOut == nil {
		t.Fatalf("kept is %+v, told is %+v", kept, fq.Status.ScaleOut)
	}
	fq.Spec.Capacity.ScaleOut = nil
	if kept := Keep(fq.Spec.Capacity, &fq.Status.ScaleOut, fq.Status.Conditions); kept != nil || fq.Status.ScaleOut != nil {
		t.Errorf("of what asks for no nodes any more, kept is %+v, told is %+v", kept, fq.Status.ScaleOut)
	}
	fq = h.read(key)
	fq.Status.Demand = nil
	h.must(h.Status().Update(t.Context(), fq))
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if got := h.read(key).Status.Conditions; len(got) > 0 {
		t.Errorf("once nothing is asked for, there is %+v", got)
	}
}

// TestBoundsThatNobodyUnderstands has the condition of the budget name what is wrong with a MachineDeployment, which is
// left alone.
func TestBoundsThatNobodyUnderstands(t *testing.T) {
	h := newHub(t)
	h.workers("many")
	key := h.quota(as)
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(h.read(key).Status.Conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	const says = `cluster-api-autoscaler-node-group-max-size]: Invalid value: "many": must be an integer of 0 or more`
	if c == nil || c.Reason != quotav1alpha1.ReasonNoMachineFits || !strings.Contains(c.Message, says) || h.replicas() != 0 {
		t.Errorf("there are %d replicas, and told is %+v", h.replicas(), c)
	}
}

// TestClusterWithoutAnAgent has a cluster of the budget where no agent was ever installed keep none of the others back.
func TestClusterWithoutAnAgent(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Placement.Clusters = append(fq.Spec.Placement.Clusters, "west")
	})
	h.create(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "west"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "west", Port: 1}},
	})
	fq := h.read(key)
	fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{Name: "west", Revision: 1})
	h.must(h.Status().Update(t.Context(), fq))
	bare := interceptor.NewClient(fake.NewClientBuilder().WithScheme(schemes.All()).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return &apimeta.NoKindMatchError{GroupKind: quotav1alpha1.GroupVersion.WithKind("QuotaShare").GroupKind()}
		},
	})
	west := members.Cluster{Cluster: &clusterv1.Cluster{}, Name: "west"}
	if c, err := Ask(t.Context(), bare, &west, []*quotav1alpha1.FederatedQuota{fq}, nil); err != nil || c.Asks() {
		t.Errorf("of a cluster without an agent, got %+v, %v", c, err)
	}
	if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil { // west is not connected
		t.Fatal(err)
	}
	if told := h.read(key).Status.ScaleOut; h.replicas() != 1 {
		t.Errorf("there are %d replicas, and told is %+v", h.replicas(), told)
	}
}

// TestLimitsRiseFirst has the budget have room for what is asked for: nodes are added once it was asked for all along for a
// minute.
func TestLimitsRiseFirst(t *testing.T) {
	h := newHub(t)
	h.workers("3")
	key := h.quota(as)
	asks := func(amount string) {
		fq := h.read(key)
		fq.Status.Used, fq.Status.Demand = cpus("2"), cpus(amount)
		h.must(h.Status().Update(t.Context(), fq))
	}
	for _, c := range []struct {
		demand string
		later  time.Duration
		reason string
	}{
		{"4", 0, quotav1alpha1.ReasonLimitsRise},
		{"4", 59 * time.Second, quotav1alpha1.ReasonLimitsRise},
		{"2", time.Second, quotav1alpha1.ReasonNothingAsked},
		{"4", time.Second, quotav1alpha1.ReasonLimitsRise},
		{"4", 59 * time.Second, quotav1alpha1.ReasonLimitsRise},
		{"4", time.Second, quotav1alpha1.ReasonScaledOut},
	} {
		asks(c.demand)
		h.clock.Step(c.later)
		if _, err := h.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if told := h.read(key).Status.ScaleOut; told.Reason != c.reason {
			t.Fatalf("with %s asked for, %s later, told is %s: %s", c.demand, c.later, told.Reason, told.Message)
		}
	}
	if n := h.replicas(); n != 1 {
		t.Errorf("there are %d replicas", n)
	}
}
