//go:build e2e

package native_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// lives are objects whose charge changes while they are there.
func lives() []row {
	const cpu, unit = "requests.cpu", "500m"
	half := pod("{requests: {cpu: 500m}}")
	whole := podOf("resources: {requests: {cpu: 500m}}, " + container("{}"))
	graceful := podOf("nodeName: node, terminationGracePeriodSeconds: 3600, " + container("{requests: {cpu: 500m}}"))
	return []row{
		{what: "a pod is resized", name: cpu, unit: unit, object: half, play: grows("resize", resizeTo)},
		{what: "a pod is resized as a whole", name: cpu, unit: unit, object: whole, play: grows("resize", resizeWholeTo)},
		{what: "a running pod is resized down", name: cpu, unit: unit, object: half, play: resizedDown},
		{what: "a pod ends", name: "pods", unit: "1", object: pod("{}"), play: ends},
		{what: "a pod ends", name: "count/pods", unit: "1", object: pod("{}"), play: endsAndCounts},
		{what: "a pod terminates", name: cpu, unit: unit, object: graceful, play: terminates},
		{what: "a pod is deleted and stays", name: cpu, unit: unit, object: half, play: stays},
		{what: "the pods of a workload", name: cpu, unit: unit, play: workload},
		{what: "a pod gets a deadline", name: "pods", unit: "1", spec: "{scopes: [Terminating]}", object: long, play: getsDeadline},
		{what: "a claim grows", name: "requests.storage", unit: "1Gi", object: claim("1Gi", "storageClassName: gold"), play: grows("", expandTo)},
		{
			what: "a claim of devices that are an extended resource", name: "requests.example.com/mapped", unit: "1",
			object: devices(exactly("mapped", 1)), play: mapped, note: "of pods that ask for the resource and of claims of its class",
		},
		{
			what: "a claim of devices that are an extended resource", name: "requests.deviceclass.resource.kubernetes.io/mapped", unit: "2",
			object: devices(exactly("mapped", 2)), play: takesAll, note: "the class stands for an extended resource",
		},
		{what: "a kind that comes later, and goes", name: "count/gadgets.example.com", unit: "1", object: object("example.com/v1", "Gadget", ""), play: comesLater},
		{
			what: "a service has more ports", name: "services.nodeports", unit: "1",
			object: service("type: NodePort, ports: [{name: p0, port: 80}]"), play: grows("", exposeTo),
		},
		{
			what: "a service becomes a load balancer", name: "services.loadbalancers", unit: "1",
			object: service("ports: [{port: 80}]"), play: becomesBalancer,
		},
	}
}

// grows has an object in east ask for more, for all, for more than all, and for less.
func grows(part string, to func(*scene, int64) string) func(*scene) {
	return func(s *scene) {
		s.budget(budgetName, s.spec, s.charge(2, 2))
		s.sight.limits[0] = s.limits()
		object := s.fits(east, s.object)
		s.bind(object)
		s.uses(east, 1)
		s.changes(east, part, object, to(s, 2))
		s.uses(east, 2)
		s.have(2, 0)
		s.sight.limits[1] = s.limits()
		s.must(s.refusedBy(budgetName, east, 2, func() (func() error, error) {
			undo := func() error { return s.change(s.Context(), east, part, object, to(s, 2)) }
			return undo, s.change(s.Context(), east, part, object, to(s, 3))
		}))
		s.changes(east, part, object, to(s, 1))
		s.leavesRoomForWest()
	}
}

// leavesRoomForWest sees that one object is charged in east, and that there is room for one in west.
func (s *scene) leavesRoomForWest() {
	s.Helper()
	s.uses(east, 1)
	s.fits(west, s.object)
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
}

// fills has two objects in east.
func (s *scene) fills() (first *unstructured.Unstructured) {
	s.Helper()
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	first = s.fits(east, s.object)
	s.fits(east, s.object)
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	return first
}

// units are so many, as text.
func (s *scene) units(count int64) string {
	units := times(count, s.unit)
	return units.String()
}

func resizeTo(s *scene, units int64) string {
	return fmt.Sprintf("spec: {containers: [{name: c, resources: {requests: {cpu: %s}}}]}", s.units(units))
}

