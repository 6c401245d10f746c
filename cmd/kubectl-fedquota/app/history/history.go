// Package history says what moved in a budget, when and why.
package history

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/record"
	"github.com/fedquota/fedquota/internal/round"
)

const (
	long = `Say what moved in a budget: when, in which cluster, from what limit to what, and why; and
when conditions came. In a member, what happened to the share.

It goes by the QuotaRecords that the hub manager writes about once an hour and keeps for
months: they say which limits moved, and who changed the spec. What is younger, and which
conditions came, events say, which API servers keep for an hour. In a member there are
events alone.`

	example = `  # What moved in the last ten minutes
  kubectl fedquota history compute -n team-a --since 10m

  # What moved in the last 30 days, and who changed the budget
  kubectl fedquota history compute -n team-a --since 30d

  # For a script
  kubectl fedquota history compute -n team-a -o json`
)

// Kept is how long API servers keep events, unless they are told otherwise.
const Kept = time.Hour

// Options says what to show.
type Options struct {
	env    *cli.Env
	since  cli.Span
	only   view.Only
	output cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env, since: cli.Span(Kept)}
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
	flags.Var(&o.since, "since", "Show what is younger than this, such as 90m, 12h or 30d.")
	flags.StringVar(&o.only.Cluster, "cluster", "", "Show the moves of this cluster alone.")
	flags.StringVar((*string)(&o.only.Resource), "resource", "", "Show the moves of this resource name alone, such as requests.cpu.")
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
	if apierrors.IsNotFound(err) {
		object, err = o.deleted(ctx, c, namespace, arg, err)
	}
	if err != nil {
		return err
	}
	known, err := o.recorded(ctx, c, object)
	if err != nil {
		return err
	}
	if err := o.told(ctx, c, object, known); err != nil {
		return err
	}
	o.warn(object, known.from)
	moves := o.chosen(known.moves)
	if len(moves) == 0 && object.GetUID() != "" { // else it may be of a cluster that has left
		if err := cli.Check(object, o.only); err != nil {
			return err
		}
	}
	return o.output.Print(o.env.Out, moves, func() error { return o.print(moves) })
}

// deleted stands for a FederatedQuota that is gone and has records, or the error holds.
func (o *Options) deleted(
	ctx context.Context, c client.Client, namespace, arg string, gone error,
) (client.Object, error) {
	kind, name, err := cli.ParseName(arg)
	if err != nil || kind != cli.AnyKind && kind != cli.FederatedQuota {
		return nil, gone
	}
	if found, err := records.List(ctx, c, namespace, name, o.from(), o.env.Clock.Now()); err != nil || len(found) == 0 {
		return nil, gone
	}
	return &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, nil
}

// from is since when something is shown.
func (o *Options) from() time.Time { return o.env.Clock.Now().Add(-time.Duration(o.since)) }

// knowledge is what is known, and from when until when it is of records.
type knowledge struct {
	moves       []view.Move
	from, until time.Time
}

// recorded returns what records tell of.
func (o *Options) recorded(ctx context.Context, c client.Client, object client.Object) (*knowledge, error) {
	now := o.env.Clock.Now()
	known := &knowledge{from: now.Add(-Kept)}
	if _, isQuota := object.(*quotav1alpha1.FederatedQuota); !isQuota {
		return known, nil
	}
	found, err := records.List(ctx, c, object.GetNamespace(), object.GetName(), o.from(), now)
	if apierrors.IsForbidden(err) {
		_, _ = fmt.Fprintf(o.env.ErrOut, "Events alone are shown: %v\n", err)
		return known, nil
	}
	for i := range found {
		known.moves = append(known.moves, Recorded(found[i].Month)...)
		if known.until = found[i].Until; found[i].From.Before(known.from) {
			known.from = found[i].From
		}
	}
	return known, err
}

// told adds what events tell of, and no record.
func (o *Options) told(ctx context.Context, c client.Client, object client.Object, known *knowledge) error {
	if object.GetUID() == "" {
		return nil
	}
	events, err := cli.AllEventsOf(ctx, c, object)
	if err != nil {
		return err
	}
	for i := range events {
		if e := &events[i]; e.Reason != quotav1alpha1.ReasonLimitsMoved || cli.LastSeen(e).After(known.until) {
			known.moves = append(known.moves, MovesOf(e)...)
		}
	}
	return nil
}

// warn says from when on nothing is missing, if that is not all that is asked for.
func (o *Options) warn(object client.Object, recorded time.Time) {
	existed := o.env.Clock.Now().Sub(object.GetCreationTimestamp().Time) > Kept
	if existed && time.Duration(o.since) > Kept && recorded.After(o.from()) {
		_, _ = fmt.Fprintf(o.env.ErrOut, "What happened before %s may be missing: nothing is recorded of it, and "+
			"API servers forget events after an hour, unless told otherwise.\n", recorded.UTC().Format(time.RFC3339))
	}
}

// chosen returns what is asked for, the first one first.
func (o *Options) chosen(moves []view.Move) []view.Move {
	moves = slices.DeleteFunc(append([]view.Move{}, moves...), func(m view.Move) bool {
		return m.Time.Time.Before(o.from()) || o.only.Cluster != "" && o.only.Cluster != m.Cluster ||
			o.only.Resource != "" && o.only.Resource != m.Resource
	})
	slices.SortStableFunc(moves, func(a, b view.Move) int { return a.Time.Compare(b.Time.Time) })
	return moves
}

// changed is the reason of a change of the spec.
const changed = "SpecChanged"

// Recorded returns what a month tells of.
func Recorded(m *record.Month) []view.Move {
	var moves []view.Move
	for _, r := range m.Moves.List {
		moves = append(moves, view.Move{
			Time: metav1.NewTime(r.Time), Reason: quotav1alpha1.ReasonLimitsMoved, Resource: r.Resource, Cluster: r.Cluster,
			From: r.From, To: r.To, Why: r.Why,
		})
	}
	for _, c := range m.Audit.Changes {
		message := fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.From, "none"), cmp.Or(c.To, "none"))
		if c.By != "" {
			message += ", by " + c.By
		}
		moves = append(moves, view.Move{Time: metav1.NewTime(c.Time), Reason: changed, Message: message})
	}
	return moves
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
			moves = append(moves, view.Move{
				Resource: corev1.ResourceName(name), Cluster: found[1], From: found[2], To: found[3], Why: found[4],
			})
		}
	}
	return moves
}

// print prints what happened.
func (o *Options) print(moves []view.Move) error {
	page := o.env.Page(o.env.Out)
	if len(moves) == 0 {
		_, err := fmt.Fprintf(o.env.ErrOut, "Nothing happened in the last %s that is recorded.\n", o.since.String())
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
