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
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/schemes"
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
  kubectl fedquota fits -f deployment.yaml -n team-a

  # The same for a script
  kubectl fedquota fits -f deployment.yaml -n team-a -o json`
)

// Options says what is to fit.
type Options struct {
	env      *cli.Env
	live     live.Options
	file     string
	replicas int32
	cluster  string
	output   cli.Output
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
	o.output.Bind(command)
	o.live.Bind(flags)
	_ = command.MarkFlagRequired("filename")
	return command
}

func (o *Options) run(ctx context.Context) error {
	template, replicas, err := o.read()
	if err != nil {
		return err
	}
	c, namespace, err := o.env.ClientAndNamespace()
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
	var clusters []view.ClusterFit
	if held.Kind == cli.FederatedQuota {
		clusters, err = o.onHub(ctx, c, namespace, template, replicas, held.Budgets)
	} else {
		clusters, err = o.inMember(ctx, c, namespace, template, held.Shares)
	}
	if err != nil {
		return err
	}
	f := view.FitOf(namespace, replicas, clusters)
	if err := o.output.Print(o.env.Out, f, func() error { return o.print(f) }); err != nil || f.Fits {
		return err
	}
	return cli.ErrNo
}

// read returns the pods that are to fit.
func (o *Options) read() (*corev1.PodTemplateSpec, int64, error) {
	documents, err := o.env.Documents(o.file)
	if err != nil {
		return nil, 0, err
	}
	object, err := charge.Read(schemes.All(), documents)
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

// quotaSpec is the spec of a native quota that counts as a budget does.
func quotaSpec(spec *quotav1alpha1.FederatedQuotaSpec) *corev1.ResourceQuotaSpec {
	return &corev1.ResourceQuotaSpec{Hard: spec.Hard, Scopes: spec.Scopes, ScopeSelector: spec.ScopeSelector}
}

// print says where pods fit.
func (o *Options) print(f *view.Fit) error {
	page := o.env.Page(o.env.Out)
	if len(f.Clusters) == 0 {
		page.Printf("No budget counts these pods in namespace %s: no limit of fedquota is in the way.\n", f.Namespace)
		return page.Err()
	}
	all := fmt.Sprintf("ALL %d FIT", f.Replicas)
	t := &text.Table{Header: []string{"CLUSTER", "AT ONCE", "AFTER A RAISE", all, "NOTE"}}
	for _, c := range f.Clusters {
		answer := text.Cell{Text: "no", Style: text.Red}
		switch {
		case c.AtOnce >= f.Replicas:
			answer = text.Cell{Text: "at once", Style: text.Green}
		case c.AfterRaise >= f.Replicas:
			answer = text.Cell{Text: "after a raise", Style: text.Green}
		}
		fits := text.Plains(c.Cluster, number(c.AtOnce, f.Replicas), number(c.AfterRaise, f.Replicas))
		t.Cells(append(fits, answer, text.Cell{Text: c.Note})...)
	}
	page.Print(t)
	return page.Err()
}

// number says how many fit. More than are asked for are not told apart.
func number(count, replicas int64) string {
	if count > replicas {
		return fmt.Sprintf("%d or more", replicas)
	}
	return fmt.Sprint(count)
}
