package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

var members = []string{"east", "west", "north"}

// up starts the demo, shows it, and leaves it running.
func up(ctx context.Context, root string) error {
	began := time.Now()
	say := func(step string) { fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), step) }
	options := system.Options{Root: root, Fleet: fleet.Options{Dir: filepath.Join(root, folder), Detach: true, Progress: say}}
	for _, name := range members {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{Name: name, Labels: map[string]string{"tier": "prod"}})
	}
	s, err := system.Start(ctx, options)
	if err != nil {
		return err
	}
	if err := linkKubeconfigs(s, filepath.Join(root, dir)); err != nil {
		return err
	}
	d, err := newDisplay(filepath.Join(root, dir))
	if err != nil {
		return err
	}
	d.say = say
	if err := d.acts(ctx, root); err != nil {
		return fmt.Errorf("%w\nThe control planes are still up: look at them, then run make demo-down", err)
	}
	fmt.Printf(`
It stays up. Look around, each with kubectl:
  export KUBECONFIG=%s/hub.kubeconfig      # or east, west, north
  bin/controlplane/*/kubectl get fq -A     # on the hub
  bin/controlplane/*/kubectl get qs,resourcequota -n team-a    # in a member
make demo-status prints the table again, make demo-down ends it.
`, dir)
	return nil
}

// linkKubeconfigs puts the kubeconfigs of administrators where the README says.
func linkKubeconfigs(s *system.System, dir string) error {
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		content, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, c.Name+".kubeconfig"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
