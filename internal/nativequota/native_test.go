package nativequota_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// limited is every name that the rows are charged under.
const limited = "cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage " +
	"pods count/pods requests.example.com/gpu hugepages-2Mi requests.hugepages-2Mi requests.deviceclass.resource.kubernetes.io/gpu " +
	"services services.nodeports services.loadbalancers count/services requests.storage persistentvolumeclaims count/persistentvolumeclaims " +
	"gold.storageclass.storage.k8s.io/requests.storage gold.storageclass.storage.k8s.io/persistentvolumeclaims " +
	"small.deviceclass.resource.k8s.io/devices large.deviceclass.resource.k8s.io/devices mapped.deviceclass.resource.k8s.io/devices " +
	"requests.example.com/mapped requests.deviceclass.resource.kubernetes.io/mapped requests.deviceclass.resource.kubernetes.io/small count/resourceclaims.resource.k8s.io " +
	"secrets count/secrets configmaps replicationcontrollers count/leases.coordination.k8s.io"

// mapped are the device classes that stand for an extended resource.
var mapped = map[string]string{"mapped": "example.com/mapped"}

// alone are names that a quota limits alone, and which concern claims only if a class stands for the resource.
var alone = map[string]bool{"requests.example.com/mapped": true, "requests.deviceclass.resource.kubernetes.io/mapped": true, "requests.deviceclass.resource.kubernetes.io/small": false}

// podScoped are the names that a quota with a scope of pods may limit.
const podScoped = "pods requests.cpu requests.memory limits.cpu"

type row struct {
	scopes string // of the quota, as YAML of its spec
	limits string // of a LimitRange beside it, as YAML of its spec
	object string // as YAML
	none   bool   // nothing is charged
}

// rows are objects, each in a quota of its own.
var rows = map[string]row{
	"pod": {object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 250m, memory: 64Mi, ephemeral-storage: 1Gi}, limits: {cpu: 1, memory: 1Gi, ephemeral-storage: 2Gi}}}, {name: b, image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}]}`},
	"pod, limits alone": {object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {limits: {cpu: 3, memory: 1Gi}}}]}`},
	"pod, large init container": {object: `
kind: Pod
spec:
  initContainers: [{name: i, image: i, resources: {requests: {cpu: 4, memory: 1Mi}, limits: {cpu: 5, memory: 1Gi}}}]
  containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 2Mi}, limits: {cpu: 1, memory: 1Gi}}}]`},
	"pod, sidecars before and after": {object: `
kind: Pod
spec:
  initContainers:
  - {name: s1, image: i, restartPolicy: Always, resources: {requests: {cpu: 1, memory: 1Mi}, limits: {cpu: 1, memory: 1Mi}}}
  - {name: i, image: i, resources: {requests: {cpu: 4, memory: 1Mi}, limits: {cpu: 4, memory: 1Mi}}}
  - {name: s2, image: i, restartPolicy: Always, resources: {requests: {cpu: 2, memory: 1Mi}, limits: {cpu: 2, memory: 1Mi}}}
  containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 2Mi}, limits: {cpu: 1, memory: 2Mi}}}]`},
	"pod, overhead": {object: `
kind: Pod
spec: {runtimeClassName: heavy, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}]}`},
	"pod, resources of the whole": {object: `
kind: Pod
spec: {resources: {requests: {cpu: 5, memory: 1Gi}, limits: {cpu: 6, memory: 2Gi}}, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 64Mi}}}]}`},
	"pod, limits of the whole": {object: `
kind: Pod
spec:
  resources: {limits: {cpu: 6, memory: 2Gi, hugepages-2Mi: 8Mi}}
  initContainers: [{name: i, image: i, resources: {limits: {cpu: 3, hugepages-2Mi: 2Mi}}}]
  containers: [{name: a, image: i, resources: {requests: {cpu: 1}}}, {name: b, image: i}]`},
	"pod, huge pages and requests of the whole": {object: `
kind: Pod
spec: {resources: {requests: {cpu: 5}}, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 64Mi}, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}}]}`},
	"pod, defaults": {limits: `
limits:
- {type: Pod, max: {cpu: 100, memory: 100Gi}}
- {type: Container, min: {cpu: 100m}, max: {memory: 2Gi}, defaultRequest: {memory: 64Mi}, default: {cpu: 4, ephemeral-storage: 2Gi, example.com/gpu: 1}}`, object: `
kind: Pod
spec:
  initContainers: [{name: i, image: i}, {name: s, image: i, restartPolicy: Always, resources: {requests: {memory: 1Gi}}}]
  containers: [{name: a, image: i}, {name: b, image: i, resources: {limits: {cpu: 3}}}, {name: c, image: i, resources: {requests: {cpu: 500m}}}]`},
	"pod, defaults beside resources of the whole": {limits: `
limits: [{type: Container, defaultRequest: {cpu: 200m, memory: 64Mi}, default: {cpu: 1, memory: 1Gi}}]`, object: `
kind: Pod
spec: {resources: {limits: {cpu: 6, memory: 4Gi}}, containers: [{name: a, image: i}, {name: b, image: i}]}`},
	"pod, no best effort by defaults": {scopes: "{scopes: [NotBestEffort]}", limits: `
limits: [{type: Container, defaultRequest: {cpu: 200m, memory: 64Mi}, default: {cpu: 1}}]`, object: `
kind: Pod
spec: {containers: [{name: a, image: i}]}`},
	"pod, not best effort by its containers with limits of the whole": {scopes: "{scopes: [NotBestEffort]}", object: `
kind: Pod
spec: {resources: {limits: {hugepages-2Mi: 2Mi}}, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`},
	"pod, best effort of the whole": {scopes: "{scopes: [BestEffort]}", object: `
kind: Pod
spec: {resources: {}, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`},
	"pod, best effort of the whole, not counted": {scopes: "{scopes: [NotBestEffort]}", none: true, object: `
kind: Pod
spec: {resources: {requests: {cpu: 0}}, containers: [{name: a, image: i, resources: {requests: {cpu: 0}}}]}`},
	"pod, extended resources": {object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi, example.com/gpu: 2, hugepages-2Mi: 4Mi, deviceclass.resource.kubernetes.io/gpu: 3}}}]}`},
	"pod, best effort": {scopes: "{scopes: [BestEffort]}", object: `
