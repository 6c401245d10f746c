package krew_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fedquota/fedquota/hack/release/internal/krew"
)

// TestWrite reads the manifest as krew does, field by field.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	err := krew.Write(&out, "0.1.0", "https://example.com/v0.1.0/", []krew.Archive{
		{OS: "windows", Arch: "amd64", Name: "kubectl-fedquota_windows_amd64.zip", SHA256: "1234", Program: "kubectl-fedquota.exe"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	spec := got["spec"].(map[string]any)
	if got["kind"] != "Plugin" || got["metadata"].(map[string]any)["name"] != "fedquota" || spec["version"] != "v0.1.0" {
		t.Errorf("got %v", got)
	}
	if short := spec["shortDescription"].(string); short == "" || len(short) > 50 {
		t.Errorf("the short description has %d characters", len(short))
	}
	want := []any{map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"os": "windows", "arch": "amd64"}},
		"uri":      "https://example.com/v0.1.0/kubectl-fedquota_windows_amd64.zip", "sha256": "1234", "bin": "kubectl-fedquota.exe",
	}}
	if diff := cmp.Diff(want, spec["platforms"]); diff != "" {
		t.Error(diff)
	}
}
