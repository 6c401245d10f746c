package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// suiteLabel is what the namespaces of Kubernetes' end-to-end tests have.
const suiteLabel = "e2e-framework"

// generous is a budget that no spec comes near. Of cpu and memory it says nothing: pods would have to ask for some.
func generous() corev1.ResourceList {
	hard := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{
		"pods", "services", "services.nodeports", "services.loadbalancers", "secrets", "configmaps", "replicationcontrollers",
		"persistentvolumeclaims", "count/replicasets.apps", "count/pods",
	} {
		hard[name] = resource.MustParse("1k")
	}
	return hard
}

// giver gives each namespace that the suite creates in the member a budget of its own.
type giver struct {
	hub, member client.WithWatch
	// suite are the suite's namespaces, enforced those of any kind in which a share was in force.
	suite, enforced sets.Set[string]
}

func newGiver(ctx context.Context, s *system.System) (*giver, error) {
	hub, err := connect(s.Hub)
	if err != nil {
		return nil, err
	}
	if err := createPool(ctx, hub); err != nil {
		return nil, err
	}
	member, err := connect(s.Members[0])
	return &giver{hub: hub, member: member, suite: sets.New[string](), enforced: sets.New[string]()}, err
}

// poolName is the pool that all these budgets are in.
const poolName = "suite"

// createPool creates a pool that has room for all namespaces of the suite.
func createPool(ctx context.Context, hub client.Client) error {
	pool := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: poolName}}
	pool.Spec.Hard, pool.Spec.AllowedNamespaces.Selector = corev1.ResourceList{}, &metav1.LabelSelector{}
	for name := range generous() {
		pool.Spec.Hard[name] = resource.MustParse("1M")
	}
	if err := hub.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating the pool: %w", err)
	}
	return nil
}

// give gives budgets until the context ends.
func (g *giver) give(ctx context.Context) error {
	namespaces, err := g.member.Watch(ctx, &corev1.NamespaceList{}, client.HasLabels{suiteLabel})
	if err != nil {
		return fmt.Errorf("watching the suite's namespaces: %w", err)
	}
	defer namespaces.Stop()
	quotas, err := g.member.Watch(ctx, &corev1.ResourceQuotaList{}, client.HasLabels{quotav1alpha1.ManagedLabel})
	if err != nil {
		return fmt.Errorf("watching the managed ResourceQuotas: %w", err)
	}
	defer quotas.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-namespaces.ResultChan():
			if err := g.giveTo(ctx, event.Object); err != nil && ctx.Err() == nil {
				return err
			}
		case event := <-quotas.ResultChan():
			if quota, ok := event.Object.(*corev1.ResourceQuota); ok && len(quota.Status.Used) > 0 {
				g.enforced.Insert(quota.Namespace)
			}
		}
	}
}

// giveTo gives a namespace a budget, unless it goes.
func (g *giver) giveTo(ctx context.Context, object runtime.Object) error {
	namespace, ok := object.(*corev1.Namespace)
	if !ok || !namespace.DeletionTimestamp.IsZero() {
		return nil
	}
	g.suite.Insert(namespace.Name)
	return giveShare(ctx, g.hub, namespace.Name)
}

func connect(c *fleet.ControlPlane) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return system.ClientOf(config)
}

// giveShare creates a budget for a namespace, unless it is there.
func giveShare(ctx context.Context, hub client.Client, namespace string) error {
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&quotav1alpha1.FederatedQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "generous"},
			Spec: quotav1alpha1.FederatedQuotaSpec{
				Hard:      generous(),
				Pool:      &quotav1alpha1.PoolReference{Name: poolName},
				Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{}},
			},
		},
	} {
		if err := hub.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("giving namespace %s a budget: %w", namespace, err)
		}
	}
	return nil
}
