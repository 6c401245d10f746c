package oci

import (
	"archive/tar"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var (
	amd64     = v1.Platform{OS: "linux", Architecture: "amd64"}
	arm64     = v1.Platform{OS: "linux", Architecture: "arm64"}
	committed = time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	image     = Image{Version: "v0.1.0", Commit: "1111", Created: committed}
)

// TestIndex reads back what kubelets of both platforms get.
func TestIndex(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	if err := Layout(folder, index(t, image), "example.com/manager", "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	stored := read(t, folder)
	if err := validate.Index(stored); err != nil {
		t.Error(err)
	}
	manifest, err := stored.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(manifest.Manifests))
	}
	for i, want := range []v1.Platform{amd64, arm64} {
		descriptor := manifest.Manifests[i]
		if diff := cmp.Diff(&want, descriptor.Platform); diff != "" {
			t.Error(diff)
		}
		stored, err := stored.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		testImage(t, stored, want)
	}
}

func testImage(t *testing.T, stored v1.Image, platform v1.Platform) {
	t.Helper()
	config, err := stored.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != platform.OS || config.Architecture != platform.Architecture || !config.Created.Equal(committed) {
		t.Errorf("it is for %s/%s, of %s", config.OS, config.Architecture, config.Created)
	}
	want := v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}, WorkingDir: "/", Labels: map[string]string{
		"org.opencontainers.image.title":       "fedquota",
		"org.opencontainers.image.description": "One resource budget for a namespace over many Kubernetes clusters",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     "v0.1.0",
		"org.opencontainers.image.revision":    "1111",
		"org.opencontainers.image.created":     "2026-11-25T18:00:00Z",
	}}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}
	layers, err := stored.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(content)
	file, err := files.Next()
	if err != nil {
		t.Fatal(err)
	}
	if file.Name != "manager" || file.Mode != 0o755 || file.Uid != 0 || file.Gid != 0 {
		t.Errorf("the file is %+v", file)
	}
	if program, err := io.ReadAll(files); err != nil || string(program) != "program for "+platform.Architecture {
		t.Errorf("%s, %v", program, err)
	}
	if _, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("another file, or %v", err)
	}
}

// TestDigest makes the image again of files that were made again, and of another commit.
func TestDigest(t *testing.T) {
	digest := func(i Image) string {
		t.Helper()
		digest, err := index(t, i).Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest.String()
	}
	first := digest(image)
	if again := digest(image); again != first {
		t.Errorf("%s and then %s", first, again)
	}
	other := image
	other.Commit = "2222"
	if digest(other) == first {
		t.Error("another commit has the same digest")
	}
}

// TestName has containerd, and what reads the annotations of the OCI, know the image by its name.
func TestName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "layout")
	if err := Layout(folder, index(t, image), "example.com/manager", "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	manifest := root(t, folder)
	want := map[string]string{"io.containerd.image.name": "example.com/manager:v0.1.0", "org.opencontainers.image.ref.name": "v0.1.0"}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Error(diff)
	}
}

// TestPush pushes to a registry of this process, and pulls for both platforms.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/fedquota/manager"
	if err := Push(t.Context(), index(t, image), repository, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	for _, platform := range []v1.Platform{amd64, arm64} {
		reference, err := name.ParseReference(repository + ":v0.1.0")
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Image(reference, remote.WithContext(t.Context()), remote.WithPlatform(platform))
		if err != nil {
			t.Fatal(err)
		}
		testImage(t, pulled, platform)
	}
}

// index returns the image of programs that are written for it.
func index(t *testing.T, i Image) v1.ImageIndex {
	t.Helper()
	var programs []Program
	for _, platform := range []v1.Platform{amd64, arm64} {
		path := filepath.Join(t.TempDir(), "manager")
		if err := os.WriteFile(path, []byte("program for "+platform.Architecture), 0o700); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, Program{Platform: platform, Path: path})
	}
	index, err := i.Index(programs)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// root returns the index file of a layout.
func root(t *testing.T, folder string) *v1.IndexManifest {
	t.Helper()
	stored, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := stored.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	return manifest
}

// read returns the only index of a layout.
func read(t *testing.T, folder string) v1.ImageIndex {
	t.Helper()
	stored, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	child, err := stored.ImageIndex(root(t, folder).Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return child
}
