// The kubectl plugin: kubectl fedquota shows who holds a budget and why, on the hub and in members.
package main

import (
	"context"
	"os"
	"os/signal"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

// version, commit and image, that of the agents of the same release, are set by the linker, as in -X
// main.version=v0.1.0. A plain build leaves them empty.
var version, commit, image string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	env := cli.NewEnv(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	env.Build = cli.Build{Version: version, Commit: commit, Image: image}
	code := app.Execute(ctx, env, os.Args[1:])
	stop()
	os.Exit(code)
}
