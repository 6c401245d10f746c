// Package adopt makes a FederatedQuota out of the ResourceQuotas that are there.
package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/plan"
	"github.com/fedquota/fedquota/internal/nativequota"
)

const (
	long = `Make a FederatedQuota out of the ResourceQuotas of one name that clusters have in the namespace.
The budget is the sum of their limits. Each cluster is guaranteed what it has, and lends what
it does not use. It prints the FederatedQuota, and what becomes of limits.

Is the FederatedQuota there already? Then it stays as it is, but for
spec.existingQuotas.whenToTakeOver, which becomes Always.

With --apply it writes the FederatedQuota. The agents take the ResourceQuotas over in place, once
the hub has charged their limits: no cluster is without a limit, or at zero, in between. Run it on
the hub. It reads resourcequotas in the clusters, by their kubeconfigs on the hub.

It ends with 2 if the budget is not enforced within --timeout.`

	example = `  # Look at the FederatedQuota, and at what becomes of limits
  kubectl fedquota adopt compute -n team-a --clusters east,west

  # Do it
  kubectl fedquota adopt compute -n team-a --clusters east,west --apply`
)

// Options says what to adopt.
type Options struct {
	env      *cli.Env
	live     live.Options
	clusters []string
	apply    bool
	timeout  cli.Patience
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "adopt NAME --clusters CLUSTER,...",
		Short:   "Make a FederatedQuota out of the ResourceQuotas that are there",
		Long:    long,
		Example: example,
		Args:    cobra.ExactArgs(1),
		RunE:    func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.clusters, "clusters", nil, "Clusters that shall share the budget.")
	flags.BoolVar(&o.apply, "apply", false, "Do it. Without it nothing is written.")
	o.timeout.Bind(flags, 2*time.Minute, "How long to wait until the budget is enforced. 0 does not wait.")
	_ = command.MarkFlagRequired("clusters")
	env.CompleteAPIClusterList(command, "clusters", &o.live.Clusters)
	o.live.Bind(flags)
	return command
}

// held is the ResourceQuota of a cluster.
type held struct {
	cluster string
	quota   *corev1.ResourceQuota
}

// check says whether the flags name clusters, each of them once.
func (o *Options) check() error {
	if len(o.clusters) == 0 {
		return errors.New("--clusters: must name a Cluster, or several with commas between")
	}
	for i, cluster := range o.clusters {
		if slices.Contains(o.clusters[:i], cluster) {
			return fmt.Errorf("--clusters %s: names %s twice", strings.Join(o.clusters, ","), cluster)
		}
	}
	return nil
}

func (o *Options) run(ctx context.Context, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	hub, namespace, err := o.env.ClientAndNamespace()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	stored := &quotav1alpha1.FederatedQuota{}
	if err := hub.Get(ctx, key, stored); apierrors.IsNotFound(err) {
		stored = nil
	} else if err != nil {
		return cli.Served(err)
	}
	quotas, err := o.read(ctx, hub, key)
	if err != nil {
		return err
	}
	fq, err := o.wanted(key, stored, quotas)
	if err != nil {
		return err
	}
	sound, err := plan.Show(ctx, o.env, hub, fq, o.live)
	switch {
	case err != nil:
		return err
	case !sound:
		return errors.New("the hub manager would not act on it: nothing was written")
	case !o.apply:
		_, err := fmt.Fprintln(o.env.ErrOut, "\nNothing was written: --apply does it.")
		return err
	}
	return o.take(ctx, hub, stored, fq)
}

// wanted returns the budget as it shall be, and prints what is to be written of it. stored is nil if there is none yet.
func (o *Options) wanted(
	key client.ObjectKey, stored *quotav1alpha1.FederatedQuota, quotas []held,
) (*quotav1alpha1.FederatedQuota, error) {
	if stored == nil {
		fq := budgetOf(key, o.clusters, quotas)
		return fq, o.write(fq)
	}
	for _, h := range quotas {
		if err := h.fits(stored); err != nil {
			return nil, err
		}
	}
	fq := stored.DeepCopy()
	fq.Spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	_, err := fmt.Fprintf(o.env.Out, "FederatedQuota %s is there: its spec.existingQuotas.whenToTakeOver becomes %s\n", key, quotav1alpha1.TakeOverAlways)
	return fq, err
}

// fits returns why a budget that is there cannot take the place of what limits a cluster.
func (h held) fits(fq *quotav1alpha1.FederatedQuota) error {
	counts := &corev1.ResourceQuotaSpec{Scopes: fq.Spec.Scopes, ScopeSelector: fq.Spec.ScopeSelector}
	if !nativequota.SameScopes(counts, &h.quota.Spec) {
		return fmt.Errorf("cluster %s: the ResourceQuota has other scopes than the FederatedQuota, which cannot be changed", h.cluster)
	}
	var beyond []string
	for name := range h.quota.Spec.Hard {
		if _, limited := fq.Spec.Hard[name]; !limited {
			beyond = append(beyond, string(name))
		}
	}
	if len(beyond) > 0 {
		slices.Sort(beyond)
		return fmt.Errorf("cluster %s: the ResourceQuota also limits %s: add that to spec.hard of the FederatedQuota first", h.cluster, strings.Join(beyond, ", "))
	}
	return nil
}

