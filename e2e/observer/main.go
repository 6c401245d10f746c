// Command observer watches one federated ResourceQuota in many clusters and reports whether its budget was ever
// exceeded. It prints a line when an excess is proved and the report at the end, and exits with 1 after a violation.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/internal/observer"
)

// errViolations is returned when the run showed violations; the report says which.
var errViolations = errors.New("violations found")

// flags is what the command line says.
type flags struct {
	kubeconfigs     map[string]string
	budget          map[string]string
	namespace, name string
	duration        time.Duration
	recount         bool
	output          string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "observer:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:           "observer --kubeconfig NAME=PATH... --namespace NAMESPACE --name NAME --budget RESOURCE=AMOUNT,...",
		Short:         "Watch one ResourceQuota in many clusters and judge whether the sum ever exceeds the budget",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return run(c.Context(), f, c.OutOrStdout()) },
	}
	c.Flags().StringToStringVar(&f.kubeconfigs, "kubeconfig", nil, "member as name=path of its kubeconfig; may be repeated")
	c.Flags().StringVar(&f.namespace, "namespace", "", "namespace of the FederatedQuota and of the ResourceQuota in every member")
	c.Flags().StringVar(&f.name, "name", "", "name of the FederatedQuota and of the ResourceQuota in every member")
	c.Flags().StringToStringVar(&f.budget, "budget", nil, "budget as resource=amount, separated by commas")
	c.Flags().DurationVar(&f.duration, "duration", 0, "how long to watch; until interrupted if zero")
	c.Flags().BoolVar(&f.recount, "recount", false, "count at the end what exists in every member")
	c.Flags().StringVarP(&f.output, "output", "o", "table", "report as table or json")
	for _, required := range []string{"kubeconfig", "namespace", "name", "budget"} {
		_ = c.MarkFlagRequired(required) // fails for unknown flags only
	}
	return c
}

func run(ctx context.Context, f flags, out io.Writer) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("--output %s: want table or json", f.output)
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	// The watches outlive the interrupt: what was written before it is still judged.
	o, err := observer.Watch(context.WithoutCancel(ctx), options)
	if err != nil {
		return err
	}
	wait(ctx, f.duration)
	var recount *census.Recount
	if f.recount {
		counted, err := census.Of(context.WithoutCancel(ctx), o)
		if err != nil {
			fmt.Fprintln(os.Stderr, "observer:", err)
		} else {
			recount = &counted
		}
	}
	report := o.Stop()
	if err := write(out, report, recount, f.output); err != nil {
		return err
	}
	if len(report.Violations()) > 0 {
		return errViolations
	}
	return nil
}

func (f flags) options() (observer.Options, error) {
	options := observer.Options{
		Members:   map[string]*rest.Config{},
		Namespace: f.namespace,
		Name:      f.name,
		Budget:    corev1.ResourceList{},
		OnExcess: func(e observer.Excess) {
			fmt.Fprintf(os.Stderr, "%s excess of %s: %s above %s\n",
				e.FirstCertain.Format(time.RFC3339Nano), e.Resource, e.Certain.String(), e.Allowed.String())
		},
	}
	for name, text := range f.budget {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return options, fmt.Errorf("--budget %s: %w", name, err)
		}
		options.Budget[corev1.ResourceName(name)] = amount
	}
	for name, path := range f.kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return options, fmt.Errorf("--kubeconfig %s: %w", name, err)
		}
		options.Members[name] = config
	}
	return options, nil
}

// wait returns when the context ends or the duration, unless zero, has passed.
func wait(ctx context.Context, duration time.Duration) {
	if duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration)
		defer cancel()
	}
	<-ctx.Done()
}

func write(out io.Writer, report observer.Report, recount *census.Recount, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			observer.Report

			Recount *census.Recount `json:"recount,omitempty"`
		}{report, recount})
	}
	if recount != nil {
		if err := recount.WriteTable(out); err != nil {
			return err
		}
	}
	return report.WriteTable(out)
}
