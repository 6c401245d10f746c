//go:build e2e

package clusterapi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
	"github.com/fedquota/fedquota/internal/bundle"
)

// bounds has east have a CapacityQuota, as somebody makes it for the node autoscaler, which allows as many nodes as
// there are, and says that so many are there. It is read and changed by its latest version.
func (s *scaling) bounds(nodes int64) *unstructured.Unstructured {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(systemtest.Root(s.T), "controllers", "hub", "scaleout", "testdata", "capacityquotas.yaml"))
	s.must(err)
	objects, err := bundle.Decode(content)
	s.must(err)
	for _, object := range objects {
		s.must(s.members[east].Create(s.Context(), object))
	}
	resources := map[string]any{"resources": map[string]any{"nodes": nodes}}
	quota := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"limits": resources}}}
	quota.SetAPIVersion("autoscaling.x-k8s.io/v1beta1")
	quota.SetKind("CapacityQuota")
	quota.SetName("total")
	s.eventually("CapacityQuotas to be served", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(s.members[east].Create(ctx, quota))
	})
	s.must(unstructured.SetNestedMap(quota.Object, resources, "status", "used"))
	s.must(s.members[east].Status().Update(s.Context(), quota))
	return quota
}

// allows has a CapacityQuota allow another number of nodes.
func (s *scaling) allows(quota *unstructured.Unstructured, nodes int64) {
	s.Helper()
	s.must(unstructured.SetNestedField(quota.Object, nodes, "spec", "limits", "resources", "nodes"))
	s.must(s.members[east].Update(s.Context(), quota))
}

// addsGPUs has a pod ask for 8 GPUs, which a machine of one of the groups has. The budget says so first. None comes until
// the CapacityQuota allows one more.
func (s *scaling) addsGPUs() {
	s.Helper()
	quota := s.bounds(2)
	s.allows(quota, 3)
	s.onlySays(true)
	s.deploy(east, budget.Namespace, "train", 1, corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("8"),
	})
	s.eventually("the budget to say which step it would take", func(context.Context) error {
		if status := s.budget().Status.ScaleOut; status == nil || status.Reason != quotav1alpha1.ReasonWouldScaleOut {
			return errors.New(s.told())
		}
		return nil
	})
	s.prints(s.page("fleetplan", "kubectl fedquota plan -f budget.yaml"), "MachineDeployment default/gpus of Cluster east from 0 to 1")
	s.prints(s.page("fleetdescribe", "kubectl fedquota describe compute -n "+budget.Namespace), "would scale")
	s.allows(quota, 2)
	s.onlySays(false)
	s.held(quotav1alpha1.ReasonAtCapacityQuota, "CapacityQuota total allows 2 of nodes, 2 are there, and 0 on the way")
	s.scaled(gpus, 0)
	s.scaled(workers, 1)
	s.allows(quota, 3)
	s.scaled(gpus, 1)
	s.run("train", 1)
	s.scaled(workers, 1)
	s.made("10", "8")
	if told := s.budget().Status.ScaleOut.LastStep.Message; !strings.Contains(told, gpus) {
		s.Errorf("the last step is %s", told)
	}
	s.must(s.members[east].Delete(s.Context(), quota)) // nobody says from here on what is used
}
