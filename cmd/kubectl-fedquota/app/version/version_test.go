package version

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSkewed finds agents of another version than the hub manager.
func TestSkewed(t *testing.T) {
	for name, tc := range map[string]struct {
		hub, agent, want string
		skew             bool
	}{
		"same":           {"v0.2.0", "v0.2.0", "image", false},
		"older agent":    {"v0.2.0", "v0.1.0", "not the hub manager's v0.2.0: image", true},
		"unknown agent":  {"v0.2.0", "unknown", "image", false},
		"unknown hub":    {"unknown", "v0.1.0", "image", false},
		"another plugin": {"v0.1.0", "v0.1.0", "image", false},
	} {
		components := []Component{
			{Name: "kubectl-fedquota", Version: "v0.2.0"},
			{Name: "hub manager", Cluster: "hub", Version: tc.hub, Note: "image"},
			{Name: "agent", Cluster: "east", Version: tc.agent, Note: "image"},
		}
		if skew := skewed(components); skew != tc.skew || components[2].Note != tc.want {
			t.Errorf("%s: skew %t, noted %q", name, skew, components[2].Note)
		}
	}
}

// TestTagOf reads the version out of the name of an image.
func TestTagOf(t *testing.T) {
	images := map[string]string{
		"fedquota/manager": "latest", "fedquota/manager:v0.1.0": "v0.1.0", "registry:5000/fedquota": "latest",
		"registry:5000/fedquota:v1": "v1", "registry/fedquota@sha256:abcd": "sha256:abcd",
	}
	got := map[string]string{}
	for image := range images {
		got[image] = tagOf(image)
	}
	if diff := cmp.Diff(images, got); diff != "" {
		t.Error(diff)
	}
}
