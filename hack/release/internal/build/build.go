// Package build compiles the manager so that the same sources and the same Go give the same bytes, wherever they are.
package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say what to compile.
type Options struct {
	// Dir is the folder of the module, Package the package in it.
	Dir, Package string
	// Version, Commit and Image are what the program knows of itself.
	Version, Commit, Image string
	// Place, such as "1 of 6", is told with the progress.
	Place string
}

// Program compiles for a platform into a file. What Go would record of the work tree (-buildvcs) is left out: it
// differs between a clone and an unpacked archive of the same commit. The levels of the instruction sets are those of
// the oldest machines.
func Program(ctx context.Context, o Options, platform v1.Platform, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	flags := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.image=%s", o.Version, o.Commit, o.Image)
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", to, o.Package)
	command.Dir = o.Dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=",
		"GOGC=off", "GOMEMLIMIT=512MiB") // as in hack/build.sh
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	began := time.Now()
	fmt.Fprintf(os.Stderr, "[%s] %s for %s: compiling\n", o.Place, o.Package, platform)
	if err := command.Run(); err != nil {
		return fmt.Errorf("compiling for %s: %w", platform, err)
	}
	fmt.Fprintf(os.Stderr, "[%s] %s for %s: compiled in %s\n", o.Place, o.Package, platform, time.Since(began).Round(time.Second))
	return nil
}
