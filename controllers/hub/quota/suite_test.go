package quota

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

const hubName = "hub"

// servers are clients of the API servers that TestMain started, if their programs are at hand: the hub's, and one for
// each member.
var servers = map[string]client.WithWatch{}

// configs are how to connect to them.
var configs = map[string]*rest.Config{}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	if os.Getenv(fleet.AssetsVariable) == "" {
		return m.Run()
	}
	stop, err := startServers()
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

// startServers starts all API servers at once.
func startServers() (stop func() error, err error) {
	crds := func(name string) string {
		return filepath.Join("..", "..", "..", "config", "crd", "bases", "quota.fedquota.io_"+name+".yaml")
	}
	clusters, err := fleet.ClusterAPICRDs(context.Background(), "clusters")
	if err != nil {
		return func() error { return nil }, err
	}
	environments := map[string]*envtest.Environment{
		hubName: {CRDDirectoryPaths: append(clusters, crds("federatedquotas"), crds("quotapools"), crds("clustercapacities"), crds("quotarecords"))},
	}
	for _, name := range []string{"east", "west", "north"} {
		environments[name] = &envtest.Environment{CRDDirectoryPaths: []string{crds("quotashares")}}
	}
	var mutex sync.Mutex
	each := func(do func(name string, environment *envtest.Environment) error) error {
		var group sync.WaitGroup
		var errs []error
		for name, environment := range environments {
			group.Go(func() {
				err := do(name, environment)
				mutex.Lock()
				defer mutex.Unlock()
				errs = append(errs, err)
			})
		}
		group.Wait()
		return errors.Join(errs...)
	}
	err = each(func(name string, environment *envtest.Environment) error {
		const patience = 2 * time.Minute
		environment.ErrorIfCRDPathMissing, environment.CRDInstallOptions.MaxTime = true, patience
		environment.ControlPlaneStartTimeout, environment.ControlPlaneStopTimeout = patience, patience
		config, err := environment.Start()
		if err != nil {
			return fmt.Errorf("starting the API server of %s: %w", name, err)
		}
		config.QPS = -1
		c, err := client.NewWithWatch(config, client.Options{Scheme: newScheme()})
		mutex.Lock()
		defer mutex.Unlock()
		servers[name], configs[name] = c, config
		return err
	})
	return func() error {
		return each(func(_ string, environment *envtest.Environment) error { return environment.Stop() })
	}, err
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(clusterv1.AddToScheme(scheme))
	utilruntime.Must(quotav1alpha1.AddToScheme(scheme))
	return scheme
}
