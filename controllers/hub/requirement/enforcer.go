// Package requirement has members enforce QuotaRequirements, and says which of them do.
package requirement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/requirement"
	"github.com/fedquota/fedquota/internal/validate"
)

// fieldOwner is as whom the policy is written.
const fieldOwner = "fedquota-requirement"

// Enforcer keeps one policy in each member, which enforces all QuotaRequirements that select its Cluster. It removes
// the policy where none does, also where nobody remembers that it is there.
type Enforcer struct {
	client.Client
	// Members connects to members.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are, AgentNamespace where the agents run in members.
	Clusters       members.Namespaces
	AgentNamespace string
	// Timeout is how long a member may take to answer one request.
	Timeout time.Duration
	// Wake is told of each Cluster of which something new is known.
	Wake chan event.GenericEvent

	mutex sync.Mutex
	known map[client.ObjectKey]*outcome
}

// outcome is what is known of the policy in a member.
type outcome struct {
	// of is the UID of the Cluster.
	of types.UID
	// looked says that the member was looked at and left as it is to be, at least once.
	looked bool
	// enforced are the generations of the QuotaRequirements that its policy was made of then.
	enforced map[types.UID]int64
	// trouble is why the last look failed, or empty.
	trouble string
	// versions are the policy and its binding as they were when they were written.
	versions map[string]version
}

// version changes when somebody changes an object.
type version struct {
	uid        types.UID
	generation int64
}

// Reconcile has one member enforce the QuotaRequirements that select it, and no others.
func (e *Enforcer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	err := e.Get(ctx, req.NamespacedName, cluster)
	if apierrors.IsNotFound(err) || err == nil && !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, e.forget(ctx, req)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted, err := e.wanted(ctx, cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	c, err := e.Members.GetUncachedClient(ctx, req.NamespacedName)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ctrl.Result{}, e.note(ctx, cluster, nil, "not connected") // its connection brings it here again
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := e.keep(ctx, c, e.of(cluster), wanted); err != nil {
		return ctrl.Result{RequeueAfter: pace.StallInterval}, e.note(ctx, cluster, nil, err.Error())
	}
	result := ctrl.Result{}
	if len(wanted) > 0 {
		result.RequeueAfter = pace.GuardInterval
	}
	return result, e.note(ctx, cluster, wanted, "")
}

// wanted returns the QuotaRequirements that select a Cluster, by name. Nil and empty differ: it is never nil.
func (e *Enforcer) wanted(ctx context.Context, cluster *clusterv1.Cluster) ([]quotav1alpha1.QuotaRequirement, error) {
	var list quotav1alpha1.QuotaRequirementList
	if err := e.List(ctx, &list); err != nil {
		return nil, err
	}
	wanted := make([]quotav1alpha1.QuotaRequirement, 0, len(list.Items))
	for _, r := range list.Items {
		if selects(&r, cluster) {
			wanted = append(wanted, r)
		}
	}
	slices.SortFunc(wanted, func(a, b quotav1alpha1.QuotaRequirement) int { return cmp.Compare(a.Name, b.Name) })
	return wanted, nil
}

// selects says whether a Cluster is to enforce a QuotaRequirement.
func selects(r *quotav1alpha1.QuotaRequirement, cluster *clusterv1.Cluster) bool {
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.ClusterSelector)
	return err == nil && invalid(r) == nil && r.DeletionTimestamp.IsZero() && cluster.DeletionTimestamp.IsZero() && selector.Matches(labels.Set(cluster.Labels))
}

// invalid says why a spec cannot be acted on. The schema and a webhook refuse most of what is wrong.
func invalid(r *quotav1alpha1.QuotaRequirement) error {
	return validate.Requirement(&r.Spec).ToAggregate()
}

// keep has a connected member have the policy of some QuotaRequirements, and none for none.
func (e *Enforcer) keep(ctx context.Context, c client.Client, o *outcome, wanted []quotav1alpha1.QuotaRequirement) error {
	policy, binding := client.Object(requirement.Policy(wanted, e.AgentNamespace)), client.Object(requirement.Binding())
	if len(wanted) == 0 {
		return errors.Join(e.remove(ctx, c, binding), e.remove(ctx, c, policy))
	}
	changed := !o.looked || !sameGenerations(o.enforced, wanted)
	for _, object := range []client.Object{policy, binding} { // what is bound is there
		if err := e.write(ctx, c, o, object, changed); err != nil {
			return err
		}
	}
	return nil
}

