package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
)

// review is the request to create a pod as an API server sends it, with all that API servers and tools put into one.
func review(tb testing.TB) []byte {
	tb.Helper()
	pod := cpuPod("10m")
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.ObjectMeta = metav1.ObjectMeta{
		GenerateName: "web-7d9c5b8f6-", Namespace: key.Namespace, Labels: map[string]string{"app": "web", "pod-template-hash": "7d9c5b8f6"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d9c5b8f6", UID: "0b1c", Controller: new(true)}},
	}
	container := pod.Spec.Containers[0]
	container.Image, container.Command = "registry.example.com/team/web:v1.2.3", []string{"/web", "--listen=:8080"}
	for i := range 20 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "some value of a setting"})
	}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}}
	pod.Spec.Containers = []corev1.Container{container, container}
	raw, err := json.Marshal(pod)
	if err != nil {
		tb.Fatal(err)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Namespace: key.Namespace, Operation: admissionv1.Create,
			Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Object:   runtime.RawExtension{Raw: raw},
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// roomy returns a gate with one share that everything fits.
func roomy() *Gate {
	hard := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "pods", "requests.nvidia.com/gpu"} {
		hard[name] = resource.MustParse("100M")
	}
	gate := &Gate{
		Clock: clock.RealClock{}, Book: demand.NewBook(),
		Report: func(types.NamespacedName) {}, Stuck: func() bool { return false },
	}
	gate.SetShare(&quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       quotav1alpha1.QuotaShareSpec{Hard: hard},
	})
	used := corev1.ResourceList{}
	for name := range hard {
		used[name] = resource.MustParse("1")
	}
	gate.SetQuota(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
		Status:     corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	})
	return gate
}

// charge sees every so many charges in the ResourceQuota, as the API server writes them.
func charge(gate *Gate, calls int) {
	if calls%10 != 9 {
		return
	}
	l := gate.lane(key)
	quota := l.Quota().DeepCopy()
	cpu, pods := quota.Status.Used["requests.cpu"], quota.Status.Used["pods"]
	cpu.Add(resource.MustParse("200m"))
	pods.Add(resource.MustParse("10"))
	quota.Status.Used["requests.cpu"], quota.Status.Used["pods"] = cpu, pods
	gate.SetQuota(quota)
}

// processorTime reports the processor's time per operation, which others on the machine do not lengthen.
func processorTime(b *testing.B) func() {
	b.Helper()
	spent := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64(spent()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkHandler measures a request that fits, from the body that the API server sends to the answer.
func BenchmarkHandler(b *testing.B) {
	gate := roomy()
	server := NewHandler(gate)
	body := review(b)
	b.ReportAllocs()
	defer processorTime(b)()
	calls := 0
	for b.Loop() {
		request := httptest.NewRequest(http.MethodPost, "/admit", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, request)
		if !bytes.Contains(recorder.Body.Bytes(), []byte(`"allowed":true`)) {
			b.Fatal(recorder.Body.String())
		}
		charge(gate, calls)
		calls++
	}
}

// BenchmarkGate measures the decision alone for a request that fits.
func BenchmarkGate(b *testing.B) {
	gate := roomy()
	r := request("10m")
	b.ReportAllocs()
	defer processorTime(b)()
	calls := 0
	for b.Loop() {
		if denial := gate.Admit(b.Context(), r); denial != "" {
			b.Fatal(denial)
		}
		charge(gate, calls)
		calls++
	}
}

// BenchmarkGateUnderway measures the decision while a thousand requests are underway whose charges were not seen yet.
func BenchmarkGateUnderway(b *testing.B) {
	gate := roomy()
	r := request("10m")
	for range 1000 {
		gate.Admit(b.Context(), r)
	}
	l, now := gate.lane(key), time.Now()
	asked, _ := l.Charge(r.Charge)
	b.ReportAllocs()
	for b.Loop() {
		if l.Enter(asked, now, true) == nil {
			b.Fatal("does not fit")
		}
	}
}
