package sbom

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestWrite writes the bill of a program twice: the same bytes, with the modules that it was linked from.
func TestWrite(t *testing.T) {
	program := filepath.Join(t.TempDir(), "image")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../image").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var first, again bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &again} {
		if err := Write(out, program, "v0.1.0", time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("other bytes")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Component.Version != "v0.1.0" || bom.Metadata.Timestamp != "1970-01-01T00:00:00Z" {
		t.Errorf("it is of %s, at %s", bom.Metadata.Component.Version, bom.Metadata.Timestamp)
	}
	licenses := map[string]string{}
	for _, component := range *bom.Components {
		if component.Evidence != nil && component.Evidence.Licenses != nil {
			licenses[component.Name] = (*component.Evidence.Licenses)[0].License.ID
		}
	}
	if got := licenses["github.com/CycloneDX/cyclonedx-go"]; got != "Apache-2.0" {
		t.Errorf("the license of a module is %q", got)
	}
}
