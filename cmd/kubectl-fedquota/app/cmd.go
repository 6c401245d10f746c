// Package app holds the commands of kubectl fedquota, each in its own package.
package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/adopt"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/audit"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/breakglass"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/bundle"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/convert"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/describe"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/explain"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/fits"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/list"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/member"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/plan"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/report"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/top"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/tree"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/version"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/web"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/why"
)

const long = `See, explain and plan budgets that span clusters.

On the hub these commands read FederatedQuotas, in a member QuotaShares. They need
no more rights than you have, and name the right that is missing.

They end with
  0  the answer is yes, or there is nothing to answer
  1  something failed
  2  the answer is no: see the command
  3  you lack a right`

// Execute runs the program in an environment, and returns its exit code. What went wrong is on the error stream then.
func Execute(ctx context.Context, env *cli.Env, args []string) int {
	root := NewCommand(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if told := cli.Explain(err); told != "" {
		for line := range strings.Lines("error: " + told) {
			_, _ = fmt.Fprintln(env.ErrOut, strings.Join(text.Wrap(line, text.Width), "\n"))
		}
	}
	return cli.CodeOf(err)
}

// NewCommand returns the root command.
func NewCommand(env *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:               "kubectl-fedquota",
		Short:             "See, explain and plan budgets that span clusters",
		Long:              long,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fedquota"},
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	env.AddFlags(root)
	wrapped := fmt.Sprintf("FlagUsagesWrapped %d ", text.Width)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages ", wrapped))
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w: see %s --help", err, command.CommandPath())
	})
	root.AddCommand(
		adopt.NewCommand(env),
		audit.NewCommand(env),
		breakglass.NewCommand(env),
		breakglass.NewMendCommand(env),
		bundle.NewCommand(env),
		describe.NewCommand(env),
		convert.NewCommand(env),
		explain.NewCommand(env),
		fits.NewCommand(env),
		history.NewCommand(env),
		member.NewJoinCommand(env),
		member.NewLeaveCommand(env),
		list.NewCommand(env),
		plan.NewCommand(env),
		report.NewCommand(env),
		top.NewCommand(env),
		tree.NewCommand(env),
		version.NewCommand(env),
		web.NewCommand(env),
		why.NewCommand(env),
	)
	for _, command := range root.Commands() {
		command.Args = stated(command.Args)
	}
	return root
}

// stated has the error of wrong arguments say which are right.
func stated(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return fmt.Errorf("%w: must be %s", err, command.UseLine())
		}
		return nil
	}
}
