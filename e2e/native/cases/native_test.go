package cases_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/native/cases"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/validate"
)

// TestAgainstKubernetes compares what is checked here with what a real control plane takes and counts.
func TestAgainstKubernetes(t *testing.T) {
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds a control plane", fleet.AssetsVariable)
	}
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: t.TempDir(),
		Hub: fleet.ControlPlaneOptions{Controllers: []string{"resourcequota-controller"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(f.Hub.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("names", func(t *testing.T) { takesNames(t, c) })
	t.Run("specs", func(t *testing.T) { takesSpecs(t, c) })
	t.Run("quantities", func(t *testing.T) { takesQuantities(t, c) })
	t.Run("counts", func(t *testing.T) { countsNames(t, c) })
}

// takes says whether a control plane would take a ResourceQuota.
func takes(t *testing.T, c client.Client, spec corev1.ResourceQuotaSpec) bool {
	t.Helper()
	err := c.Create(t.Context(), newQuota(spec), client.DryRunAll)
	if err != nil && !apierrors.IsInvalid(err) {
		t.Fatalf("neither taken nor refused: %v", err)
	}
	return err == nil
}

func newQuota(spec corev1.ResourceQuotaSpec) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "test-"}, Spec: spec}
}

func takesNames(t *testing.T, c client.Client) {
	for name, tc := range cases.Names {
		spec := corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("1")}}
		if takes(t, c, spec) == tc.Refused {
			t.Errorf("%s: refused is %t", name, !tc.Refused)
		}
	}
}

// countsNames has all names that a ResourceQuota takes counted, and compares those that are with those that pass.
func countsNames(t *testing.T, c client.Client) {
	quota := newQuota(corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}})
	var want []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(cases.Names)) {
		tc := cases.Names[name]
		if !tc.Refused {
			quota.Spec.Hard[name] = resource.MustParse("1")
		}
		// Huge pages of no size are counted, and no pod can ask for them.
		if nativequota.Name(name) == "" && !tc.Unknown || strings.Contains(string(name), "hugepages-") && !tc.Refused {
			want = append(want, name)
		}
	}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	var got []corev1.ResourceName
	// The quota controller learns the kinds of other groups some seconds after its start.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		got = slices.Sorted(maps.Keys(quota.Status.Used))
		return len(got) >= len(want), err
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counted (-want +got), %v:\n%s", err, diff)
	}
}

// takesSpecs demands that nothing passes that a ResourceQuota refuses.
func takesSpecs(t *testing.T, c client.Client) {
	for name, tc := range cases.Scopes {
		spec := cases.FederatedQuotaSpec(tc.YAML)
		passes := len(validate.Spec(spec)) == 0
		native := takes(t, c, corev1.ResourceQuotaSpec{Hard: spec.Hard, Scopes: spec.Scopes, ScopeSelector: spec.ScopeSelector})
		if passes && !native {
			t.Errorf("%s: passes, and a ResourceQuota refuses it", name)
		}
		if native == tc.Refused {
			t.Errorf("%s: refused is %t", name, !tc.Refused)
		}
	}
}

func takesQuantities(t *testing.T, c client.Client) {
	for _, name := range []corev1.ResourceName{"pods", "requests.cpu", "requests.memory", "requests.nvidia.com/gpu", "count/jobs.batch", "gold.storageclass.storage.k8s.io/requests.storage"} {
		for _, quantity := range []string{"0", "1", "-1", "0.5", "1500m", "8Pi", "9223372036854775", "9223372036854776", "10Pi", "9000Pi", "9223372036854775807", "9223372036854775807m", "10E", "1e30"} {
			hard := corev1.ResourceList{name: resource.MustParse(quantity)}
			spec := &quotav1alpha1.FederatedQuotaSpec{Hard: hard}
			if len(validate.Spec(spec)) == 0 && !takes(t, c, corev1.ResourceQuotaSpec{Hard: hard}) {
				t.Errorf("%s of %s passes, and a ResourceQuota refuses it", quantity, name)
			}
		}
	}
}