kind: Pod
spec: {containers: [{name: a, image: i}]}`},
	"pod, not best effort": {scopes: "{scopes: [BestEffort]}", none: true, object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {limits: {memory: 1}}}]}`},
	"pod, terminating": {scopes: "{scopes: [Terminating]}", object: `
kind: Pod
spec: {activeDeadlineSeconds: 5, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]}`},
	"pod, not terminating": {scopes: "{scopes: [Terminating]}", none: true, object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]}`},
	"pod, class in": {scopes: "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [urgent]}]}}", object: `
kind: Pod
spec: {priorityClassName: urgent, containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]}`},
	"pod, class not in": {scopes: "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [urgent]}]}}", object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]}`},
	"pod, no class": {scopes: "{scopes: [PriorityClass]}", none: true, object: `
kind: Pod
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]}`},
	"pod, near other namespaces": {scopes: "{scopes: [CrossNamespacePodAffinity]}", object: `
kind: Pod
spec:
  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}}}]}}
  containers: [{name: a, image: i, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1}}}]`},
	"claim": {object: `
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], storageClassName: gold, resources: {requests: {storage: 1500m}}}`},
	"claim, attributes class": {scopes: "{scopes: [VolumeAttributesClass]}", object: `
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], storageClassName: gold, volumeAttributesClassName: fast, resources: {requests: {storage: 1Gi}}}`},
	"claim, no attributes class": {scopes: "{scopes: [VolumeAttributesClass]}", none: true, object: `
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], storageClassName: gold, resources: {requests: {storage: 1Gi}}}`},
	"service": {object: `
kind: Service
spec: {ports: [{port: 80}]}`},
	"service, node ports": {object: `
kind: Service
spec: {type: NodePort, ports: [{name: a, port: 80}, {name: b, port: 81}]}`},
	"service, balanced": {object: `
kind: Service
spec: {type: LoadBalancer, ports: [{name: a, port: 80}, {name: b, port: 81}]}`},
	"service, balanced without node ports": {object: `
kind: Service
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{name: a, port: 80, nodePort: 30111}, {name: b, port: 81}]}`},
	"devices": {object: `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: small, allocationMode: ExactCount, count: 3}}
    - {name: b, exactly: {deviceClassName: large, allocationMode: All}}
    - {name: c, firstAvailable: [{name: one, deviceClassName: small, allocationMode: ExactCount, count: 2}, {name: two, deviceClassName: small, allocationMode: ExactCount, count: 5}]}`},
	"devices that are an extended resource": {object: `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: mapped, allocationMode: ExactCount, count: 3}}
    - {name: b, exactly: {deviceClassName: small, allocationMode: ExactCount, count: 1}}
    - {name: c, firstAvailable: [{name: one, deviceClassName: mapped, allocationMode: All}, {name: two, deviceClassName: small, allocationMode: ExactCount, count: 5}]}`},
	"secret": {object: "kind: Secret"},
	"lease": {object: `
apiVersion: coordination.k8s.io/v1
kind: Lease`},
}

