// Package oci makes the image of the manager without a container engine: an index with an image per platform, each of
// one layer with one file.
package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fedquota/fedquota/hack/release/internal/archive"
)

const (
	// user is the one of the restricted profile's examples, and of distroless images: not root, and no user of a host.
	user       = "65532:65532"
	entrypoint = "/manager"
)

// Image is what the images of all platforms have in common.
type Image struct {
	// Version and Commit say what it was built from, Created when that was committed.
	Version, Commit string
	Created         time.Time
}

// Program is the manager for one platform.
type Program struct {
	Platform v1.Platform
	Path     string
}

// Index returns the image of several platforms.
func (i Image) Index(programs []Program) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := i.image(p)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p.Platform}})
	}
	return mutate.Annotations(index, i.labels()).(v1.ImageIndex), nil
}

// image returns the image of one platform.
func (i Image) image(p Program) (v1.Image, error) {
	layer, err := i.layer(p.Path)
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	history := v1.History{Created: v1.Time{Time: i.Created}, CreatedBy: "COPY manager " + entrypoint}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.Platform.OS, p.Platform.Architecture, p.Platform.Variant
	config.Created = v1.Time{Time: i.Created}
	config.Config = v1.Config{User: user, Entrypoint: []string{entrypoint}, WorkingDir: "/", Labels: i.labels()}
	return mutate.ConfigFile(image, config)
}

// layer returns the layer with the program.
func (i Image) layer(path string) (v1.Layer, error) {
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	out := tar.NewWriter(&files)
	if err := archive.File(out, entrypoint[1:], 0o755, i.Created, program); err != nil {
		return nil, err
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}

// labels are those of the OCI's specification of annotations.
func (i Image) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "fedquota",
		"org.opencontainers.image.description": "One resource budget for a namespace over many Kubernetes clusters",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     i.Version,
		"org.opencontainers.image.revision":    i.Commit,
		"org.opencontainers.image.created":     i.Created.UTC().Format(time.RFC3339),
	}
}

// Layout writes an image into a new folder in the OCI's layout, under a name such as
// example.com/fedquota/manager:v0.1.0.
func Layout(folder string, index v1.ImageIndex, name, tag string) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	// The first is read by containerd, the second by skopeo and podman.
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          name + ":" + tag,
		"org.opencontainers.image.ref.name": tag,
	}))
}
