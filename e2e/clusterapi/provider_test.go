//go:build e2e

package clusterapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The groups of Cluster API's providers.
const (
	infrastructure = "infrastructure.cluster.x-k8s.io"
	controlPlane   = "controlplane.cluster.x-k8s.io"
)

// standIn is a kind of a provider. Its label says that its version v1 follows the contract v1beta2.
const standIn = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.%[1]s, labels: {cluster.x-k8s.io/v1beta2: v1}}
spec:
  group: %[1]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[2]ss, singular: %[2]s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// byHand is a Cluster that somebody has put together by hand.
const byHand = `
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: StandInCluster
metadata: {name: %[1]s, namespace: default}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: StandInControlPlane
metadata: {name: %[1]s, namespace: default}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: %[1]s, namespace: default, labels: {tier: prod}}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: StandInCluster, name: %[1]s}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: StandInControlPlane, name: %[1]s}
`

// ofClass is west, which follows a ClusterClass.
const ofClass = `
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: StandInClusterTemplate
metadata: {name: small, namespace: default}
spec: {template: {spec: {region: none}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: StandInControlPlaneTemplate
metadata: {name: small, namespace: default}
spec: {template: {spec: {region: none}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: small, namespace: default}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: StandInClusterTemplate, name: small}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1, kind: StandInControlPlaneTemplate, name: small}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: west, namespace: default, labels: {tier: prod}}
spec:
  topology: {classRef: {name: small}, version: v1.36.3}
`

// bringsUp makes the Clusters, plays their providers, and waits until Cluster API says that they are provisioned and
// connects to them.
func (w *world) bringsUp() {
	w.Helper()
	w.standsIn(infrastructure, "StandInCluster")
	w.standsIn(controlPlane, "StandInControlPlane")
	w.creates(ofClass)
	for _, m := range w.Members {
		if m.Name != west {
			w.creates(fmt.Sprintf(byHand, m.Name))
		}
		w.provides(m.Name)
		w.admits(m.Name, "first")
	}
	for _, m := range w.Members {
		w.eventually("Cluster API to bring up "+m.Name, func(ctx context.Context) error { return w.provisioned(ctx, m.Name) })
	}
}

// standsIn makes a kind of a provider, and its templates.
func (w *world) standsIn(group, kind string) {
	w.Helper()
	for _, kind := range []string{kind, kind + "Template"} {
		w.creates(fmt.Sprintf(standIn, group, strings.ToLower(kind), kind))
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(group + "/v1")
		list.SetKind(kind + "List")
		w.eventually("the kind "+kind, func(ctx context.Context) error { return w.hub.List(ctx, list) })
	}
}

// provides does for a Cluster what providers do: it says where its API server is, and that all is there.
func (w *world) provides(name string) {
	w.Helper()
	var cluster *clusterv1.Cluster
	w.eventually("the objects of "+name, func(ctx context.Context) (err error) {
		cluster, err = w.read(ctx, name)
		if err == nil && (!cluster.Spec.InfrastructureRef.IsDefined() || !cluster.Spec.ControlPlaneRef.IsDefined()) {
			err = errors.New("it refers to none")
		}
		return err
	})
	way, err := url.Parse(w.Member(name).Config.Host)
	w.must(err)
	there := &unstructured.Unstructured{}
	refers(there, cluster.Spec.InfrastructureRef)
	w.patches(there, `{"spec":{"controlPlaneEndpoint":{"host":%q,"port":%s}}}`, way.Hostname(), way.Port())
	w.patchesStatus(there, `{"status":{"initialization":{"provisioned":true}}}`)
	refers(there, cluster.Spec.ControlPlaneRef)
	w.patchesStatus(there, `{"status":{"version":"v1.36.3","initialization":{"controlPlaneInitialized":true}}}`)
}

// refers makes an object the one that a Cluster refers to.
func refers(object *unstructured.Unstructured, ref clusterv1.ContractVersionedObjectReference) {
	object.Object = nil
	object.SetAPIVersion(ref.APIGroup + "/v1")
	object.SetKind(ref.Kind)
	object.SetNamespace(clusterNamespace)
	object.SetName(ref.Name)
}

func (w *world) patchesStatus(object client.Object, patch string) {
	w.Helper()
	w.must(w.hub.Status().Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// admits writes the kubeconfig Secret of a Cluster, by a client certificate of a user who may do everything in the
// member.
func (w *world) admits(name, user string) {
	w.Helper()
	w.must(w.members[name].Create(w.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	cluster := w.cluster(name)
	owner := *metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))
	secret := capikubeconfig.GenerateSecretWithOwner(client.ObjectKeyFromObject(cluster), []byte(w.kubeconfig(name, user)), owner)
	if err := w.hub.Update(w.Context(), secret.DeepCopy()); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	} else if err != nil {
		w.must(w.hub.Create(w.Context(), secret))
	}
}

// kubeconfig returns the way of a user to a member.
func (w *world) kubeconfig(name, user string) string {
	w.Helper()
	path, err := w.Member(name).UserKubeconfig(user)
	w.must(err)
	content, err := os.ReadFile(path)
	w.must(err)
	return string(content)
}

// provisioned says what is missing until Cluster API has brought up a cluster.
func (w *world) provisioned(ctx context.Context, name string) error {
	cluster, err := w.read(ctx, name)
	if err != nil {
		return err
	}
	connected := apimeta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition)
	if cluster.Status.GetTypedPhase() != clusterv1.ClusterPhaseProvisioned || !connected ||
		!slices.Contains(cluster.Finalizers, clusterv1.ClusterFinalizer) {
		return fmt.Errorf("it is %s: %+v", cluster.Status.Phase, cluster.Status.Conditions)
	}
	return nil
}