func resizeWholeTo(s *scene, units int64) string {
	return fmt.Sprintf("spec: {resources: {requests: {cpu: %s}}}", s.units(units))
}

func expandTo(s *scene, units int64) string {
	return fmt.Sprintf("spec: {resources: {requests: {storage: %s}}}", s.units(units))
}

func exposeTo(_ *scene, ports int64) string {
	var list []string
	for i := range ports {
		list = append(list, fmt.Sprintf("{name: p%d, port: %d}", i, 80+i))
	}
	return "spec: {ports: [" + strings.Join(list, ", ") + "]}"
}

// bind gives a claim a volume of 1 byte: only such a one may grow, and become less.
func (s *scene) bind(object client.Object) {
	s.Helper()
	if object.GetObjectKind().GroupVersionKind().Kind == "PersistentVolumeClaim" {
		s.changes(east, "status", object, "status: {phase: Bound, capacity: {storage: 1}}")
	}
}

// runsWith has a pod run with so many units.
func (s *scene) runsWith(pod client.Object, units int64) {
	s.Helper()
	has := s.units(units)
	s.changes(east, "status", pod, "status: {phase: Running, containerStatuses: [{name: c, image: none, imageID: none, ready: true, restartCount: 0, "+
		"allocatedResources: {cpu: "+has+"}, resources: {requests: {cpu: "+has+"}}}]}")
}

// resizedDown sees what a running pod has charged until its node has taken it away.
func resizedDown(s *scene) {
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	running := s.fits(east, s.object)
	s.changes(east, "resize", running, resizeTo(s, 2))
	s.runsWith(running, 2)
	s.changes(east, "resize", running, resizeTo(s, 1))
	s.must(s.refusedBy(budgetName, west, 0, s.creates(west, s.object)))
	s.uses(east, 2)
	s.sight.limits[1] = s.limits()
	s.runsWith(running, 1)
	s.leavesRoomForWest()
	s.sight.note = "charged as before until the status of the pod says less"
}

// ends sees that a pod that has ended is not charged, though it is there.
func ends(s *scene) {
	first := s.fills()
	s.refusedInBoth()
	s.changes(east, "status", first, "status: {phase: Succeeded}")
	s.leavesRoomForWest()
	s.there(east, first)
	s.sight.note = "charged no more once its phase is Succeeded"
}

// endsAndCounts sees that a pod that has ended is counted until it is gone.
func endsAndCounts(s *scene) {
	first := s.fills()
	s.changes(east, "status", first, "status: {phase: Failed}")
	s.refusedInBoth()
	s.remove(east, first)
	s.leavesRoomForWest()
	s.sight.note = "charged in phase Failed, until it is deleted"
}

// terminates sees that a pod is charged for as long as it has to end.
func terminates(s *scene) {
	first := s.fills()
	s.remove(east, first)
	s.there(east, first)
	s.refusedInBoth()
	s.must(s.clients[east].Delete(s.Context(), first, client.GracePeriodSeconds(0)))
	s.leavesRoomForWest()
	s.sight.note = "charged during its grace period, until it is gone"
}

// stays sees that a pod is not charged once its time is over, though somebody keeps it.
func stays(s *scene) {
	first := s.fills()
	s.changes(east, "", first, "metadata: {finalizers: [example.com/late]}")
	s.remove(east, first)
	s.leavesRoomForWest()
	s.there(east, first)
	s.sight.note = "charged no more once its grace period is over, though a finalizer keeps it"
}

// there sees that an object is there.
func (s *scene) there(member string, object client.Object) {
	s.Helper()
	s.must(s.clients[member].Get(s.Context(), client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object)))
}

// workload has a ReplicaSet lack pods.
func workload(s *scene) {
	const half = "{requests: {cpu: 500m}}"
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	set := s.fits(east, replicaSet(3, half))
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	s.changes(east, "", set, "spec: {replicas: 1}")
	s.uses(east, 1)
	s.fits(west, replicaSet(1, half))
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
	s.sight.note = "a `ReplicaSet` of 3 has 2 in `east`; scaled to 1, it leaves room for one in `west`"
}