// TestNative compares the cost of each object with what the quota plug-in of a real API server charges for it.
func TestNative(t *testing.T) {
	c := start(t)
	for name, end := range ends {
		t.Run("resize, "+name, func(t *testing.T) { testResize(t, c, "resize-"+name, end) })
	}
	testUpdates(t, c)
	testAlone(t, c)
	testUnstated(t, c)
	namespaces := map[string]string{}
	for name, r := range rows {
		namespaces[name] = c.quota(t, fmt.Sprintf("row-%d", len(namespaces)), r.scopes)
		c.limit(t, namespaces[name], r.limits)
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			quota := c.counted(t, namespaces[name])
			object := c.create(t, namespaces[name], r.object)
			gvk := object.GetObjectKind().GroupVersionKind()
			mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
			if err != nil {
				t.Fatal(err)
			}
			got := nativequota.Charge{Resource: mapping.Resource.GroupResource(), Object: object, Mapped: mapped}.To(&quota.Spec, quota.Status.Hard)
			want := c.charged(t, namespaces[name])
			if diff := cmp.Diff(values(want), values(got)); diff != "" {
				t.Errorf("-charged +cost:\n%s", diff)
			}
			if pod, ok := object.(*corev1.Pod); ok {
				written, _ := decode(t, r.object)
				made := &corev1.Pod{Spec: *c.defaults(t, namespaces[name]).To(nativequota.OfTemplate(&written.(*corev1.Pod).Spec))}
				made.Spec.Overhead = pod.Spec.Overhead // admission sets it
				got := nativequota.Charge{Resource: nativequota.Pods, Object: made}.To(&quota.Spec, quota.Status.Hard)
				if diff := cmp.Diff(values(want), values(got)); diff != "" {
					t.Errorf("-charged +cost by the template:\n%s", diff)
				}
			}
			if r.none != (len(want) == 0) {
				t.Errorf("charged: %v", values(want))
			}
			for name := range want {
				of, ok := nativequota.Resource(name)
				if claims := nativequota.ChargesExtended(name) && mapping.Resource.GroupResource() == nativequota.ResourceClaims; !claims && (!ok || of != mapping.Resource.GroupResource()) {
					t.Errorf("%s is said to be charged for %s (%t)", name, of, ok)
				}
			}
		})
	}
}

// testAlone charges a claim of devices in quotas of one name.
func testAlone(t *testing.T, c cluster) {
	for name, charged := range alone {
		t.Run(name+" alone", func(t *testing.T) {
			var got, want corev1.ResourceList
			tries := 0
			// Admission hears of classes and quotas a moment after they are there, and charges a claim when it comes.
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				tries++
				got, want = c.chargeAlone(t, fmt.Sprintf("alone-%s-%d", strings.NewReplacer(".", "-", "/", "-").Replace(name), tries), name)
				return charged == (len(want) > 0), nil
			})
			if diff := cmp.Diff(values(want), values(got)); diff != "" || err != nil {
				t.Errorf("%v, -charged +cost:\n%s", err, diff)
			}
		})
	}
}

// chargeAlone returns what a claim of devices costs in a new namespace with a quota of one name, and what it was charged.
func (c cluster) chargeAlone(t *testing.T, namespace, name string) (cost, charged corev1.ResourceList) {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("100")}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, quota} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	quota = c.counted(t, namespace)
	object := c.create(t, namespace, rows["devices that are an extended resource"].object)
	cost = nativequota.Charge{Resource: nativequota.ResourceClaims, Object: object, Mapped: mapped}.To(&quota.Spec, quota.Status.Hard)
	return cost, c.charged(t, namespace)
}

// ends are what becomes of a pod before it is resized.
var ends = map[string]func(cluster, *testing.T, *corev1.Pod){
	"running":   nil,
	"succeeded": func(c cluster, t *testing.T, pod *corev1.Pod) { c.phase(t, pod, corev1.PodSucceeded) },
	"failed":    func(c cluster, t *testing.T, pod *corev1.Pod) { c.phase(t, pod, corev1.PodFailed) },
	"overdue":   cluster.overdue,
}

