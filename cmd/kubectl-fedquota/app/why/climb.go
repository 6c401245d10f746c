package why

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// climb says why a budget does not get more of the pools above it.
func climb(ctx context.Context, env *cli.Env, c client.Client, namespace, arg string, output cli.Output) error {
	object, err := cli.Find(ctx, c, namespace, arg)
	if err != nil {
		return err
	}
	climbs := cli.ClimbOf(ctx, c, object, view.Only{})
	var pool *view.Pool
	if fq, ok := object.(*quotav1alpha1.FederatedQuota); ok {
		pool = cli.PoolOf(ctx, c, fq, view.Only{})
	}
	show := func() error { return printClimbs(env.Page(env.Out), object, pool, climbs) }
	if err := output.Print(env.Out, climbs, show); err != nil {
		return err
	}
	if len(climbs) > 0 {
		return cli.ErrNo
	}
	return nil
}

func printClimbs(page *text.Page, object client.Object, pool *view.Pool, climbs []view.Climb) error {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	page.Printf("%s\n", page.Paint(text.Bold, object.GetObjectKind().GroupVersionKind().Kind+" "+name))
	if pool != nil {
		page.Paragraph(2, text.Plain, "Pool "+pool.Sentence()+".")
	}
	if len(climbs) == 0 && (pool == nil || pool.Entered) {
		page.Paragraph(2, text.Plain, "No pool is in its way: it is in none, or asks for no more than it has. See kubectl fedquota explain.")
	}
	for i := range climbs {
		climbs[i].Print(page)
	}
	return page.Err()
}