func sameGenerations(enforced map[types.UID]int64, wanted []quotav1alpha1.QuotaRequirement) bool {
	differ := slices.ContainsFunc(wanted, func(r quotav1alpha1.QuotaRequirement) bool { return enforced[r.UID] != r.Generation })
	return !differ && len(enforced) == len(wanted)
}

// write has the member have an object, unless that is as it was written last.
func (e *Enforcer) write(ctx context.Context, c client.Client, o *outcome, object client.Object, changed bool) error {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	kind := object.GetObjectKind().GroupVersionKind().Kind
	stored, err := present(ctx, c, object)
	if err != nil {
		return fmt.Errorf("looking at %s %s: %w", kind, object.GetName(), err)
	}
	switch {
	case stored == nil:
		err = apply(ctx, c, object)
	case changed || versionOf(stored) != o.versions[kind]:
		// It is replaced: an apply would leave in lists and beside them what others have added.
		object.SetUID(stored.GetUID())
		object.SetResourceVersion(stored.GetResourceVersion())
		err = c.Update(ctx, object, client.FieldOwner(fieldOwner))
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing %s %s: %w", kind, object.GetName(), err)
	}
	o.versions[kind] = versionOf(object)
	ctrl.LoggerFrom(ctx).Info("Wrote the policy of QuotaRequirements", "kind", kind)
	return nil
}

// apply makes an object that is not there. A role can name what may be applied, and not what may be created.
func apply(ctx context.Context, c client.Client, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	delete(content, "status") // is the API server's
	applied := &unstructured.Unstructured{Object: content}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return err
	}
	object.SetUID(applied.GetUID())
	object.SetGeneration(applied.GetGeneration())
	return nil
}

func versionOf(object client.Object) version { return version{object.GetUID(), object.GetGeneration()} }

// present returns the metadata of an object in the member, nil if it is not there.
func present(ctx context.Context, c client.Client, object client.Object) (client.Object, error) {
	stored := &metav1.PartialObjectMetadata{}
	stored.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(object), stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return stored, err
}

// remove removes an object. Where the hub has no right to look at it, it never had the one to make it: the manifests
// there are older.
func (e *Enforcer) remove(ctx context.Context, c client.Client, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	kind := object.GetObjectKind().GroupVersionKind().Kind
	stored, err := present(ctx, c, object)
	if stored == nil && err == nil || apierrors.IsForbidden(err) || members.IsAbsentKind(err) {
		return nil
	}
	if err == nil {
		err = client.IgnoreNotFound(c.Delete(ctx, object))
	}
	if err != nil {
		return fmt.Errorf("removing %s %s: %w", kind, object.GetName(), err)
	}
	return nil
}

// of returns what is known of a Cluster. Of one that was replaced nothing is. One worker at a time has a Cluster.
func (e *Enforcer) of(cluster *clusterv1.Cluster) *outcome {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.known == nil {
		e.known = map[client.ObjectKey]*outcome{}
	}
	key := client.ObjectKeyFromObject(cluster)
	o := e.known[key]
	if o == nil || o.of != cluster.UID {
		o = &outcome{of: cluster.UID, versions: map[string]version{}}
		e.known[key] = o
	}
	return o
}

// outcome returns what is known of a Cluster, to be read alone.
func (e *Enforcer) outcome(cluster *clusterv1.Cluster) outcome {
	o := e.of(cluster)
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return *o
}

// note keeps what a look has found, and tells of it if it is new. After a look that failed the member has what it had.
func (e *Enforcer) note(ctx context.Context, cluster *clusterv1.Cluster, enforced []quotav1alpha1.QuotaRequirement, trouble string) error {
	o := e.of(cluster)
	e.mutex.Lock()
	news := o.trouble != trouble
	o.trouble = trouble
	if enforced != nil {
		news = news || !o.looked || !sameGenerations(o.enforced, enforced)
		o.looked, o.enforced = true, make(map[types.UID]int64, len(enforced))
		for i := range enforced {
			o.enforced[enforced[i].UID] = enforced[i].Generation
		}
	}
	e.mutex.Unlock()
	if !news {
		return nil
	}
	return e.tell(ctx, cluster)
}

func (e *Enforcer) forget(ctx context.Context, req ctrl.Request) error {
	e.mutex.Lock()
	delete(e.known, req.NamespacedName)
	e.mutex.Unlock()
	return e.tell(ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}})
}

func (e *Enforcer) tell(ctx context.Context, cluster *clusterv1.Cluster) error {
	select {
	case e.Wake <- event.GenericEvent{Object: cluster}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
