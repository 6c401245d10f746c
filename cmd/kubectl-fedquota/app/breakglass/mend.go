package breakglass

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/internal/nativequota"
)

const (
	longMend = `Give a ResourceQuota back to the agent after kubectl fedquota break-glass. The agent enforces
the share again, or what is used where that is more; the limit then follows usage down. Run
it in the member.

It waits until the share is enforced, and ends with 2 if that takes longer than --timeout.`

	exampleMend = `  # End it, and wait for the agent
  kubectl fedquota mend compute -n team-a

  # End it, and do not wait
  kubectl fedquota mend compute -n team-a --timeout 0`
)

// NewMendCommand returns the command that ends it.
func NewMendCommand(env *cli.Env) *cobra.Command {
	var timeout cli.Patience
	command := &cobra.Command{
		Use:               "mend NAME",
		Short:             "Give a ResourceQuota back to the agent, in a member",
		Long:              longMend,
		Example:           exampleMend,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE: func(command *cobra.Command, args []string) error {
			return mend(command.Context(), env, args[0], timeout)
		},
	}
	timeout.Bind(command.Flags(), 30*time.Second, "How long to wait for the agent. 0 does not wait.")
	return command
}

func mend(ctx context.Context, env *cli.Env, name string, timeout cli.Patience) error {
	c, quota, err := managed(ctx, env, name)
	if err != nil {
		return err
	}
	page := env.Page(env.Out)
	reason := nativequota.BrokenGlass(quota)
	if reason == "" {
		page.Printf("resourcequota/%s: the glass is not broken\n", name)
		return page.Err()
	}
	if err := annotate(ctx, c, quota, ""); err != nil {
		return err
	}
	page.Printf("resourcequota/%s: the glass is mended; it was broken for %q\n", name, reason)
	if timeout == 0 {
		return page.Err()
	}
	share := &quotav1alpha1.QuotaShare{}
	err = timeout.Poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(quota), share)
		return err == nil && enforces(share), err
	})
	if wait.Interrupted(err) {
		page.Paragraph(2, text.Yellow, "The agent does not enforce the share yet. See: kubectl fedquota describe "+name+" -n "+quota.Namespace)
		return cli.ErrNo
	}
	if err != nil {
		return fmt.Errorf("waiting for the agent: %w", err)
	}
	inForce(page, share)
	return page.Err()
}

// enforces says whether the agent enforces the share again.
func enforces(share *quotav1alpha1.QuotaShare) bool {
	enforced := apimeta.FindStatusCondition(share.Status.Conditions, quotav1alpha1.ConditionEnforced)
	return enforced != nil && enforced.Status == metav1.ConditionTrue && share.Status.Revision == share.Spec.Revision &&
		!apimeta.IsStatusConditionTrue(share.Status.Conditions, quotav1alpha1.ConditionBreakGlass)
}

// inForce prints what is in force now.
func inForce(page *text.Page, share *quotav1alpha1.QuotaShare) {
	page.Printf("  in force: %s\n", text.Join(share.Status.Hard))
	above := corev1.ResourceList{}
	for name, limit := range share.Status.Hard {
		if target := share.Spec.Hard[name]; limit.Cmp(target) > 0 {
			above[name] = target
		}
	}
	if len(above) > 0 {
		page.Paragraph(2, text.Plain, "More is used than the share allows: these limits follow usage down to "+text.Join(above)+".")
	}
}
