// Package apiserver runs the tests of a package with a real API server.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// patience is how long anything may take, on a machine that does much else.
const patience = 2 * time.Minute

// Options say what the API server has.
type Options struct {
	// ClusterAPI are CRDs of Cluster API, by plural.
	ClusterAPI []string
	// Files are files, or folders of them, with other CRDs, from the root of the project.
	Files []string
	// Disabled are admission plugins that it runs without.
	Disabled []string
}

// CRD is the file of a CRD of the project, by plural.
func CRD(plural string) string { return "config/crd/bases/quota.fedquota.io_" + plural + ".yaml" }

// Run runs the tests of a package with an API server, once that is prepared, and returns the code that TestMain is to
// exit with. Where the programs are not at hand, it runs them without.
func Run(m *testing.M, options Options, prepare func(*envtest.Environment) error) int {
	return RunOn(m, func() (stop func() error, err error) {
		env, err := start(options)
		if err == nil {
			err = prepare(env)
		}
		return env.Stop, err
	})
}

// RunOn is the same with all that a function starts, which has to be stopped also if it failed.
func RunOn(m *testing.M, begin func() (stop func() error, err error)) int {
	ctrl.SetLogger(logr.Discard())
	if os.Getenv(fleet.AssetsVariable) == "" {
		return m.Run()
	}
	stop, err := begin()
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, stop()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Start starts an API server until the test ends, and skips the test where the programs are not at hand.
func Start(t *testing.T, options Options) *envtest.Environment {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: run `make test`, which builds an API server", fleet.AssetsVariable)
	}
	env, err := start(options)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// start starts the API server. Its clients are not held back.
func start(options Options) (*envtest.Environment, error) {
	env, err := New(options)
	if err != nil {
		return env, err
	}
	config, err := env.Start()
	if err == nil {
		config.QPS = -1
	}
	return env, err
}

// New returns an API server that is not started.
func New(options Options) (*envtest.Environment, error) {
	env := &envtest.Environment{
		ErrorIfCRDPathMissing: true, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}
	if len(options.Disabled) > 0 {
		env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", options.Disabled...)
	}
	var err error
	env.CRDDirectoryPaths, err = options.files()
	return env, err
}

// files are those of all CRDs.
func (o *Options) files() (files []string, err error) {
	if len(o.ClusterAPI) > 0 {
		if files, err = fleet.ClusterAPICRDs(context.Background(), o.ClusterAPI...); err != nil {
			return nil, err
		}
	}
	root, err := fleet.Root()
	for _, file := range o.Files {
		files = append(files, filepath.Join(root, file))
	}
	return files, err
}