// becomesBalancer has Services become load balancers, as far as there is room.
func becomesBalancer(s *scene) {
	const balanced, inside = "spec: {type: LoadBalancer}", "spec: {type: ClusterIP, allocateLoadBalancerNodePorts: null}"
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	first, second, third := s.fits(east, s.object), s.fits(east, s.object), s.fits(east, s.object)
	s.changes(east, "", first, balanced)
	s.uses(east, 1)
	s.changes(east, "", second, balanced)
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	s.must(s.refusedBy(budgetName, east, 2, func() (func() error, error) {
		return func() error { return s.change(s.Context(), east, "", third, inside) }, s.change(s.Context(), east, "", third, balanced)
	}))
	s.changes(east, "", first, inside)
	s.uses(east, 1)
	s.changes(west, "", s.fits(west, s.object), balanced)
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
}

// getsDeadline has pods come into the scope by an update.
func getsDeadline(s *scene) {
	const deadline = "spec: {activeDeadlineSeconds: 3600}"
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	first, second, third := s.fits(east, s.object), s.fits(east, s.object), s.fits(east, s.object)
	s.changes(east, "", first, deadline)
	s.uses(east, 1)
	s.changes(east, "", second, deadline)
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	s.must(s.refusedBy(budgetName, east, 2, func() (func() error, error) {
		return func() error { return errors.New("a deadline cannot be taken back") }, s.change(s.Context(), east, "", third, deadline)
	}))
	s.remove(east, first)
	s.uses(east, 1)
	s.changes(west, "", s.fits(west, s.object), deadline)
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
	s.sight.note = "by an update of `activeDeadlineSeconds`, which takes it into the scope"
}

// mapped has a pod ask for an extended resource, and devices claimed that stand for it.
func mapped(s *scene) {
	asking := pod("{limits: {example.com/mapped: 1}}")
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	claim := s.fits(east, s.object)
	s.uses(east, 1)
	s.fits(east, asking)
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	s.refusedInBoth()
	s.must(s.refusedBy(budgetName, east, 2, s.creates(east, asking)))
	s.remove(east, claim)
	s.uses(east, 1)
	s.fits(west, s.object)
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
}

// comesLater has a budget of a kind that no member serves yet. Once there is the kind in east, objects of it are counted
// there, and west keeps all else. When the kind goes, its objects go and are counted no more.
func comesLater(s *scene) {
	s.budget(budgetName, "{hard: {pods: 2}}", s.charge(2, 2))
	s.eventually("the budget to say that nobody serves the kind", func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		err := s.clients[hub].Get(ctx, s.key(budgetName), fq)
		if err == nil && !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionKindNotServed) {
			err = fmt.Errorf("conditions: %v", fq.Status.Conditions)
		}
		return err
	})
	began := time.Now()
	kind := decode(s.T, "", gadgets)[0]
	s.must(s.clients[east].Create(s.Context(), kind))
	s.eventually("the kind to be served", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("example.com/v1")
		list.SetKind("GadgetList")
		return s.clients[east].List(ctx, list, client.InNamespace(s.namespace))
	})
	served := time.Since(began)
	gadget := s.fits(east, s.object)
	s.uses(east, 1)
	took := time.Since(began)
	s.fits(east, s.object)
	s.uses(east, 2)
	s.must(s.refusedBy(budgetName, east, 2, s.creates(east, s.object)))
	s.remove(east, gadget)
	s.uses(east, 1)
	s.Logf("served after %s, counted after %s", served.Round(time.Second), took.Round(time.Second))
	s.must(s.clients[east].Delete(s.Context(), kind))
	s.uses(east, 0)
	s.sight.note = "in one cluster alone; until the quota controller has found the kind and counted everything, native quota " +
		"refuses such objects with `status unknown for quota`: a minute here, up to six by default; with the kind its objects go, and count no more"
}

// gadgets are of a kind that does not exist at first.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// replicaSet has so many pods of these resources.
func replicaSet(replicas int, resources string) string {
	return object("apps/v1", "ReplicaSet", fmt.Sprintf("spec: {replicas: %d, selector: {matchLabels: {app: a}}, "+
		"template: {metadata: {labels: {app: a}}, spec: {%s}}}", replicas, container(resources)))
}
