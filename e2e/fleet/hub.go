package fleet

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// installCRDs installs the CRDs on the hub and waits until they are served. They lose their conversion webhooks,
// which nobody serves here.
func (f *Fleet) installCRDs() error {
	options := envtest.CRDInstallOptions{Paths: f.options.CRDPaths, ErrorIfPathMissing: true, MaxTime: readyTimeout}
	if err := envtest.ReadCRDFiles(&options); err != nil {
		return fmt.Errorf("read the CRDs: %w", err)
	}
	options.Paths = nil
	for _, crd := range options.CRDs {
		crd.Spec.Conversion = nil
	}
	if _, err := envtest.InstallCRDs(f.Hub.Config, options); err != nil {
		return fmt.Errorf("install the CRDs: %w", err)
	}
	return nil
}

// register makes the objects on the hub that lead to the members.
func (f *Fleet) register(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		return err
	}
	hub, err := client.New(f.Hub.Config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.options.ClusterNamespace}}
	if err := hub.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	members := f.Members
	if f.options.HubIsMember {
		members = append([]*ControlPlane{f.Hub}, members...)
	}
	for _, member := range members {
		if err := member.register(ctx, hub, f.options.ClusterNamespace); err != nil {
			return fmt.Errorf("tell the hub of member %s: %w", member.Name, err)
		}
	}
	f.progress("%s: knows %d members", HubName, len(members))
	return nil
}

// register makes the member's Cluster, its certificate authority's Secret, and out of both its kubeconfig Secret.
func (c *ControlPlane) register(ctx context.Context, hub client.Client, namespace string) error {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Name, Labels: c.options.Labels},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: c.address, Port: int32(c.port)},
		},
	}
	if err := hub.Create(ctx, cluster); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(cluster)
	owner := *metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))
	if err := hub.Create(ctx, c.credentials.ca.AsSecret(key, owner)); err != nil {
		return err
	}
	if err := kubeconfig.CreateSecret(ctx, hub, cluster, kubeconfig.KeyEncryptionAlgorithm(algorithm)); err != nil {
		return err
	}
	setProvisioned(cluster)
	return hub.Status().Update(ctx, cluster)
}

// setProvisioned reports what Cluster API reports of a cluster that it has brought up. Its cluster cache connects to a
// cluster whose infrastructure is provisioned.
func setProvisioned(cluster *clusterv1.Cluster) {
	yes := true
	cluster.Status.Initialization.InfrastructureProvisioned = &yes
	cluster.Status.Initialization.ControlPlaneInitialized = &yes
	cluster.Status.SetTypedPhase(clusterv1.ClusterPhaseProvisioned)
	cluster.Status.ObservedGeneration = cluster.Generation
	for condition, reason := range map[string]string{
		clusterv1.ClusterAvailableCondition:               clusterv1.ClusterAvailableReason,
		clusterv1.ClusterInfrastructureReadyCondition:     clusterv1.ClusterInfrastructureReadyReason,
		clusterv1.ClusterControlPlaneInitializedCondition: clusterv1.ClusterControlPlaneInitializedReason,
		clusterv1.ClusterControlPlaneAvailableCondition:   clusterv1.ClusterControlPlaneAvailableReason,
		clusterv1.ClusterRemoteConnectionProbeCondition:   clusterv1.ClusterRemoteConnectionProbeSucceededReason,
	} {
		apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type:               condition,
			Status:             metav1.ConditionTrue,
			Reason:             reason,
			ObservedGeneration: cluster.Generation,
		})
	}
}
