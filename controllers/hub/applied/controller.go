// Package applied keeps objects in members as the hub wants them there.
package applied

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/requests"
	"github.com/fedquota/fedquota/internal/pace"
)

// Controller looks at each member again and again, applies what is missing or was changed of what its Source wants
// there, and removes what is not to be there. What fails is tried again as its rate limiter says.
type Controller struct {
	client.Client
	// Members connects to members.
	Members clustercache.ClusterCache
	// Bootstrap, if not nil, returns a client of a member that may write there what the one of the connection may only
	// look at.
	Bootstrap func(ctx context.Context, member client.ObjectKey) (client.Client, error)
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
	// Clock says when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to answer one request.
	Timeout time.Duration
	// Wake is told of each Cluster of which there is news.
	Wake chan event.GenericEvent
	// Source says what members are to have.
	Source Source

	memory members.Memory[State]
}

// Source says what members are to have.
type Source interface {
	// FieldOwner is as whom it is applied.
	FieldOwner() string
	// Wanted returns what a member is to have. Nil says that it is to be left alone.
	Wanted(ctx context.Context, cluster members.Cluster) (*Wanted, error)
	// Flaw returns what else keeps a member from having it, once all was looked at and is as it is to be, or is empty.
	Flaw(ctx context.Context, member client.Client) (string, error)
	// News says whether others are to be told of what has changed.
	News(before, after State) bool
}

// Wanted is what one member is to have.
type Wanted struct {
	// Objects are to be there, and are applied in this order.
	Objects []*unstructured.Unstructured
	// Absent are not to be there, and are removed in this order.
	Absent []*unstructured.Unstructured
	// Whole says to look at all of them. Otherwise that is done now and then.
	Whole bool
	// From are the generations of what they were made of, by UID.
	From map[types.UID]int64
}

// State is what is known of one member.
type State struct {
	// From are the generations of what the objects were made of that the member has; nil if it is not known.
	From map[types.UID]int64
	// Writes counts the objects that were applied.
	Writes int
	// Flaw is what the Source found at the last whole look, and Err why the last look failed.
	Flaw string
	Err  error

	// of is the UID of the Cluster, and lookedAt when all objects were looked at.
	of       types.UID
	lookedAt time.Time
	// records are the objects as they were applied.
	records map[key]record
}

// Reason says why the last look at a member failed, or is empty.
func (s *State) Reason() string {
	switch {
	case s.Err == nil:
		return ""
	case errors.Is(s.Err, clustercache.ErrClusterNotConnected):
		return "not connected"
	}
	return s.Err.Error()
}

// Trouble says what keeps a member from having what it is to have, or is empty.
func (s *State) Trouble() string { return cmp.Or(s.Reason(), s.Flaw) }

// Same says whether a member has the same, and the same is wrong there.
func (s *State) Same(other *State) bool {
	return (s.From == nil) == (other.From == nil) && maps.Equal(s.From, other.From) &&
		s.Trouble() == other.Trouble()
}

// State returns what is known of a Cluster. Of one that was replaced nothing is.
func (c *Controller) State(cluster members.Cluster) State {
	state, _ := c.memory.Get(cluster.Name)
	if state.of != cluster.UID {
		return State{of: cluster.UID, records: map[key]record{}}
	}
	return state
}

// Known returns what is known of a member, and whether it was looked at.
func (c *Controller) Known(member string) (State, bool) { return c.memory.Get(member) }

// Reconcile looks at one member, and has it have what it is to have.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	err := c.Get(ctx, req.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	cluster := c.Clusters.Of(object)
	if apierrors.IsNotFound(err) || !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, c.forget(ctx, cluster)
	}
	wanted, err := c.Source.Wanted(ctx, cluster)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case wanted == nil:
		return ctrl.Result{}, c.forget(ctx, cluster)
	}
	return c.keep(ctx, cluster, wanted)
}

// keep has a member have what it is to have, if there is a connection.
func (c *Controller) keep(ctx context.Context, cluster members.Cluster, wanted *Wanted) (ctrl.Result, error) {
	before := c.State(cluster)
	after := before
	member, err := c.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if err == nil {
		err = c.look(ctx, member, cluster, wanted, &after)
	}
	after.Err = err
	c.memory.With(cluster.Name, func(s *State) { *s = after })
	switch told := c.notify(ctx, cluster, before, after); {
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return ctrl.Result{}, told // its connection brings it here again
	case err != nil || told != nil:
		return ctrl.Result{}, errors.Join(err, told)
	case len(wanted.Objects) == 0:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: pace.GuardInterval}, nil
}

// forget forgets a member that is gone, or is left alone.
func (c *Controller) forget(ctx context.Context, cluster members.Cluster) error {
	before, known := c.memory.Get(cluster.Name)
	c.memory.Forget(cluster.Name)
	if !known {
		return nil
	}
	return c.notify(ctx, cluster, before, State{})
}

// notify wakes others for a member of which there is news.
func (c *Controller) notify(ctx context.Context, cluster members.Cluster, before, after State) error {
	if why := after.Trouble(); why != "" && why != before.Trouble() {
		ctrl.LoggerFrom(ctx).Info("A member does not have what it is to have", "why", why)
	}
	if !c.Source.News(before, after) {
		return nil
	}
	select {
	case c.Wake <- event.GenericEvent{Object: cluster.Cluster}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Build begins a controller of that name, which is called for Clusters that pass the predicates, and for connections.
func (c *Controller) Build(
	mgr ctrl.Manager, name string, options controller.Options, predicates ...predicate.Predicate,
) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&clusterv1.Cluster{}, builder.WithPredicates(predicates...)).
		WatchesRawSource(c.Members.GetClusterSource(name, requests.Itself)).
		WithOptions(options)
}
