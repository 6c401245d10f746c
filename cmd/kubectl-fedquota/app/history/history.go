// Package history says what moved in a budget, when and why.
package history

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/round"
)

const (
	long = `Say what moved in a budget: when, in which cluster, from what limit to what, and why; and
when conditions came. In a member, what happened to the share.

It goes by the events that the hub manager writes: one for each move once it has come to
rest. Nobody else keeps a log. API servers keep events for an hour, unless they run with
another --event-ttl: what is older is gone, and is said to be.`

	example = `  # What moved in the last ten minutes
  kubectl fedquota history compute -n team-a --since 10m

  # All that is known, for a script
  kubectl fedquota history compute -n team-a -o json`
)

// kept is how long API servers keep events, unless they are told otherwise.
const kept = time.Hour

// Options says what to show.
type Options struct {
	env      *cli.Env
	since    time.Duration
	cluster  string
	resource string
	output   cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "history NAME",
		Short:             "Say what moved in a budget, when and why",
		Long:              long,
		Example:           example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	flags := command.Flags()
	flags.DurationVar(&o.since, "since", kept, "Show what is younger than this.")
	flags.StringVar(&o.cluster, "cluster", "", "Show the moves of this cluster alone.")
	flags.StringVar(&o.resource, "resource", "", "Show the moves of this resource name alone, such as requests.cpu.")
	o.output.Bind(command)
	env.CompleteClusters(command, "cluster")
	env.CompleteResources(command, "resource")
	return command
}

func (o *Options) run(ctx context.Context, arg string) error {
	c, namespace, err := o.env.ClientAndNamespace()
	if err != nil {
		return err
	}
	object, err := cli.Find(ctx, c, namespace, arg)
	if err != nil {
		return err
	}
	moves, err := o.moves(ctx, c, object)
	if err != nil {
		return err
	}
	if o.since > kept && o.env.Clock.Since(object.GetCreationTimestamp().Time) > kept {
		_, _ = fmt.Fprintln(o.env.ErrOut, "What happened more than an hour ago may be missing: API servers forget events then, unless told otherwise.")
	}
	return o.output.Print(o.env.Out, moves, func() error { return o.print(moves) })
}

// moves returns what happened, the first one first.
func (o *Options) moves(ctx context.Context, c client.Client, object client.Object) ([]view.Move, error) {
	events, err := cli.AllEventsOf(ctx, c, object)
	if err != nil {
		return nil, err
	}
	moves := []view.Move{}
	for i := range events {
		e := &events[i]
		if o.env.Clock.Since(cli.LastSeen(e).Time) > o.since {
			continue
		}
		for _, m := range MovesOf(e) {
			if (o.cluster == "" || m.Cluster == o.cluster) && (o.resource == "" || string(m.Resource) == o.resource) {
				moves = append(moves, m)
			}
		}
	}
	return moves, nil
}

// move is how the hub manager tells of one: "east 5 → 9 (Demand)".
var move = regexp.MustCompile(`^(\S+) (\S+) → (\S+)(?: \((\w+)\))?$`)

// MovesOf returns what an event of a budget tells of, a move each.
func MovesOf(e *corev1.Event) []view.Move {
	moves := movesOf(e)
	for i := range moves {
		moves[i].Time, moves[i].Reason = cli.LastSeen(e), e.Reason
	}
	return moves
}

// movesOf returns what an event tells of, a move each: "requests.cpu: east 5 → 9 (Demand), west 10 → 6 (Surplus);
// pods: …".
func movesOf(e *corev1.Event) []view.Move {
	if e.Reason != quotav1alpha1.ReasonLimitsMoved {
		return []view.Move{{Message: e.Message}}
	}
	var moves []view.Move
	for part := range strings.SplitSeq(e.Message, "; ") {
		name, list, ok := strings.Cut(part, ": ")
		if !ok {
			return []view.Move{{Message: e.Message}}
		}
		for text := range strings.SplitSeq(list, ", ") {
			found := move.FindStringSubmatch(text)
			if found == nil { // the last one may end in "and 3 more", or be cut off
				moves = append(moves, view.Move{Resource: corev1.ResourceName(name), Message: text})
				continue
			}
			moves = append(moves, view.Move{Resource: corev1.ResourceName(name), Cluster: found[1], From: found[2], To: found[3], Why: found[4]})
		}
	}
	return moves
}

// print prints what happened.
func (o *Options) print(moves []view.Move) error {
	page := o.env.Page(o.env.Out)
	if len(moves) == 0 {
		_, err := fmt.Fprintf(o.env.ErrOut, "Nothing happened in the last %s that events tell of.\n", o.since)
		return err
	}
	t := &text.Table{Header: []string{"AGO", "CLUSTER", "RESOURCE", "FROM", "", "TO", "WHY"}}
	for _, e := range moves {
		ago := text.Since(o.env.Clock.Now(), e.Time)
		if e.Cluster != "" {
			t.Row(ago, e.Cluster, string(e.Resource), e.From, "→", e.To, Why(e.Why))
			continue
		}
		t.Cells(text.Cell{Text: ago}, text.Cell{Text: "-"}, text.Cell{Text: "-"}, text.Cell{}, text.Cell{}, text.Cell{},
			text.Cell{Text: e.Reason, Style: text.Yellow})
		t.Note(text.Dim, strings.TrimSpace(string(e.Resource)+" "+e.Message))
	}
	page.Print(t)
	return page.Err()
}

// Why returns a reason with its words.
func Why(reason string) string {
	if words := round.WordsOf(allocate.Reason(reason)).Brief; words != "" {
		return reason + ": " + words
	}
	return reason
}
