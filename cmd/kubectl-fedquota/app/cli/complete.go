package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// reader returns names that somebody may want to complete.
type reader func(context.Context, client.Client) ([]string, error)

// namesIn returns the names of the objects of a list.
func namesIn(
	ctx context.Context, c client.Client, list client.ObjectList, options ...client.ListOption,
) ([]string, error) {
	var names []string
	err := c.List(ctx, list, options...)
	_ = apimeta.EachListItem(list, func(object runtime.Object) error {
		names = append(names, object.(client.Object).GetName())
		return nil
	})
	return names, err
}

// CompleteNames completes the first argument with names of budgets.
func (e *Env) CompleteNames(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return e.first(func(ctx context.Context, c client.Client) ([]string, error) {
		objects, err := e.all(ctx, c)
		var names []string
		for _, object := range objects {
			names = append(names, object.GetName())
		}
		return names, err
	})(command, args, prefix)
}

// CompletePools completes the first argument with names of pools.
func (e *Env) CompletePools() cobra.CompletionFunc {
	return e.first(func(ctx context.Context, c client.Client) ([]string, error) {
		return namesIn(ctx, c, &quotav1alpha1.QuotaPoolList{})
	})
}

// CompleteWorkloads completes the first argument with names of Deployments, StatefulSets and Jobs.
func (e *Env) CompleteWorkloads() cobra.CompletionFunc {
	return e.first(func(ctx context.Context, c client.Client) ([]string, error) {
		namespace, err := e.Namespace()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &batchv1.JobList{}} {
			some, _ := namesIn(ctx, c, list, client.InNamespace(namespace)) // what can be read is of use, too
			names = append(names, some...)
		}
		return names, nil
	})
}

// CompleteAPIClusters completes the first argument with names of Clusters.
func (e *Env) CompleteAPIClusters(namespaces *members.Namespaces) cobra.CompletionFunc {
	return e.first(func(ctx context.Context, c client.Client) ([]string, error) {
		clusters, err := namespaces.List(ctx, c)
		var names []string
		for _, cluster := range clusters {
			names = append(names, cluster.Name)
		}
		return names, err
	})
}

// CompleteBudgets completes a flag that takes names of budgets, with commas between them.
func (e *Env) CompleteBudgets(command *cobra.Command, flag string) {
	completeList(command, flag, e.CompleteNames)
}

// CompleteAPIClusterList completes a flag that takes names of Clusters, with commas between them.
func (e *Env) CompleteAPIClusterList(command *cobra.Command, flag string, namespaces *members.Namespaces) {
	completeList(command, flag, e.CompleteAPIClusters(namespaces))
}

// CompleteClusters completes a flag with names of the clusters of the budgets.
func (e *Env) CompleteClusters(command *cobra.Command, flag string) {
	e.completeFlag(command, flag, func(object client.Object, names sets.Set[string]) {
		if fq, ok := object.(*quotav1alpha1.FederatedQuota); ok {
			for _, c := range fq.Status.Clusters {
				names.Insert(string(c.Name))
			}
		}
	})
}

// CompleteResources completes a flag with the resource names of the budgets.
func (e *Env) CompleteResources(command *cobra.Command, flag string) {
	e.completeFlag(command, flag, func(object client.Object, names sets.Set[string]) {
		hard := corev1.ResourceList{}
		switch object := object.(type) {
		case *quotav1alpha1.FederatedQuota:
			hard = object.Spec.Hard
		case *quotav1alpha1.QuotaShare:
			hard = object.Spec.Hard
		}
		for name := range hard {
			names.Insert(string(name))
		}
	})
}

// completeList completes the last word of a list, with commas between words, as an argument is completed.
func completeList(command *cobra.Command, flag string, argument cobra.CompletionFunc) {
	last := func(command *cobra.Command, _ []string, list string) ([]string, cobra.ShellCompDirective) {
		done := list[:strings.LastIndex(list, ",")+1]
		names, directive := argument(command, nil, list[len(done):])
		for i := range names {
			names[i] = done + names[i]
		}
		return names, directive | cobra.ShellCompDirectiveNoSpace
	}
	utilruntime.Must(command.RegisterFlagCompletionFunc(flag, last))
}

// completeFlag completes a flag with the names that collect finds in the budgets of the namespace.
func (e *Env) completeFlag(command *cobra.Command, flag string, collect func(client.Object, sets.Set[string])) {
	read := func(ctx context.Context, c client.Client) ([]string, error) {
		objects, err := e.all(ctx, c)
		names := sets.New[string]()
		for _, object := range objects {
			collect(object, names)
		}
		return sets.List(names), err
	}
	utilruntime.Must(command.RegisterFlagCompletionFunc(flag, e.names(read)))
}

// all returns the budgets, or the shares, of the namespace.
func (e *Env) all(ctx context.Context, c client.Client) ([]client.Object, error) {
	namespace, err := e.Namespace()
	if err != nil {
		return nil, err
	}
	held, err := FindAll(ctx, c, namespace, AnyKind)
	return held.Objects(), err
}

// first completes the first argument, and no other one.
func (e *Env) first(read reader) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return e.names(read)(command, args, prefix)
	}
}

// names completes with the names that read gives and that begin with the prefix. A shell has no use for errors.
func (e *Env) names(read reader) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
		defer cancel()
		var names []string
		if c, err := e.Client(); err == nil {
			if names, err = read(ctx, c); err != nil {
				names = nil
			}
		}
		others := func(name string) bool { return !strings.HasPrefix(name, prefix) }
		return slices.DeleteFunc(names, others), cobra.ShellCompDirectiveNoFileComp
	}
}
