package nativequota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/nativequota"
)

type update struct {
	scopes string // of the quota, as YAML of its spec
	object string // as YAML
	bound  bool   // it is a claim that has a volume
	to     func(client.Object)
	more   bool // it is charged for something
}

// updates change an object each, in a quota of its own.
var updates = map[string]update{
	"pod, down":        {object: rows["pod"].object, to: resize("100m", "200m")},
	"pod, up and down": {object: rows["pod"].object, more: true, to: resize("500m", "3")},

	"pod, into the scope": {scopes: "{scopes: [Terminating]}", object: rows["pod, not terminating"].object, more: true, to: func(o client.Object) {
		o.(*corev1.Pod).Spec.ActiveDeadlineSeconds = new(int64(5))
	}},
	"pod, out of the scope": {scopes: "{scopes: [NotTerminating]}", object: rows["pod, not terminating"].object, to: func(o client.Object) {
		o.(*corev1.Pod).Spec.ActiveDeadlineSeconds = new(int64(5))
	}},

	"service, another label":        {object: rows["service, node ports"].object, to: relabel},
	"service, to node ports":        {object: rows["service"].object, more: true, to: expose(corev1.ServiceTypeNodePort, "")},
	"service, from node ports":      {object: rows["service, node ports"].object, to: expose(corev1.ServiceTypeClusterIP, "a", "b")},
	"service, one node port more":   {object: rows["service, node ports"].object, more: true, to: expose(corev1.ServiceTypeNodePort, "a", "b", "c")},
	"service, one node port less":   {object: rows["service, node ports"].object, to: expose(corev1.ServiceTypeNodePort, "b")},
	"service, to a load balancer":   {object: rows["service, node ports"].object, more: true, to: expose(corev1.ServiceTypeLoadBalancer, "a", "b")},
	"service, from a load balancer": {object: rows["service, balanced"].object, to: expose(corev1.ServiceTypeNodePort, "a", "b")},

	"claim, another label": {object: rows["claim"].object, bound: true, to: relabel},
	"claim, more":          {object: rows["claim"].object, bound: true, more: true, to: expand("3500m")},
	"claim, less":          {object: rows["claim"].object, bound: true, to: expand("1200m")},
	"claim, its class": {more: true, object: `
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2}}}`, to: func(o client.Object) {
		o.(*corev1.PersistentVolumeClaim).Spec.StorageClassName = new("gold")
	}},
	"claim, more beside the scope": {scopes: "{scopes: [VolumeAttributesClass]}", object: rows["claim"].object, bound: true, to: expand("4")},
	"claim, into the scope": {scopes: "{scopes: [VolumeAttributesClass]}", object: rows["claim"].object, bound: true, more: true, to: func(o client.Object) {
		o.(*corev1.PersistentVolumeClaim).Spec.VolumeAttributesClassName = new("fast")
	}},
	"claim, more within the scope": {
		scopes: "{scopes: [VolumeAttributesClass]}", object: rows["claim, attributes class"].object, bound: true, more: true, to: expand("2Gi"),
	},

	"devices, another label": {object: rows["devices"].object, to: relabel}, // what it asks for cannot be changed
}

func relabel(object client.Object) { object.SetLabels(map[string]string{"team": "a"}) }

// expose gives a Service a type and ports of these names.
func expose(as corev1.ServiceType, names ...string) func(client.Object) {
	return func(object client.Object) {
		spec := &object.(*corev1.Service).Spec
		spec.Type, spec.Ports = as, nil
		for i, name := range names {
			spec.Ports = append(spec.Ports, corev1.ServicePort{Name: name, Port: int32(80 + i)})
		}
	}
}

func expand(storage string) func(client.Object) {
	return func(object client.Object) {
		object.(*corev1.PersistentVolumeClaim).Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(storage)
	}
}

func resize(request, limit string) func(client.Object) {
	return func(object client.Object) {
		resources := &object.(*corev1.Pod).Spec.Containers[1].Resources
		resources.Requests[corev1.ResourceCPU], resources.Limits[corev1.ResourceCPU] = resource.MustParse(request), resource.MustParse(limit)
	}
}

// testUpdates compares what each update adds with what the quota plug-in of the API server charges for it.
func testUpdates(t *testing.T, c cluster) {
	t.Helper()
	c.classes(t)
	namespaces := map[string]string{}
	for name, u := range updates {
		namespaces[name] = c.quota(t, fmt.Sprintf("update-%d", len(namespaces)), u.scopes)
	}
	for name, u := range updates {
		t.Run("update, "+name, func(t *testing.T) { c.testUpdate(t, namespaces[name], u) })
	}
}

// testUpdate makes an update. What becomes less is released by the quota controller, whenever that is.
func (c cluster) testUpdate(t *testing.T, namespace string, u update) {
	t.Helper()
	quota := c.counted(t, namespace)
	object := c.create(t, namespace, u.object)
	gvk := object.GetObjectKind().GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	if u.bound {
		c.bind(t, object.(*corev1.PersistentVolumeClaim))
	}
	old, before := object.DeepCopyObject(), c.charged(t, namespace)
	u.to(object)
	c.update(t, object)
	got := nativequota.Charge{Resource: mapping.Resource.GroupResource(), Object: object, Old: old, Now: time.Now()}.To(&quota.Spec, quota.Status.Hard)
	want := corev1.ResourceList{}
	for name, quantity := range c.charged(t, namespace) {
		if quantity.Sub(before[name]); quantity.Sign() > 0 {
			want[name] = quantity
		}
	}
	if diff := cmp.Diff(values(want), values(got)); diff != "" {
		t.Errorf("-charged +cost:\n%s", diff)
	}
	if u.more != (len(want) > 0) {
		t.Errorf("charged: %v", values(want))
	}
}

// classes makes a class whose claims may grow.
func (c cluster) classes(t *testing.T) {
	t.Helper()
	gold := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true)}
	if err := c.Create(t.Context(), gold); err != nil {
		t.Fatal(err)
	}
}

// update writes an object.
func (c cluster) update(t *testing.T, object client.Object) {
	t.Helper()
	var err error
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.ActiveDeadlineSeconds == nil {
		err = c.SubResource("resize").Update(t.Context(), object)
	} else {
		err = c.Update(t.Context(), object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bind gives a claim a volume of 1 byte: only such a one may grow, or become less but for that.
func (c cluster) bind(t *testing.T, claim *corev1.PersistentVolumeClaim) {
	t.Helper()
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1")}
	if err := c.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}
