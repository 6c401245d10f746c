// Package sbom writes down what is in a program: the modules that it was linked from, with their licenses and hashes.
package sbom

import (
	"io"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/licensedetect/local"
	"github.com/rs/zerolog"
)

// Write writes the bill of materials of a program in CycloneDX's JSON. It holds the time of the commit and no serial
// number, so that the same program has the same bill.
func Write(out io.Writer, program, version string, created time.Time) error {
	log := zerolog.Nop()
	generator, err := bin.NewGenerator(program, bin.WithLogger(log), bin.WithIncludeStdlib(true),
		bin.WithLicenseDetector(local.NewDetector(log)), bin.WithVersionOverride(version))
	if err != nil {
		return err
	}
	bom, err := generator.Generate()
	if err != nil {
		return err
	}
	bom.Metadata.Timestamp = created.UTC().Format(time.RFC3339)
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}
