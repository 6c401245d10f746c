package nativequota_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fedquota/fedquota/e2e/native/cases"
	"github.com/fedquota/fedquota/internal/nativequota"
)

func TestName(t *testing.T) {
	for name, tc := range cases.Names {
		t.Run(string(name), func(t *testing.T) {
			if diff := cmp.Diff(tc.Want, nativequota.Name(name)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// standardNames are the names without a slash that a ResourceQuota takes, but for huge pages.
const standardNames = " cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage requests.storage " +
	"limits.cpu limits.memory limits.ephemeral-storage pods services services.nodeports services.loadbalancers " +
	"replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims "

// taken says whether a ResourceQuota takes a name, by the rules of its own validation.
func taken(name string) bool {
	if len(validation.IsQualifiedName(name)) > 0 {
		return false
	}
	return strings.Contains(name, "/") || strings.Contains(standardNames, " "+name+" ") ||
		strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "requests.hugepages-")
}

func TestTaken(t *testing.T) {
	for name, tc := range cases.Names {
		if taken(string(name)) == tc.Refused {
			t.Errorf("%s: taken is %t", name, !tc.Refused)
		}
	}
}

func FuzzName(f *testing.F) {
	for name := range cases.Names {
		f.Add(string(name))
	}
	for _, odd := range []string{"", "/", "//", "a/", "/a", ".", "count/.", "requests.", "limits./x", "hugepages-1e400", "requests.hugepages-/x", "\xff", strings.Repeat("a", 400)} {
		f.Add(odd)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if problem := nativequota.Name(corev1.ResourceName(name)); problem == "" && !taken(name) {
			t.Errorf("%q passes, and a ResourceQuota refuses it", name)
		}
	})
}
