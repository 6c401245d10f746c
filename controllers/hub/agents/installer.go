// Package agents keeps the agent installed in the members of FederatedQuotas and QuotaRequirements.
package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/pace"
)

// fieldOwner is as whom the manifests are applied. What others add to an object stays, but in the spec of a policy and of
// its binding: one more field there can take a protection out of force.
const fieldOwner = "fedquota-install"

var ownedWhole = sets.New("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

// Installer applies the manifests of the agent to each Cluster that a FederatedQuota or a QuotaRequirement selects, and
// heals what somebody changes or deletes there. It removes nothing: what an agent enforces stays in force without it.
type Installer struct {
	client.Client
	// Members connects to members.
	Members clustercache.ClusterCache
	// Bootstrap, if not nil, returns a client of a member that may install there what the one of the connection may only
	// look at.
	Bootstrap func(ctx context.Context, member client.ObjectKey) (client.Client, error)
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
	// Objects are the manifests in the order in which they are applied.
	Objects []*unstructured.Unstructured
	// Clock says when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to answer one request.
	Timeout time.Duration
	// Wake is told of each Cluster in which something was installed.
	Wake chan event.GenericEvent

	mutex sync.Mutex
	known map[string]*installation
}

// installation is what is known of the agent in a member.
type installation struct {
	// of is the UID of the Cluster.
	of types.UID
	// versions are the objects as they were when they were applied, by their place in the manifests.
	versions map[int]version
	// lookedAt is when all of them were looked at.
	lookedAt time.Time
	// rollout is why no replica was available at the last look, and trouble what keeps the agent from running, or they are
	// empty.
	rollout, trouble string
}

// version changes when somebody changes an object, and stays when its status changes.
type version struct {
	uid     types.UID
	version string
}

// versionOf returns the version of an object. Kinds without a generation have no status that changes often. Of the
// Lease, which the hub renews all the time, no more is asked than that it is there.
func versionOf(object client.Object) version {
	switch {
	case object.GetObjectKind().GroupVersionKind().Kind == "Lease":
		return version{uid: object.GetUID()}
	case object.GetGeneration() > 0:
		return version{object.GetUID(), fmt.Sprint(object.GetGeneration())}
	}
	return version{object.GetUID(), object.GetResourceVersion()}
}

// Trouble says what keeps the agent of a Cluster from running, as far as it is known, or is empty.
func (i *Installer) Trouble(cluster string) string {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if k := i.known[cluster]; k != nil {
		return k.trouble
	}
	return ""
}

// Reconcile looks at the agent in one member, and installs what is missing or was changed.
func (i *Installer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	selected, suspected, err := i.selected(ctx, i.Clusters.Name(req.NamespacedName))
	if err != nil {
		return ctrl.Result{}, err
	}
	cluster := &clusterv1.Cluster{}
	if selected {
		err = i.Get(ctx, req.NamespacedName, cluster)
	}
	if !selected || apierrors.IsNotFound(err) || !cluster.DeletionTimestamp.IsZero() {
		i.forget(i.Clusters.Name(req.NamespacedName))
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	c, err := i.Members.GetUncachedClient(ctx, req.NamespacedName)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ctrl.Result{}, nil // its connection brings it here again
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: pace.GuardInterval}, i.keep(ctx, c, i.Clusters.Of(cluster), suspected)
}

// keep keeps the agent of a connected member as its manifests say, and notes what troubles it.
func (i *Installer) keep(ctx context.Context, c client.Client, cluster members.Cluster, suspected bool) error {
	k := i.of(cluster)
	all := suspected || i.Clock.Since(k.lookedAt) >= pace.InstallInterval
	installed, err := i.look(ctx, c, i.writer(ctx, c, cluster), k, all)
	if err == nil && all {
		k.lookedAt = i.Clock.Now()
		k.rollout, err = i.rollout(ctx, c)
	}
	i.note(ctx, cluster.Name, k, err)
	if len(installed) == 0 {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Installed the agent's manifests", "Cluster", cluster.Name, "objects", installed)
	select {
	case i.Wake <- event.GenericEvent{Object: cluster.Cluster}:
	case <-ctx.Done():
	}
	return err
}

// selected says whether a FederatedQuota or a QuotaRequirement has an entry for a Cluster, and whether by one it may
// lack something.
func (i *Installer) selected(ctx context.Context, cluster string) (selected, suspected bool, err error) {
	var quotas quotav1alpha1.FederatedQuotaList
	if err := i.List(ctx, &quotas, client.UnsafeDisableDeepCopy); err != nil {
		return false, false, err
	}
	for n := range quotas.Items {
		for _, c := range quotas.Items[n].Status.Clusters {
			if string(c.Name) == cluster {
				selected, suspected = true, suspected || suspicious(c)
			}
		}
	}
	required, lacking, err := i.required(ctx, cluster)
	return selected || required, suspected || lacking, err
}

// required says whether a QuotaRequirement selects a Cluster, and whether one may lack something to be enforced there:
// the hub's account writes the policy, and the agent says what is covered.
func (i *Installer) required(ctx context.Context, cluster string) (required, lacking bool, err error) {
	var requirements quotav1alpha1.QuotaRequirementList
	if err := i.List(ctx, &requirements, client.UnsafeDisableDeepCopy); err != nil {
		return false, false, err
	}
	for n := range requirements.Items {
		for name, lacks := range clustersOf(&requirements.Items[n]) {
			required, lacking = required || name == cluster, lacking || name == cluster && lacks
		}
	}
	return required, lacking, nil
}

// clustersOf returns the names of the Clusters that a QuotaRequirement selects, and whether they may lack something.
func clustersOf(requirement *quotav1alpha1.QuotaRequirement) map[string]bool {
	clusters := map[string]bool{}
	for _, c := range requirement.Status.Clusters {
		if c.State != quotav1alpha1.RequirementLeaving {
			clusters[string(c.Name)] = c.State == quotav1alpha1.RequirementNotEnforced
		}
	}
	return clusters
}

// suspicious says whether a cluster may lack something that the installer brings: the API of shares, a policy, the
// agent.
func suspicious(c quotav1alpha1.ClusterStatus) bool {
	switch c.State {
	case quotav1alpha1.ClusterUnread, quotav1alpha1.ClusterUnreachable, quotav1alpha1.ClusterNotReady:
		return true
	default:
		return false
	}
}

// of returns what is known of a Cluster. Of one that was replaced nothing is.
func (i *Installer) of(cluster members.Cluster) *installation {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.known == nil {
		i.known = map[string]*installation{}
	}
	k := i.known[cluster.Name]
	if k == nil || k.of != cluster.UID {
		k = &installation{of: cluster.UID, versions: map[int]version{}}
		i.known[cluster.Name] = k
	}
	return k
}

func (i *Installer) knows(cluster string) bool {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.known[cluster] != nil
}

func (i *Installer) forget(cluster string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	delete(i.known, cluster)
}

// look applies the objects that are not as they were applied last, and returns which. Between looks at all of them it
// looks at the configuration of the webhook alone: without that one requests that do not fit are refused at once.
func (i *Installer) look(ctx context.Context, c client.Client, writer func() (client.Client, error), k *installation, all bool) (installed []string, err error) {
	for n, object := range i.Objects {
		if !all && object.GetKind() != "ValidatingWebhookConfiguration" {
			continue
		}
		before, applied := k.versions[n]
		now, err := i.present(ctx, c, object)
		if err != nil {
			return installed, fmt.Errorf("looking at %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if applied && now == before {
			continue
		}
		if k.versions[n], err = i.apply(ctx, writer, object); err != nil {
			delete(k.versions, n)
			return installed, fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if k.versions[n] != now {
			installed = append(installed, object.GetKind()+"/"+object.GetName())
		}
	}
	return installed, nil
}

// writer returns what makes the client that installs in a member, once it is needed.
func (i *Installer) writer(ctx context.Context, c client.Client, cluster members.Cluster) func() (client.Client, error) {
	if i.Bootstrap == nil {
		return func() (client.Client, error) { return c, nil }
	}
	return sync.OnceValues(func() (client.Client, error) { return i.Bootstrap(ctx, client.ObjectKeyFromObject(cluster)) })
}

// present returns the version of an object in the member, the zero one if it is not there. What the hub's account may
// not look at is applied: its role was changed, or is older than this hub manager.
func (i *Installer) present(ctx context.Context, c client.Client, object *unstructured.Unstructured) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	stored := &metav1.PartialObjectMetadata{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(object), stored)
	switch {
	case apierrors.IsNotFound(err), members.IsAbsentKind(err), i.Bootstrap != nil && apierrors.IsForbidden(err):
		return version{}, nil
	case err != nil:
		return version{}, err
	}
	return versionOf(stored), nil
}

// apply applies an object and returns its version then.
func (i *Installer) apply(ctx context.Context, writer func() (client.Client, error), object *unstructured.Unstructured) (version, error) {
	c, err := writer()
	if err != nil {
		return version{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	applied := object.DeepCopy()
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(fieldOwner), client.ForceOwnership)
	if err != nil || !ownedWhole.Has(object.GetKind()) {
		return versionOf(applied), err
	}
	whole, err := patches.JSON(patches.Operation{Op: "replace", Path: patches.Pointer("spec"), Value: object.Object["spec"]})
	if err != nil {
		return version{}, err
	}
	err = c.Patch(ctx, applied, whole, client.FieldOwner(fieldOwner))
	return versionOf(applied), err
}

// rollout returns why the agent does not run, if its Deployment says so.
func (i *Installer) rollout(ctx context.Context, c client.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	deployment := &appsv1.Deployment{}
	for _, object := range i.Objects {
		if object.GetKind() == "Deployment" {
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), deployment); err != nil {
				return "", err
			}
		}
	}
	return unavailable(deployment), nil
}

// unavailable says why no replica of a Deployment is available, or is empty.
func unavailable(deployment *appsv1.Deployment) string {
	if deployment.Status.AvailableReplicas > 0 {
		return ""
	}
	why := "no pod of it is ready"
	for _, condition := range deployment.Status.Conditions {
		failed := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if failed || stuck {
			why = condition.Message
		}
	}
	return fmt.Sprintf("Deployment %s/%s: %s", deployment.Namespace, bundle.DeploymentName, why)
}

// note keeps what troubles a member for those who tell the user.
func (i *Installer) note(ctx context.Context, cluster string, k *installation, err error) {
	trouble := k.rollout
	if err != nil {
		trouble = "installing the agent failed: " + err.Error()
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if k.trouble != trouble && trouble != "" {
		ctrl.LoggerFrom(ctx).Info("The agent does not run in a member", "Cluster", cluster, "why", trouble)
	}
	k.trouble = trouble
}