// read reads the ResourceQuotas, and sees that they can be adopted.
func (o *Options) read(ctx context.Context, hub client.Client, key client.ObjectKey) ([]held, error) {
	var quotas []held
	for _, cluster := range o.clusters {
		c, err := o.env.Member(ctx, hub, o.live.Clusters.Key(cluster))
		if err != nil {
			return nil, err
		}
		var list corev1.ResourceQuotaList
		if err := c.List(ctx, &list, client.InNamespace(key.Namespace)); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cluster, err)
		}
		h := held{cluster: cluster}
		var others []string
		for i := range list.Items {
			if list.Items[i].Name == key.Name {
				h.quota = &list.Items[i]
			} else {
				others = append(others, list.Items[i].Name)
			}
		}
		switch {
		case h.quota == nil:
			return nil, fmt.Errorf("cluster %s has no ResourceQuota %s: it can join the budget later, by kubectl fedquota join", cluster, key)
		case nativequota.IsManaged(h.quota):
			return nil, fmt.Errorf("cluster %s: ResourceQuota %s is managed by fedquota already", cluster, key)
		case len(others) > 0:
			_, _ = fmt.Fprintf(o.env.ErrOut, "Cluster %s has other ResourceQuotas in the namespace, which go on limiting it: %s\n", cluster, strings.Join(others, ", "))
		}
		if first := quotas; len(first) > 0 && !nativequota.SameScopes(&first[0].quota.Spec, &h.quota.Spec) {
			return nil, fmt.Errorf("the ResourceQuotas of %s and %s have other scopes: a budget has the same in all clusters", first[0].cluster, cluster)
		}
		quotas = append(quotas, h)
	}
	return quotas, nil
}

// budgetOf returns the budget that has what the clusters have, each of which is guaranteed its part and lends it.
func budgetOf(key client.ObjectKey, clusters []string, quotas []held) *quotav1alpha1.FederatedQuota {
	fq := &quotav1alpha1.FederatedQuota{}
	fq.APIVersion, fq.Kind = quotav1alpha1.GroupVersion.String(), "FederatedQuota"
	fq.Namespace, fq.Name = key.Namespace, key.Name
	fq.Spec.Hard = corev1.ResourceList{}
	fq.Spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	for _, cluster := range clusters {
		fq.Spec.Placement.Clusters = append(fq.Spec.Placement.Clusters, quotav1alpha1.ClusterName(cluster))
	}
	for _, h := range quotas {
		fq.Spec.Scopes, fq.Spec.ScopeSelector = h.quota.Spec.Scopes, h.quota.Spec.ScopeSelector
		for name, limit := range h.quota.Spec.Hard {
			sum := fq.Spec.Hard[name]
			sum.Add(limit)
			fq.Spec.Hard[name] = sum
		}
		fq.Spec.Distribution.Rules = append(fq.Spec.Distribution.Rules, quotav1alpha1.DistributionRule{
			Clusters: []quotav1alpha1.ClusterName{quotav1alpha1.ClusterName(h.cluster)},
			RuleTerms: quotav1alpha1.RuleTerms{
				Min: h.quota.Spec.Hard, Lendable: h.quota.Spec.Hard,
			},
		})
	}
	return fq
}

// write prints the FederatedQuota.
func (o *Options) write(fq *quotav1alpha1.FederatedQuota) error {
	content, err := yaml.Marshal(fq)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "status:") {
			out.WriteString(line)
		}
	}
	_, err = out.WriteTo(o.env.Out)
	return err
}

// take writes the budget, and waits until it is enforced.
func (o *Options) take(ctx context.Context, hub client.Client, stored, fq *quotav1alpha1.FederatedQuota) error {
	page := o.env.Page(o.env.ErrOut)
	if stored == nil {
		if err := hub.Create(ctx, fq); err != nil {
			return err
		}
		page.Printf("\nfederatedquota/%s created in %s\n", fq.Name, fq.Namespace)
	} else {
		if err := hub.Patch(ctx, fq, client.MergeFrom(stored)); err != nil {
			return err
		}
		page.Printf("\nfederatedquota/%s changed in %s\n", fq.Name, fq.Namespace)
	}
	if o.timeout == 0 {
		return page.Err()
	}
	err := o.timeout.Poll(ctx, func(ctx context.Context) (bool, error) {
		now := &quotav1alpha1.FederatedQuota{}
		err := hub.Get(ctx, client.ObjectKeyFromObject(fq), now)
		ready := apimeta.FindStatusCondition(now.Status.Conditions, quotav1alpha1.ConditionReady)
		return err == nil && ready != nil && ready.Status == metav1.ConditionTrue &&
			ready.ObservedGeneration == now.Generation, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		page.Printf("it is not enforced everywhere yet: kubectl fedquota describe %s -n %s\n", fq.Name, fq.Namespace)
		return cli.ErrNo
	}
	if err == nil {
		page.Printf("every cluster enforces its part\n")
		err = page.Err()
	}
	return err
}
