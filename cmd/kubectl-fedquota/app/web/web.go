// Package web serves a page that shows budgets as they are and as they change.
package web

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
)

const (
	long = `Serve a page that shows budgets as they are, and as they change: all budgets, one of them
with its clusters and why each limit is what it is, what it was at an earlier time, what
another budget or another weight would change, pools as a tree, and clusters. Run it on
the hub, and open the address that it prints. It ends with ctrl-c.

The page shows what you may read, and changes nothing. It listens on this machine alone,
and answers only to who has the address: whoever has that sees what you see. Without -n it
shows the budgets of all namespaces, or of the context's if you may not list those of all.

With --serve-others it is for others, as config/view deploys it on the hub: each enters a
token, and is shown what that may read. The rights of whoever runs it are not used.

It goes by what the hub has stored, and asks no member.`

	example = `  # All budgets that you may see
  kubectl fedquota view

  # Those of one namespace, in the browser of this machine
  kubectl fedquota view -n team-a --open`
)

// Options says what to serve, and where.
type Options struct {
	env  *cli.Env
	live live.Options
	port uint16
	open bool
	// others is the address at which others are served, empty if none are, most how many of them at a time, and each from how
	// many places one of them.
	others     string
	most, each int
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "view",
		Short:   "Serve a page that shows budgets, live",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	flags := command.Flags()
	flags.Uint16Var(&o.port, "port", 0, "Port to listen on. 0 is one that is free.")
	flags.BoolVar(&o.open, "open", false, "Open the page in the browser of this machine.")
	flags.StringVar(&o.others, "serve-others", "", "Serve others at this address, such as :8443, over TLS: each is shown what the token may read that he enters.")
	flags.IntVar(&o.most, "most-others", 20, "How many others may look at a time, with --serve-others.")
	flags.IntVar(&o.each, "most-of-one", 5, "From how many places one of them may look at a time, with --serve-others.")
	command.MarkFlagsMutuallyExclusive("serve-others", "port")
	command.MarkFlagsMutuallyExclusive("serve-others", "open")
	o.live.Bind(flags)
	return command
}

func (o *Options) run(ctx context.Context) error {
	if o.others != "" {
		return o.serveOthers(ctx)
	}
	hub, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace, err := o.env.Namespace()
	if err != nil {
		return err
	}
	source := newSource(hub, o.env.Clock, o.live)
	if err := source.start(ctx, namespace, ptr.Deref(o.env.Config.Namespace, "") != ""); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port))))
	if err != nil {
		return err
	}
	site := &site{host: listener.Addr().String(), token: rand.Text(), source: source}
	address := fmt.Sprintf("http://%s/?token=%s", site.host, site.token)
	if _, err := fmt.Fprintf(o.env.Out, "Open %s\nWhoever has this address sees what you may see. Ctrl-c ends it.\n", address); err != nil {
		return err
	}
	if o.open {
		file, err := browse(ctx, address)
		if err != nil {
			_, _ = fmt.Fprintf(o.env.ErrOut, "No browser was opened: %v\n", err)
		}
		defer func() { _ = os.Remove(file) }()
	}
	return serve(ctx, listener, site.handler())
}

// serveOthers serves whoever shows a token. API servers that lead here do not ask whose certificate it is.
func (o *Options) serveOthers(ctx context.Context) error {
	if o.most < 1 || o.each < 1 {
		return fmt.Errorf("--most-others %d, --most-of-one %d: must be 1 or more", o.most, o.each)
	}
	pair, err := certificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.others)
	if err != nil {
		return err
	}
	l := &lobby{
		connect: o.env.ClientOf, clock: o.env.Clock, live: o.live, most: o.most, each: o.each, recheck: time.Minute,
		viewers: map[string]*viewer{}, places: map[string]int{},
	}
	if _, err := fmt.Fprintf(o.env.Out, "Serving at %s\n", listener.Addr()); err != nil {
		return err
	}
	return serve(ctx, tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12}), l.handler(ctx))
}

// certificate makes one that nobody else has signed.
func certificate() (*tls.Certificate, error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("fedquota-view", nil, nil)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	return &pair, err
}

// serve answers until the context ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	// Streams do not end by themselves, so nobody waits for them.
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// browse opens an address in the browser of this machine, and returns a file that is to be removed at the end. Everybody on
// a machine sees with what programs are called, so the browser is given a file that this user alone can read.
func browse(ctx context.Context, address string) (string, error) {
	file, err := os.CreateTemp("", "fedquota-view-*.html")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", address)
	if err := errors.Join(err, file.Close()); err != nil {
		return file.Name(), err
	}
	program := "xdg-open"
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program = "explorer"
	}
	return file.Name(), exec.CommandContext(ctx, program, file.Name()).Start()
}
