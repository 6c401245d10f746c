// The program makes the image of the manager without a container engine: the programs, an OCI archive for all
// platforms, and a bill of materials for each.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fedquota/fedquota/hack/release/internal/archive"
	"github.com/fedquota/fedquota/hack/release/internal/build"
	"github.com/fedquota/fedquota/hack/release/internal/oci"
	"github.com/fedquota/fedquota/hack/release/internal/sbom"
)

type options struct {
	source, to    string
	program       string
	platforms     string
	name, version string
	commit        string
	created       int64
	push          bool
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", ".", "Folder of the project.")
	flag.StringVar(&o.program, "package", "./cmd/manager", "Package of the program in the image.")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "Platforms that the image runs on, separated by commas.")
	flag.StringVar(&o.to, "to", "", "Folder to write into.")
	flag.StringVar(&o.name, "name", "fedquota/manager", "Name of the image, with its registry and without a tag.")
	flag.StringVar(&o.version, "version", "latest", "Version, which is the tag as well.")
	flag.StringVar(&o.commit, "commit", "", "Commit that it is built from.")
	flag.Int64Var(&o.created, "created", 0, "Seconds since 1970 of that commit.")
	flag.BoolVar(&o.push, "push", false, "Push the image to its registry, too, with the credentials of the user.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	programs, err := compile(ctx, o)
	if err != nil {
		return err
	}
	index, err := oci.Image{Version: o.version, Commit: o.commit, Created: o.time()}.Index(programs)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := o.write(index, digest); err != nil {
		return err
	}
	if o.push {
		if err := oci.Push(ctx, index, o.name, o.version); err != nil {
			return fmt.Errorf("pushing: %w", err)
		}
	}
	_, err = fmt.Fprintf(out, "%s:%s@%s\n", o.name, o.version, digest)
	return err
}

func (o options) time() time.Time { return time.Unix(o.created, 0).UTC() }

// compile compiles the manager for all platforms, and writes a bill of materials beside each program.
func compile(ctx context.Context, o options) ([]oci.Program, error) {
	var programs []oci.Program
	platforms := strings.Split(o.platforms, ",")
	for i, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return nil, fmt.Errorf("-platforms=%s: %w", o.platforms, err)
		}
		path := filepath.Join(o.to, platform.OS+"_"+platform.Architecture, "manager")
		source := build.Options{
			Dir: o.source, Package: o.program, Version: o.version, Commit: o.commit, Image: o.name + ":" + o.version,
			Place: fmt.Sprintf("%d of %d", i+1, len(platforms)),
		}
		if err := build.Program(ctx, source, *platform, path); err != nil {
			return nil, err
		}
		err = archive.Write(path+".cdx.json", func(w io.Writer) error { return sbom.Write(w, path, o.version, o.time()) })
		if err != nil {
			return nil, fmt.Errorf("bill of materials for %s: %w", platform, err)
		}
		programs = append(programs, oci.Program{Platform: *platform, Path: path})
	}
	return programs, nil
}

// write writes the archive and, beside it, the digest.
func (o options) write(index v1.ImageIndex, digest v1.Hash) error {
	folder, err := os.MkdirTemp(o.to, "layout-")
	if err != nil {
		return err
	}
	err = oci.Layout(folder, index, o.name, o.version)
	if err == nil {
		err = archive.Write(filepath.Join(o.to, "manager.oci.tar"), func(w io.Writer) error {
			return archive.Tar(w, os.DirFS(folder), "", o.time())
		})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(o.to, "digest"), []byte(digest.String()+"\n"), 0o644)
	}
	return errors.Join(err, os.RemoveAll(folder))
}
