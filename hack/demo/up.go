package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

var (
	members = []string{"east", "west", "north"}

	errInterrupted = errors.New("interrupted, and all that it had started is stopped: make demo starts again")
)

// demo is a demo in a folder.
type demo struct {
	// root is the project's folder, dir the demo's own.
	root, dir string
	// say tells the user of a step.
	say func(step string)
}

func (d demo) fleet() string { return filepath.Join(d.dir, fleetFolder) }

// up starts the demo, plays it, and leaves it running. One that is up already ends first. When the context ends before,
// nothing is left running.
func (d demo) up(ctx context.Context) error {
	if err := d.endEarlier(ctx); err != nil {
		return fmt.Errorf("end the demo that was up: %w", err)
	}
	quiet := context.AfterFunc(ctx, func() { d.say("interrupted: stopping all programs") })
	defer quiet()
	s, err := d.start(ctx)
	if err == nil {
		err = d.show(ctx, s)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(errInterrupted, d.stop(ctx, s))
	case s == nil:
		return err
	case err != nil:
		return fmt.Errorf("%w\nThe control planes are still up: look at them, then run make demo-down", err)
	}
	return d.sayNext()
}

// endEarlier ends a demo that is up.
func (d demo) endEarlier(ctx context.Context) error {
	ended, err := d.end(ctx)
	if ended > 0 {
		d.say(fmt.Sprintf("a demo was up: its %d programs are stopped, and it starts anew", ended))
	}
	return err
}

// start starts hub and members with all that runs on them. When it fails nothing is left running.
func (d demo) start(ctx context.Context) (*system.System, error) {
	options := system.Options{
		Root: d.root, HubArgs: []string{"--scale-out"},
		Fleet: fleet.Options{Dir: d.fleet(), Detach: true, Progress: d.say},
	}
	for _, name := range members {
		options.Fleet.Members = append(
			options.Fleet.Members, fleet.ControlPlaneOptions{Name: name, Labels: map[string]string{"tier": "prod"}},
		)
	}
	return system.Start(ctx, options)
}

// stop stops all that was started, which may be less than a system. A system starts managers that have ended again,
// unless it is what ends them.
func (d demo) stop(ctx context.Context, s *system.System) error {
	var err error
	if s != nil {
		err = s.Stop()
	}
	_, rest := d.end(ctx)
	return errors.Join(err, rest)
}

// end ends all processes that are on record, returns how many ran, and removes the kubeconfigs, which lead nowhere
// then. It is quick, and so it is not interrupted.
func (d demo) end(ctx context.Context) (int, error) {
	ended, err := fleet.Down(context.WithoutCancel(ctx), d.fleet())
	for _, name := range append([]string{fleet.HubName}, members...) {
		err = errors.Join(err, os.RemoveAll(kubeconfig(d.dir, name)))
	}
	return ended, err
}

// show plays the acts.
func (d demo) show(ctx context.Context, s *system.System) error {
	if err := copyKubeconfigs(s, d.dir); err != nil {
		return err
	}
	display, err := newDisplay(d)
	if err != nil {
		return err
	}
	display.system = s
	return display.acts(ctx, d.root)
}

// sayNext tells the user what to do with the demo.
func (d demo) sayNext() error {
	assets, err := filepath.Rel(d.root, os.Getenv(fleet.AssetsVariable))
	if err != nil {
		return err
	}
	fmt.Printf(`
The demo stays up. Look around:
  export KUBECONFIG=$PWD/%[1]s/hub.kubeconfig PATH=$PWD/bin:$PWD/%[2]s:$PATH
  kubectl get fq -A                                    # the budget, on the hub
  kubectl edit fq -n team-a compute                    # change it
  kubectl fedquota describe -n team-a compute          # who holds it; kubectl fedquota --help says what else there is
  kubectl --kubeconfig %[1]s/east.kubeconfig get qs,resourcequota -n team-a   # the part of a member

docs/demo.md explains what you saw, docs/tasks/split-a-budget.md what you can change. make demo-down stops the demo.
`, folder, assets)
	return nil
}

// down ends the demo.
func (d demo) down(ctx context.Context) error {
	ended, err := d.end(ctx)
	switch {
	case err != nil:
		return err
	case ended == 0:
		fmt.Println("No demo runs.")
	default:
		fmt.Printf(
			"The demo is stopped: %d programs have ended. Their logs stay in %s until the next make demo.\n", ended, folder,
		)
	}
	return nil
}

// kubeconfig is the path of an administrator's kubeconfig.
func kubeconfig(dir, cluster string) string { return filepath.Join(dir, cluster+".kubeconfig") }

// copyKubeconfigs puts the kubeconfigs of administrators where the documentation says.
func copyKubeconfigs(s *system.System, dir string) error {
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		content, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			return err
		}
		if err := os.WriteFile(kubeconfig(dir, c.Name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
