// Package scaleout adds nodes for budgets that follow the nodes: it raises the replicas of MachineDeployments of
// Cluster API that have opted in. It gathers what a step is decided on, stores the step, and only then scales;
// internal/scaleout decides. It never takes nodes away.
package scaleout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// Reconciler adds nodes for budgets of one kind.
type Reconciler struct {
	client.Client
	// Live reads from the API server: what is scaled, and what was scaled last, does not come from a cache.
	Live client.Reader
	// Members connects to members.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
	// Clock says when.
	Clock clock.PassiveClock
	// Recorder writes events on budgets.
	Recorder events.EventRecorder
	// Patience says what takes its time beside the steps.
	Patience scaleout.Patience
	// Timeout is how long a member may take to answer one request.
	Timeout time.Duration

	kind kind
	// short is since when budgets are short of nodes, by their keys.
	short *sync.Map
}

// subject is a budget that is looked at.
type subject struct {
	client.Object
	Budget

	// observed is the generation of the spec that the status speaks of; status and conditions are those of the object.
	observed   int64
	status     **quotav1alpha1.ScaleOutStatus
	conditions *[]metav1.Condition
	// clusters are those whose nodes count, and quotas the FederatedQuotas that use the budget.
	clusters []members.Cluster
	quotas   []*quotav1alpha1.FederatedQuota
}

// Reconcile takes at most one step for a budget.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.kind.read(ctx, r.Live, req.NamespacedName)
	if err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !s.Asks() || !s.GetDeletionTimestamp().IsZero() {
		r.forget(req)
		return ctrl.Result{}, nil // rounds take away what is stored
	}
	if s.observed != s.GetGeneration() || stalled(*s.conditions) {
		return ctrl.Result{}, nil // the round that ends that brings it here again
	}
	if err := r.spread(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	in := s.Input(r.Clock.Now())
	in.Patience = r.Patience
	if in.Idle() {
		r.short.Delete(req)
		return ctrl.Result{}, nil
	}
	if err := r.gather(ctx, s, in); err != nil {
		return ctrl.Result{}, err
	}
	in.ShortSince = r.since(req, in)
	return r.take(ctx, s, in)
}

// since returns since when a budget is short of nodes. It is not stored: another hub manager waits anew.
func (r *Reconciler) since(req ctrl.Request, in *scaleout.Input) time.Time {
	if !in.Short() {
		r.short.Delete(req)
		return in.Now
	}
	at, _ := r.short.LoadOrStore(req, in.Now)
	return at.(time.Time)
}

// forget forgets a budget that wants no nodes.
func (r *Reconciler) forget(req ctrl.Request) {
	r.short.Delete(req)
	forgetSeries(req.Namespace, req.Name)
}

// take stores what is decided, and scales.
func (r *Reconciler) take(ctx context.Context, s *subject, in *scaleout.Input) (ctrl.Result, error) {
	d := scaleout.Decide(in)
	if err := r.store(ctx, s, &d.State); err != nil {
		return ctrl.Result{}, err
	}
	next := ctrl.Result{RequeueAfter: d.Next}
	waits := in.Waits || d.State.Reason != quotav1alpha1.ReasonNothingAsked
	if waits && (d.Next == 0 || d.Next > pace.ScaleOutInterval) {
		next.RequeueAfter = pace.ScaleOutInterval
	}
	if d.Step == nil {
		return next, nil
	}
	if err := r.scale(ctx, in, d.Step); err != nil {
		return next, r.takeBack(ctx, s, in, err)
	}
	r.announce(ctx, s, d.Step)
	return next, nil
}

// scale gives a MachineDeployment its replicas, if it is as it was when that was decided.
func (r *Reconciler) scale(ctx context.Context, in *scaleout.Input, step *scaleout.Step) error {
	namespace, name, _ := strings.Cut(step.Group, "/")
	at := metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: in.Version(step.Group)}
	scale := &autoscalingv1.Scale{ObjectMeta: at, Spec: autoscalingv1.ScaleSpec{Replicas: int32(step.To)}}
	deployment := &clusterv1.MachineDeployment{ObjectMeta: at}
	if err := r.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale)); err != nil {
		return fmt.Errorf("scaling MachineDeployment %s: %w", step.Group, err)
	}
	return nil
}

// takeBack stores that the step was not taken. One that somebody else was faster than is decided anew.
func (r *Reconciler) takeBack(ctx context.Context, s *subject, in *scaleout.Input, why error) error {
	state := in.State
	state.Reason, state.Message = quotav1alpha1.ReasonScaleRefused, why.Error()
	if apierrors.IsConflict(why) {
		state.Reason, state.Message = quotav1alpha1.ReasonCoolingDown, "somebody else has changed it meanwhile"
	}
	return errors.Join(why, r.store(ctx, s, &state))
}

// store writes the state and its condition into the status, with one compare-and-swap.
func (r *Reconciler) store(ctx context.Context, s *subject, state *scaleout.State) error {
	before, was := *s.status, apimeta.FindStatusCondition(*s.conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	now := stored(state, s.Hard)
	c := condition(now)
	if equality.Semantic.DeepEqual(before, now) && (was != nil) == (c != nil) {
		return nil
	}
	*s.status = now
	if c == nil {
		apimeta.RemoveStatusCondition(s.conditions, quotav1alpha1.ConditionScaleOutHeldBack)
	} else {
		conditions.Set(s.conditions, *c, s.GetGeneration(), r.Clock.Now())
	}
	if err := r.Status().Update(ctx, s.Object); err != nil {
		return err
	}
	if c != nil && (was == nil || was.Reason != c.Reason) {
		ctrl.LoggerFrom(ctx).Info("No nodes can be added", "reason", c.Reason, "message", c.Message)
		r.Recorder.Eventf(s.Object, nil, corev1.EventTypeWarning, c.Reason, "ScaleOut", "%s",
			conditions.Truncated(c.Type+": "+c.Message, noteLimit))
	}
	if now.Reason == quotav1alpha1.ReasonWouldScaleOut && (before == nil || before.Message != now.Message) {
		r.Recorder.Eventf(s.Object, nil, corev1.EventTypeNormal, now.Reason, "ScaleOut", "%s",
			conditions.Truncated(now.Message, noteLimit))
	}
	return nil
}

// announce tells of a step that was taken.
func (r *Reconciler) announce(ctx context.Context, s *subject, step *scaleout.Step) {
	stepsTaken.WithLabelValues(s.GetNamespace(), s.GetName()).Inc()
	nodesAdded.WithLabelValues(s.GetNamespace(), s.GetName()).Add(float64(step.To - step.From))
	ctrl.LoggerFrom(ctx).Info("Scaled out", "MachineDeployment", step.Group, "from", step.From, "to", step.To)
	namespace, name, _ := strings.Cut(step.Group, "/")
	scaled := &corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Namespace: namespace, Name: name,
	}
	r.Recorder.Eventf(s.Object, scaled, corev1.EventTypeNormal, quotav1alpha1.ReasonScaledOut, "ScaleOut", "%s",
		conditions.Truncated("scaled "+step.Why, noteLimit))
}

// DefaultPatience is what a hub manager waits for, with so long for a node to come.
func DefaultPatience(arrival time.Duration) scaleout.Patience {
	return scaleout.Patience{
		Report: pace.NodeReport, Rise: pace.LimitsRise, Arrival: arrival, Landing: pace.NodeLanding,
		BackOff: pace.NodeBackOff, MostBackOff: pace.MostNodeBackOff,
	}
}
