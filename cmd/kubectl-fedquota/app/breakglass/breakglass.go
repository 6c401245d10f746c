// Package breakglass takes a ResourceQuota out of the agent's hands, in a member, and gives it back.
package breakglass

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/nativequota"
)

const (
	long = `Take a ResourceQuota out of the agent's hands, with a reason, so that you can raise it: for
when something must be created now and the hub cannot be asked. Run it in the member. It
needs the right to patch resourcequotas.

The reason is kept on the ResourceQuota and told on the hub. The hub counts what is
created meanwhile, which may become debt, and does not raise this cluster. End it with
kubectl fedquota mend.`

	example = `  # Say why, and raise the limit of pods to 25
  kubectl fedquota break-glass compute -n team-a --reason "incident 4711: release must go out" --hard pods=25

  # Say why alone: others may change the ResourceQuota then
  kubectl fedquota break-glass compute -n team-a --reason "incident 4711"`
)

// Options says what to break.
type Options struct {
	env    *cli.Env
	reason string
	hard   []string
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:               "break-glass NAME --reason REASON",
		Short:             "Take a ResourceQuota out of the agent's hands, in a member",
		Long:              long,
		Example:           example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	command.Flags().StringVar(&o.reason, "reason", "", "Why. It is told on the hub.")
	command.Flags().StringSliceVar(&o.hard, "hard", nil, "Limits to set, as in pods=25,requests.cpu=20.")
	_ = command.MarkFlagRequired("reason")
	return command
}

func (o *Options) run(ctx context.Context, name string) error {
	if strings.TrimSpace(o.reason) == "" {
		return errors.New("--reason: must not be empty: it is what others read of why the limit is another one")
	}
	hard, err := parse(o.hard)
	if err != nil {
		return err
	}
	c, quota, err := managed(ctx, o.env, name)
	if err != nil {
		return err
	}
	for resource := range hard {
		if _, limited := quota.Spec.Hard[resource]; !limited {
			return fmt.Errorf("--hard %s: ResourceQuota %s does not limit it, it limits %s", resource, name, text.Join(quota.Spec.Hard))
		}
	}
	// First the reason alone: only then the guard lets anybody change the limits.
	if err := annotate(ctx, c, quota, o.reason); err != nil {
		return err
	}
	if len(hard) > 0 {
		if err := c.Patch(ctx, quota, patches.Merge{"spec": map[string]any{"hard": hard}}); err != nil {
			return fmt.Errorf("the glass is broken, but the limits were not changed: %w", err)
		}
	}
	page := o.env.Page(o.env.Out)
	page.Printf("resourcequota/%s: the glass is broken\n", name)
	if len(hard) > 0 {
		page.Printf("  limits set: %s\n", text.Join(hard))
	}
	page.Paragraph(2, text.Plain, "The agent leaves it alone, and the hub does not raise this cluster. What is created now counts against the budget.")
	page.Printf("  End it: kubectl fedquota mend %s -n %s\n", name, quota.Namespace)
	return page.Err()
}

// parse reads limits as they are written on a command line.
func parse(pairs []string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		quantity, err := resource.ParseQuantity(value)
		if !ok || err != nil || quantity.Sign() < 0 {
			return nil, fmt.Errorf("--hard %q: must be NAME=QUANTITY, as in pods=25", pair)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// managed returns a ResourceQuota that the agent manages.
func managed(ctx context.Context, env *cli.Env, name string) (client.Client, *corev1.ResourceQuota, error) {
	c, namespace, err := env.ClientAndNamespace()
	if err != nil {
		return nil, nil, err
	}
	quota := &corev1.ResourceQuota{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, quota); err != nil {
		return nil, nil, err
	}
	if !nativequota.IsManaged(quota) {
		return nil, nil, fmt.Errorf("ResourceQuota %s/%s is not managed by fedquota: change it as you like", namespace, name)
	}
	return c, quota, nil
}

// annotate sets the reason, or takes it off if it is empty.
func annotate(ctx context.Context, c client.Client, quota *corev1.ResourceQuota, reason string) error {
	var value any
	if reason != "" {
		value = reason
	}
	annotations := map[string]any{quotav1alpha1.BreakGlassAnnotation: value}
	return c.Patch(ctx, quota, patches.Merge{"metadata": map[string]any{"annotations": annotations}})
}
