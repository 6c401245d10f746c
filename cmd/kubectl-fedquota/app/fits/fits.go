// Package fits says whether pods would be admitted, where, and whether at once or after a raise.
package fits

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

const (
	long = `Say how many more pods would be admitted: in which cluster, at once, or after the hub has
raised a limit. Nothing is written.

FILE holds a Pod, or what makes pods, such as a Deployment; its replicas count unless
--replicas is given.

On the hub it asks every cluster, and has the hub manager's own code say how far limits
would go up, for one cluster at a time. In a member it goes by the share and by what the
hub has told last. Quotas of others, LimitRanges of other clusters, nodes and other
policies are not looked at.

It ends with 0 if all pods fit into one cluster, and with 2 if they do not.`

	example = `  # Where 5 pods of this kind would be admitted, on the hub
  kubectl fedquota fits -f pod.yaml --replicas 5 -n team-a

  # Whether a Deployment fits into this cluster, in a member
  kubectl fedquota fits -f deployment.yaml -n team-a`
)

// Options says what is to fit.
type Options struct {
	env      *cli.Env
	live     live.Options
	file     string
	replicas int32
	cluster  string
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "fits -f FILE",
		Short:   "Say whether pods would be admitted, and where",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	flags := command.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "File with a Pod or what makes pods, or - for standard input.")
	flags.Int32Var(&o.replicas, "replicas", 0, "How many pods shall fit. Defaults to those that the object wants.")
	flags.StringVar(&o.cluster, "cluster", "", "Ask of this cluster alone, on the hub.")
	env.CompleteClusters(command, "cluster")
	o.live.Bind(flags)
	_ = command.MarkFlagRequired("filename")
	return command
}

func (o *Options) run(ctx context.Context) error {
	template, replicas, err := o.read()
	if err != nil {
		return err
	}
	c, err := o.env.Client()
	if err != nil {
		return err
	}
	namespace, err := o.env.Namespace()
	if err != nil {
		return err
	}
	if template.Namespace != "" {
		namespace = template.Namespace
	}
	held, err := cli.FindAll(ctx, c, namespace, cli.AnyKind)
	if err != nil {
		return err
	}
	var places []place
	if held.Budgets != nil {
		places, err = o.onHub(ctx, c, namespace, template, replicas, held.Budgets.Items)
	} else {
		places, err = o.inMember(ctx, c, namespace, template, held.Shares.Items)
	}
	if err != nil {
		return err
	}
	return o.print(namespace, replicas, places)
}

// read returns the pods that are to fit.
func (o *Options) read() (*corev1.PodTemplateSpec, int64, error) {
	documents, err := o.env.Documents(o.file)
	if err != nil {
		return nil, 0, err
	}
	object, err := charge.Read(cli.Scheme(), documents)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", o.file, err)
	}
	template, replicas, _ := charge.Template(object)
	if o.replicas < 0 {
		return nil, 0, fmt.Errorf("--replicas %d: must be 1 or more", o.replicas)
	}
	if o.replicas > 0 {
		replicas = o.replicas
	}
	template = template.DeepCopy()
	template.Namespace = object.(client.Object).GetNamespace()
	return template, int64(replicas), nil
}

// place is where pods may go.
type place struct {
	name string
	// now is how many fit at once, and raised how many after limits were raised as far as they go.
	now, raised int64
	// why says what keeps more from fitting.
	why string
}

// quotaSpec is the spec of a native quota that counts as a budget does.
func quotaSpec(spec *quotav1alpha1.FederatedQuotaSpec) *corev1.ResourceQuotaSpec {
	return &corev1.ResourceQuotaSpec{Hard: spec.Hard, Scopes: spec.Scopes, ScopeSelector: spec.ScopeSelector}
}

// print says where pods fit. The answer is no if they all fit nowhere.
func (o *Options) print(namespace string, replicas int64, places []place) error {
	page := o.env.Page(o.env.Out)
	if len(places) == 0 {
		page.Printf("No budget counts these pods in namespace %s: no limit of fedquota is in the way.\n", namespace)
		return page.Err()
	}
	t := &text.Table{Header: []string{"CLUSTER", "AT ONCE", "AFTER A RAISE", fmt.Sprintf("ALL %d FIT", replicas), "NOTE"}}
	fits := false
	for _, p := range places {
		answer := text.Cell{Text: "no", Style: text.Red}
		switch {
		case p.now >= replicas:
			answer, fits = text.Cell{Text: "at once", Style: text.Green}, true
		case p.raised >= replicas:
			answer, fits = text.Cell{Text: "after a raise", Style: text.Green}, true
		}
		t.Cells(text.Cell{Text: p.name}, text.Cell{Text: number(p.now, replicas)}, text.Cell{Text: number(max(p.now, p.raised), replicas)}, answer,
			text.Cell{Text: p.why})
	}
	page.Print(t)
	if err := page.Err(); err != nil || fits {
		return err
	}
	return cli.ErrNo
}

// number says how many fit. More than are asked for are not told apart.
func number(count, replicas int64) string {
	if count > replicas {
		return fmt.Sprintf("%d or more", replicas)
	}
	return fmt.Sprint(count)
}
