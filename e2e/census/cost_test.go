package census

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/observer/quantity"
)

// podWith returns a pod of one container and, if init is set, one init container, with these CPU requests; limits are
// twice as much.
func podWith(cpu, init string) *corev1.Pod {
	container := func(name, cpu string) corev1.Container {
		request := amount(cpu)
		return corev1.Container{Name: name, Image: "example.com/app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: request, "nvidia.com/gpu": amount("1"), "hugepages-2Mi": amount("4Mi"), "memory": amount("1Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: quantity.Plus(request, request), "nvidia.com/gpu": amount("1"), "hugepages-2Mi": amount("4Mi"), "memory": amount("1Mi")},
		}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("main", cpu)}}}
	if init != "" {
		pod.Spec.InitContainers = []corev1.Container{container("init", init)}
	}
	return pod
}

func TestPodCost(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	deleted := func(ago time.Duration) *corev1.Pod {
		grace := int64(30)
		pod := podWith("500m", "")
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(-ago)}, &grace
		return pod
	}
	failed := podWith("500m", "")
	failed.Status.Phase = corev1.PodFailed
	overhead := podWith("500m", "")
	overhead.Spec.Overhead = amounts("cpu=100m")
	live := "count/pods=1,pods=1,cpu=500m,requests.cpu=500m,limits.cpu=1,requests.nvidia.com/gpu=1,hugepages-2Mi=4Mi,requests.hugepages-2Mi=4Mi"
	gone := "count/pods=1,pods=0,cpu=0,requests.cpu=0,limits.cpu=0,requests.nvidia.com/gpu=0,hugepages-2Mi=0,requests.hugepages-2Mi=0"
	cases := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"live":                   {podWith("500m", ""), live},
		"large init container":   {podWith("500m", "2"), "requests.cpu=2,limits.cpu=4"},
		"overhead":               {overhead, "requests.cpu=600m,limits.cpu=1100m"},
		"terminal":               {failed, gone},
		"in its grace period":    {deleted(29 * time.Second), live},
		"past its grace period":  {deleted(31 * time.Second), gone},
		"nothing of that name":   {podWith("500m", ""), "ephemeral-storage=0,limits.memory=1Mi"},
		"best effort costs zero": {&corev1.Pod{}, "pods=1,requests.cpu=0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for resourceName, want := range amounts(tc.want) {
				if !chargesPods(resourceName) {
					t.Errorf("pods are not charged for %s", resourceName)
				}
				if got := podCost(now)(tc.pod, resourceName); got.Cmp(want) != 0 {
					t.Errorf("%s: %s, want %s", resourceName, got.String(), want.String())
				}
			}
		})
	}
}

func TestNotCharged(t *testing.T) {
	names := []corev1.ResourceName{
		"nvidia.com/gpu", "limits.nvidia.com/gpu", "requests.storage", "services", "count/secrets",
		"requests.deviceclass.resource.kubernetes.io/x", "gold.storageclass.storage.k8s.io/requests.storage",
	}
	for _, name := range names {
		if chargesPods(name) {
			t.Errorf("pods are charged for %s", name)
		}
	}
}

func TestServiceCost(t *testing.T) {
	service := func(kind corev1.ServiceType, allocate *bool) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, AllocateLoadBalancerNodePorts: allocate,
			Ports: []corev1.ServicePort{{Port: 1}, {Port: 2, NodePort: 30002}}}}
	}
	no := false
	cases := map[string]struct {
		service *corev1.Service
		want    string
	}{
		"inside":                  {service(corev1.ServiceTypeClusterIP, nil), "services.nodeports=0,services.loadbalancers=0"},
		"node ports":              {service(corev1.ServiceTypeNodePort, nil), "services.nodeports=2,services.loadbalancers=0"},
		"balanced":                {service(corev1.ServiceTypeLoadBalancer, nil), "services.nodeports=2,services.loadbalancers=1"},
		"balanced without a port": {service(corev1.ServiceTypeLoadBalancer, &no), "services.nodeports=1,services.loadbalancers=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for resourceName, want := range amounts(tc.want) {
				if got := serviceCost(tc.service, resourceName); !chargesServices(resourceName) || got.Cmp(want) != 0 {
					t.Errorf("%s: %s, want %s", resourceName, got.String(), want.String())
				}
			}
		})
	}
}

func TestClaimCost(t *testing.T) {
	gold := "gold"
	claim := &corev1.PersistentVolumeClaim{
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &gold,
			Resources:        corev1.VolumeResourceRequirements{Requests: amounts("storage=1500m")},
		},
		Status: corev1.PersistentVolumeClaimStatus{AllocatedResources: amounts("storage=1")},
	}
	wants := amounts("requests.storage=2,gold.storageclass.storage.k8s.io/requests.storage=2," +
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,tin.storageclass.storage.k8s.io/requests.storage=0")
	for name, want := range wants {
		if got := claimCost(claim, name); !chargesClaims(name) || got.Cmp(want) != 0 {
			t.Errorf("%s: %s, want %s", name, got.String(), want.String())
		}
	}
	claim.Status.AllocatedResources = amounts("storage=5")
	claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "tin"}
	if got := claimCost(claim, "tin.storageclass.storage.k8s.io/requests.storage"); got.Cmp(amount("5")) != 0 {
		t.Errorf("an expanding claim of an annotated class costs %s, want 5", got.String())
	}
}
