// Package krew writes the manifest by which krew, the package manager of kubectl, installs the plugin.
package krew

import (
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Archive is that of a platform.
type Archive struct {
	// OS and Arch are as Go names them.
	OS, Arch string
	// Name is that of the file, and SHA256 its checksum.
	Name, SHA256 string
	// Program is the file in it that is run.
	Program string
}

const description = `Who holds the budget, why a limit is what it is, why a pod was refused, and what a change
of a FederatedQuota would do: on the hub and in members of fedquota.
`

type (
	manifest struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       spec              `json:"spec"`
	}
	spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Platforms        []platform `json:"platforms"`
	}
	platform struct {
		Selector selector `json:"selector"`
		URI      string   `json:"uri"`
		SHA256   string   `json:"sha256"`
		Bin      string   `json:"bin"`
	}
	selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
)

// Write writes the manifest of a version whose archives are to be had below a URL.
func Write(w io.Writer, version, url string, archives []Archive) error {
	m := manifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "fedquota"},
		Spec: spec{
			Version: Version(version), Homepage: "https://github.com/fedquota/fedquota",
			ShortDescription: "See and plan budgets that span clusters", Description: description,
		},
	}
	for _, a := range archives {
		m.Spec.Platforms = append(m.Spec.Platforms, platform{
			Selector: selector{map[string]string{"os": a.OS, "arch": a.Arch}},
			URI:      strings.TrimSuffix(url, "/") + "/" + a.Name, SHA256: a.SHA256, Bin: a.Program,
		})
	}
	content, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// Version returns a version as krew takes it: it begins with v.
func Version(version string) string { return "v" + strings.TrimPrefix(version, "v") }
