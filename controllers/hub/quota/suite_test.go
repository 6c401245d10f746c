package quota

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/apiserver"
)

const hubName = "hub"

// servers are clients of the API servers that TestMain started, if their programs are at hand: the hub's, and one for
// each member.
var servers = map[string]client.WithWatch{}

// configs are how to connect to them.
var configs = map[string]*rest.Config{}

func TestMain(m *testing.M) {
	os.Exit(apiserver.RunOn(m, startServers))
}

// startServers starts all API servers at once.
func startServers() (stop func() error, err error) {
	crds := []string{apiserver.CRD("federatedquotas"), apiserver.CRD("quotapools"), apiserver.CRD("clustercapacities"), apiserver.CRD("quotarecords")}
	options := map[string]apiserver.Options{hubName: {ClusterAPI: []string{"clusters"}, Files: crds}}
	for _, name := range []string{"east", "west", "north"} {
		options[name] = apiserver.Options{Files: []string{apiserver.CRD("quotashares")}}
	}
	environments := map[string]*envtest.Environment{}
	for name, of := range options {
		if environments[name], err = apiserver.New(of); err != nil {
			return func() error { return nil }, err
		}
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
		config, err := environment.Start()
		if err != nil {
			return fmt.Errorf("starting the API server of %s: %w", name, err)
		}
		config.QPS = -1
		c, err := client.NewWithWatch(config, client.Options{Scheme: schemes.All()})
		mutex.Lock()
		defer mutex.Unlock()
		servers[name], configs[name] = c, config
		return err
	})
	return func() error {
		return each(func(_ string, environment *envtest.Environment) error { return environment.Stop() })
	}, err
}
