// The demo shows a budget follow what the user asks for, over a hub and three members that are real control planes on
// this machine. It leaves them running.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// folder holds the demo's control planes, dir their kubeconfigs, both below the project's folder.
const (
	dir    = "bin/demo"
	folder = "bin/demo/fleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	verb := ""
	if len(args) == 1 {
		verb = args[0]
	}
	switch verb {
	case "up":
		return up(ctx, root)
	case "status":
		return status(ctx, filepath.Join(root, dir))
	case "down":
		return fleet.Down(ctx, filepath.Join(root, folder))
	}
	return fmt.Errorf("usage: demo up|status|down")
}
