package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// Snapshot copies all data of the control plane to a new folder. Its processes are restarted on the way, so that the
// copy is whole.
func (c *ControlPlane) Snapshot(ctx context.Context, folder string) error {
	return c.whileStopped(ctx, func() error { return os.CopyFS(folder, os.DirFS(c.data())) })
}

// Restore puts the control plane back to a snapshot, as after the loss of etcd: its resource versions go back too.
func (c *ControlPlane) Restore(ctx context.Context, folder string) error {
	return c.whileStopped(ctx, func() error {
		if err := os.RemoveAll(c.data()); err != nil {
			return err
		}
		return os.CopyFS(c.data(), os.DirFS(folder))
	})
}

// data is the folder with etcd's data.
func (c *ControlPlane) data() string { return filepath.Join(c.Dir, dataFolder) }

// whileStopped stops the whole control plane, does something, and starts it again.
func (c *ControlPlane) whileStopped(ctx context.Context, do func() error) error {
	if err := c.kill(); err != nil {
		return err
	}
	err := do()
	for _, p := range c.Processes() {
		err = errors.Join(err, p.start(ctx))
	}
	return err
}

// kill ends all processes of the control plane, those first that need the others.
func (c *ControlPlane) kill() error {
	var errs []error
	for _, p := range slices.Backward(c.Processes()) {
		errs = append(errs, p.Kill())
	}
	return errors.Join(errs...)
}
