// Package agents keeps the agent installed in the members of FederatedQuotas and QuotaRequirements.
package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/bundle"
)

// Installer applies the manifests of the agent to each Cluster that a FederatedQuota or a QuotaRequirement selects, and
// heals what somebody changes or deletes there. It removes nothing: what an agent enforces stays in force without it.
type Installer struct {
	*applied.Controller

	// Objects are the manifests in the order in which they are applied.
	Objects []*unstructured.Unstructured
}

// NewInstaller has a controller install the agent. Its Wake is told of each Cluster in which something was installed.
func NewInstaller(c *applied.Controller, manifests []*unstructured.Unstructured) *Installer {
	i := &Installer{Controller: c, Objects: manifests}
	c.Source = i
	return i
}

// Trouble says what keeps the agent of a Cluster from running, as far as it is known, or is empty.
func (i *Installer) Trouble(cluster string) string {
	state, _ := i.Known(cluster)
	if state.Err != nil && !errors.Is(state.Err, clustercache.ErrClusterNotConnected) {
		return "installing the agent failed: " + state.Err.Error()
	}
	return state.Flaw
}

// FieldOwner implements applied.Source.
func (i *Installer) FieldOwner() string { return "fedquota-install" }

// News implements applied.Source.
func (i *Installer) News(before, after applied.State) bool { return before.Writes < after.Writes }

// Wanted implements applied.Source.
func (i *Installer) Wanted(ctx context.Context, cluster members.Cluster) (*applied.Wanted, error) {
	var quotas quotav1alpha1.FederatedQuotaList
	var requirements quotav1alpha1.QuotaRequirementList
	for _, list := range []client.ObjectList{&quotas, &requirements} {
		if err := i.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	wanted, selected := &applied.Wanted{Objects: i.Objects}, false
	add := func(entries iter.Seq2[string, bool]) {
		for name, suspicious := range entries {
			if name == cluster.Name {
				selected, wanted.Whole = true, wanted.Whole || suspicious
			}
		}
	}
	for n := range quotas.Items {
		add(entriesOf(&quotas.Items[n]))
	}
	for n := range requirements.Items {
		add(clustersOf(&requirements.Items[n]))
	}
	if !selected {
		return nil, nil
	}
	return wanted, nil
}

// entriesOf returns the names of the Clusters of a FederatedQuota, and whether they may lack something that the
// installer brings: the API of shares, a policy, the agent.
func entriesOf(quota *quotav1alpha1.FederatedQuota) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for i := range quota.Status.Clusters {
			c := &quota.Status.Clusters[i]
			if !yield(string(c.Name), suspicious[c.State]) {
				return
			}
		}
	}
}

// suspicious are the states of a cluster that may lack something.
var suspicious = map[quotav1alpha1.ClusterState]bool{
	quotav1alpha1.ClusterUnread: true, quotav1alpha1.ClusterUnreachable: true, quotav1alpha1.ClusterNotReady: true,
}

// clustersOf returns the names of the Clusters that a QuotaRequirement selects, and whether they may lack something to
// enforce it: the hub's account writes the policy, and the agent says what is covered.
func clustersOf(requirement *quotav1alpha1.QuotaRequirement) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for _, c := range requirement.Status.Clusters {
			lacks := c.State == quotav1alpha1.RequirementNotEnforced
			if c.State != quotav1alpha1.RequirementLeaving && !yield(string(c.Name), lacks) {
				return
			}
		}
	}
}

// Flaw implements applied.Source: it returns why the agent does not run, if its Deployment says so.
func (i *Installer) Flaw(ctx context.Context, member client.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	deployment := &appsv1.Deployment{}
	for _, object := range i.Objects {
		if object.GetKind() == "Deployment" {
			if err := member.Get(ctx, client.ObjectKeyFromObject(object), deployment); err != nil {
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