// phase gives a pod a phase.
func (c cluster) phase(t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) {
	t.Helper()
	pod.Status.Phase = phase
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// overdue deletes a pod that is not gone then, though it has no grace.
func (c cluster) overdue(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pod.Finalizers = []string{"example.com/late"}
	if err := c.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
}

// uncharged waits until the pod of a quota is charged no more.
func (c cluster) uncharged(t *testing.T, namespace string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, charged := c.charged(t, namespace)[corev1.ResourcePods]
		return !charged, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testResize compares what a resize adds of a pod that has come to its end, if there is one.
func testResize(t *testing.T, c cluster, namespace string, end func(cluster, *testing.T, *corev1.Pod)) {
	t.Helper()
	c.quota(t, namespace, "")
	before := c.counted(t, namespace)
	old := c.create(t, namespace, rows["pod"].object).(*corev1.Pod)
	if end != nil {
		end(c, t, old)
		c.uncharged(t, namespace)
	}
	first := c.charged(t, namespace)
	pod := old.DeepCopy()
	pod.Spec.Containers[1].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	pod.Spec.Containers[1].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("3")
	if err := c.SubResource("resize").Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	got := nativequota.Charge{Resource: nativequota.Pods, Object: pod, Old: old, Now: time.Now()}.To(&before.Spec, before.Status.Hard)
	want := c.charged(t, namespace)
	for name, quantity := range first {
		total := want[name]
		total.Sub(quantity)
		if want[name] = total; total.IsZero() {
			delete(want, name)
		}
	}
	if diff := cmp.Diff(values(want), values(got)); diff != "" {
		t.Errorf("-charged +cost:\n%s", diff)
	}
}

type cluster struct{ client.Client }

// start starts a control plane with the real quota controller.
func start(t *testing.T) cluster {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds the control planes", fleet.AssetsVariable)
	}
	f, err := fleet.Start(t.Context(), fleet.Options{Dir: t.TempDir(), Hub: fleet.ControlPlaneOptions{
		Controllers: append(fleet.HubControllers(), "resourcequota-controller"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := rest.CopyConfig(f.Hub.Config)
	config.QPS = -1
	cl, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: "heavy"}, Handler: "heavy",
			Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("300m"), "memory": resource.MustParse("10Mi")}},
		},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000},
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "mapped"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/mapped")}},
	} {
		if err := cl.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return cluster{cl}
}

// quota makes a namespace with a quota.
func (c cluster) quota(t *testing.T, namespace, scopes string) string {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"}}
	if err := yaml.UnmarshalStrict([]byte(scopes), &quota.Spec); err != nil {
		t.Fatal(err)
	}
	names := limited
	switch {
	case strings.Contains(scopes, "BestEffort"):
		names = "pods"
	case strings.Contains(scopes, "VolumeAttributesClass"):
		names = "persistentvolumeclaims requests.storage"
	case scopes != "":
		names = podScoped
	}
	quota.Spec.Hard = corev1.ResourceList{}
	for name := range strings.FieldsSeq(names) {
		quota.Spec.Hard[corev1.ResourceName(name)] = resource.MustParse("1T")
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, quota} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return namespace
}

// limit makes a LimitRange, if the YAML of its spec says something.
func (c cluster) limit(t *testing.T, namespace, spec string) {
	t.Helper()
	if spec == "" {
		return
	}
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limits"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &limits.Spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
}

// defaults returns what the LimitRange of a namespace gives, if there is one.
func (c cluster) defaults(t *testing.T, namespace string) nativequota.Defaults {
	t.Helper()
	limits := &corev1.LimitRange{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "limits"}, limits); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return nativequota.DefaultsOf(limits)
}

// counted waits until the quota is in force.
func (c cluster) counted(t *testing.T, namespace string) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "quota"}, quota)
		return len(quota.Status.Hard) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return quota
}

// decode returns the object that the YAML says.
func decode(t *testing.T, content string) (client.Object, *schema.GroupVersionKind) {
	t.Helper()
	if !strings.Contains(content, "apiVersion") {
		content = "apiVersion: v1\n" + content
	}
	decoded, gvk, err := clientgoscheme.Codecs.UniversalDeserializer().Decode([]byte(content), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return decoded.(client.Object), gvk
}

// create creates the object that the YAML says, and returns it as admission has made it.
func (c cluster) create(t *testing.T, namespace, content string) client.Object {
	t.Helper()
	object, gvk := decode(t, content)
	object.SetNamespace(namespace)
	object.SetName("object")
	// The namespace needs its service account first.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, object)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "service account") {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(*gvk)
	return object
}

// charged returns what is used.
func (c cluster) charged(t *testing.T, namespace string) corev1.ResourceList {
	t.Helper()
	quota := &corev1.ResourceQuota{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "quota"}, quota); err != nil {
		t.Fatal(err)
	}
	used := corev1.ResourceList{}
	for name, quantity := range quota.Status.Used {
		if !quantity.IsZero() && name != "count/configmaps" {
			used[name] = quantity
		}
	}
	if quota.Spec.Scopes == nil && quota.Spec.ScopeSelector == nil {
		delete(used, corev1.ResourceConfigMaps) // the namespace's root certificate
	}
	return used
}

func values(list corev1.ResourceList) map[string]string {
	text := map[string]string{}
	for name, quantity := range list {
		text[string(name)] = quantity.AsDec().String()
	}
	return text
}
