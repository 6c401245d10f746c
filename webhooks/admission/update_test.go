package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/pace"
)

// updated are objects as they are, with what an update makes of each that asks for more; nil where none can.
var updated = map[string]struct {
	resource metav1.GroupVersionResource
	part     string // the subresource
	is, more client.Object
	exceeds  string
}{
	"pod": {
		resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, part: "resize",
		is: cpuPod("3"), more: cpuPod("3500m"), exceeds: "requested: requests.cpu=500m, used: requests.cpu=12, limited: requests.cpu=10",
	},
	"service": {
		resource: metav1.GroupVersionResource{Version: "v1", Resource: "services"},
		is:       service(corev1.ServiceTypeClusterIP, 2), more: service(corev1.ServiceTypeNodePort, 2),
		exceeds: "requested: services.nodeports=2, used: services.nodeports=12, limited: services.nodeports=10",
	},
	"service with a node port": {
		resource: metav1.GroupVersionResource{Version: "v1", Resource: "services"},
		is:       service(corev1.ServiceTypeNodePort, 1), more: service(corev1.ServiceTypeLoadBalancer, 2),
		exceeds: "requested: services.loadbalancers=1,services.nodeports=1, used: services.loadbalancers=12,services.nodeports=12, " +
			"limited: services.loadbalancers=10,services.nodeports=10",
	},
	"claim": {
		resource: metav1.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"},
		is:       storage("3"), more: storage("5"),
		exceeds: "requested: gold.storageclass.storage.k8s.io/requests.storage=2,requests.storage=2, " +
			"used: gold.storageclass.storage.k8s.io/requests.storage=12,requests.storage=12, " +
			"limited: gold.storageclass.storage.k8s.io/requests.storage=10,requests.storage=10",
	},
	"devices": {resource: metav1.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}, is: devices()},
}

func service(as corev1.ServiceType, ports int) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{Type: as, Ports: make([]corev1.ServicePort, ports)}}
}

func storage(size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: new("gold"), Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(size)}},
	}}
}

func devices() *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3},
	}}}}}
}

// limitAll makes the ResourceQuota limit all names that the objects are charged under.
func (s *scene) limitAll(hard, used string) {
	quota := s.quota.DeepCopy()
	for _, name := range []corev1.ResourceName{
		"requests.cpu", "pods", "services", "services.nodeports", "services.loadbalancers", "persistentvolumeclaims", "requests.storage",
		"gold.storageclass.storage.k8s.io/requests.storage", "gpu.deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io",
	} {
		quota.Status.Hard[name], quota.Status.Used[name] = resource.MustParse(hard), resource.MustParse(used)
	}
	quota.Spec.Hard = maps.Clone(quota.Status.Hard)
	s.quota, s.live = quota, quota
	s.gate.SetQuota(quota)
}

// update sends the review of an update to the webhook.
func (s *scene) update(t *testing.T, of metav1.GroupVersionResource, part string, dryRun bool, old, object client.Object) <-chan *admissionv1.AdmissionResponse {
	t.Helper()
	raw := func(o client.Object) runtime.RawExtension {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: data}
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "1", Namespace: key.Namespace, Name: "object", Resource: of, SubResource: part, Operation: admissionv1.Update, DryRun: &dryRun,
		Object: raw(object), OldObject: raw(old),
	}})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan *admissionv1.AdmissionResponse, 1)
	go func() {
		recorder, review := httptest.NewRecorder(), admissionv1.AdmissionReview{}
		NewHandler(s.gate).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit", bytes.NewReader(body)))
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
			t.Error(err)
		}
		answers <- review.Response
	}()
	return answers
}

// answered returns an answer that there is by now.
func answered(t *testing.T, answers <-chan *admissionv1.AdmissionResponse) *admissionv1.AdmissionResponse {
	t.Helper()
	synctest.Wait()
	select {
	case answer := <-answers:
		return answer
	default:
		t.Fatal("the request is held")
		return nil
	}
}

// TestUpdate holds an update that asks for what there is no room for until there is, as far as it asks for more, and
// denies it if there is no room to come.
func TestUpdate(t *testing.T) {
	for name, u := range updated {
		if u.more == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				s.limitAll("10", "12")
				dry := answered(t, s.update(t, u.resource, u.part, true, u.is, u.more))
				if dry.Allowed || dry.Result.Code != http.StatusForbidden || !strings.Contains(dry.Result.Message, "exceeded quota: compute, "+u.exceeds) {
					t.Errorf("a dry run: %+v", dry)
				}
				held := s.update(t, u.resource, u.part, false, u.is, u.more)
				synctest.Wait()
				if s.waiting() != 1 || !s.gate.Book.Refused(key) {
					t.Errorf("%d requests are held", s.waiting())
				}
				s.limitAll("14", "12")
				synctest.Wait()
				s.clock.Step(pace.CatchUp)
				if got := answered(t, held); !got.Allowed {
					t.Errorf("denied after a raise: %+v", got)
				}
			})
		})
	}
}

// TestUpdateOfNoMore lets an update through that asks for less, or for nothing, however far usage is above the limit.
func TestUpdateOfNoMore(t *testing.T) {
	for name, u := range updated {
		relabelled := u.is.DeepCopyObject().(client.Object)
		relabelled.SetLabels(map[string]string{"team": "a"})
		updates := map[string][2]client.Object{"another label": {u.is, relabelled}}
		if u.more != nil {
			updates["less"] = [2]client.Object{u.more, u.is}
		}
		for what, update := range updates {
			for _, dryRun := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, dry run %t", name, what, dryRun), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newScene(t, "8")
						s.limitAll("10", "12")
						got := answered(t, s.update(t, u.resource, u.part, dryRun, update[0], update[1]))
						if !got.Allowed || len(got.Warnings) > 0 {
							t.Errorf("got %+v", got)
						}
						if s.reports.Load() > 0 || s.gate.Book.Refused(key) {
							t.Error("it states a demand")
						}
					})
				})
			}
		}
	}
}
