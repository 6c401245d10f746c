// The demo shows a budget follow what the user asks for, over a hub and three members that are real control planes on
// this machine. It leaves them running, unless it is interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// folder holds what the demo leaves, below the project's folder: kubeconfigs, and in fleetFolder the control planes.
const (
	folder      = "bin/demo"
	fleetFolder = "fleet"
)

func main() {
	log.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
	began := time.Now()
	d := demo{root: root, dir: filepath.Join(root, folder), say: func(step string) {
		fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), step)
	}}
	verb := ""
	if len(args) == 1 {
		verb = args[0]
	}
	switch verb {
	case "up":
		return d.up(ctx)
	case "status":
		return d.status(ctx)
	case "down":
		return d.down(ctx)
	}
	return fmt.Errorf("usage: demo up|status|down")
}
