// The program makes the archives of the kubectl plugin, for all platforms, and its manifest for krew.
package main

import (
	"archive/tar"
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/fedquota/fedquota/hack/release/internal/archive"
	"github.com/fedquota/fedquota/hack/release/internal/build"
	"github.com/fedquota/fedquota/hack/release/internal/krew"
)

const name = "kubectl-fedquota"

// complete is by what kubectl completes the plugin's command lines.
const complete = "#!/bin/sh\nexec kubectl fedquota __complete \"$@\"\n"

type options struct {
	source, to             string
	version, commit, image string
	url                    string
	created                int64
	// place is that of the platform that is compiled for.
	place string
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", ".", "Folder of the project.")
	flag.StringVar(&o.to, "to", "", "Folder to write into.")
	flag.StringVar(&o.version, "version", "unknown", "Version.")
	flag.StringVar(&o.commit, "commit", "", "Commit that it is built from.")
	flag.Int64Var(&o.created, "created", 0, "Seconds since 1970 of that commit.")
	flag.StringVar(&o.image, "image", "", "Image of the agents of the same release.")
	flag.StringVar(&o.url, "url", "", "Where the archives are to be had.")
	only := flag.String("only", "", "Make the archive of this platform alone, such as linux/amd64.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, platforms(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

// platforms are those that the plugin runs on, or the one that is named.
func platforms(only string) []v1.Platform {
	var list []v1.Platform
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if only == "" || only == system+"/"+arch {
				list = append(list, v1.Platform{OS: system, Architecture: arch})
			}
		}
	}
	return list
}

func (o *options) run(ctx context.Context, platforms []v1.Platform) error {
	var archives []krew.Archive
	for i, platform := range platforms {
		o.place = fmt.Sprintf("%d of %d", i+1, len(platforms))
		a, err := o.archive(ctx, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		archives = append(archives, a)
	}
	return archive.Write(filepath.Join(o.to, "fedquota.yaml"), func(w io.Writer) error { return krew.Write(w, o.version, o.url, archives) })
}

// file is one in an archive.
type file struct {
	name    string
	mode    int64
	content []byte
}

// archive makes that of a platform.
func (o *options) archive(ctx context.Context, platform v1.Platform) (krew.Archive, error) {
	a := krew.Archive{OS: platform.OS, Arch: platform.Architecture, Program: name, Name: fmt.Sprintf("%s_%s_%s.tar.gz", name, platform.OS, platform.Architecture)}
	if platform.OS == "windows" {
		a.Program, a.Name = name+".exe", fmt.Sprintf("%s_%s_%s.zip", name, platform.OS, platform.Architecture)
	}
	files, err := o.files(ctx, platform, a.Program)
	if err != nil {
		return a, err
	}
	sum := sha256.New()
	err = archive.Write(filepath.Join(o.to, a.Name), func(w io.Writer) error {
		return pack(io.MultiWriter(w, sum), platform.OS == "windows", time.Unix(o.created, 0).UTC(), files)
	})
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return a, err
}

// files returns what is in the archive of a platform.
func (o *options) files(ctx context.Context, platform v1.Platform, program string) ([]file, error) {
	folder, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, program)
	source := build.Options{Dir: o.source, Package: "./cmd/" + name, Version: o.version, Commit: o.commit, Image: o.image, Place: o.place}
	err = build.Program(ctx, source, platform, path)
	var binary, license []byte
	if err == nil {
		binary, err = os.ReadFile(path)
	}
	if err == nil {
		license, err = os.ReadFile(filepath.Join(o.source, "LICENSE"))
	}
	files := []file{{"LICENSE", 0o644, license}, {program, 0o755, binary}, {"kubectl_complete-fedquota", 0o755, []byte(complete)}}
	return files, errors.Join(err, os.RemoveAll(folder))
}

// pack writes files as one archive.
func pack(w io.Writer, zipped bool, modified time.Time, files []file) error {
	if zipped {
		return packZip(w, modified, files)
	}
	return archive.Gzip(w, func(w io.Writer) error {
		out := tar.NewWriter(w)
		for _, f := range files {
			if err := archive.File(out, f.name, f.mode, modified, f.content); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

func packZip(w io.Writer, modified time.Time, files []file) error {
	out := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(os.FileMode(f.mode))
		entry, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}
