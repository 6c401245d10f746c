// Package convert makes FederatedQuotas out of the quotas of other systems.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

const (
	long = `Make FederatedQuotas out of the quotas of other systems, as YAML:

  Karmada    FederatedResourceQuota    policy.karmada.io
  OpenShift  ClusterResourceQuota      quota.openshift.io
  HNC        HierarchicalResourceQuota hnc.x-k8s.io
  Capsule    Tenant, its resourceQuotas capsule.clastix.io

With --pools it makes QuotaPools of what limits many namespaces together, and reads these, too:

  HNC        SubnamespaceAnchor, HierarchyConfiguration: which pool is below which
  Capsule    ResourcePool
  Kueue      Cohort, ClusterQueue      kueue.x-k8s.io

A comment stands above an object for each field that has no equal. Nothing is read
from a cluster, and nothing is written to one. Look at the placement, which those systems
do not have: see with kubectl fedquota plan what applying the result would do.`

	example = `  # Look at what comes of it
  kubectl fedquota convert -f quotas.yaml

  # Tenants and trees as pools
  kubectl fedquota convert -f tenants.yaml --pools

  # What applying it would do
  kubectl fedquota convert -f quotas.yaml --selector tier=prod | kubectl fedquota plan -f -`
)

// Options says what to convert.
type Options struct {
	env      *cli.Env
	file     string
	selector map[string]string
	pools    bool
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "convert -f FILE",
		Short:   "Make FederatedQuotas out of the quotas of other systems",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	command.Flags().StringVarP(&o.file, "filename", "f", "", "File with the quotas, or - for standard input.")
	command.Flags().StringToStringVar(&o.selector, "selector", nil, "Labels of the Clusters that shall share the budgets. All Clusters without it.")
	command.Flags().BoolVar(&o.pools, "pools", false, "Make QuotaPools of what limits many namespaces together.")
	_ = command.MarkFlagRequired("filename")
	return command
}

// result is a FederatedQuota, and what could not be said in it.
type result struct {
	from     string
	quota    quotav1alpha1.FederatedQuota
	comments []string
}

// lost notes a field that has no equal.
func (r *result) lost(format string, args ...any) {
	r.comments = append(r.comments, fmt.Sprintf(format, args...))
}

// converter converts objects of a kind. It knows some fields of their spec.
type converter struct {
	convert func(*object) ([]result, error)
	knows   []string
}

// converters are those of the kinds, by group and kind.
var converters = map[string]converter{
	"policy.karmada.io/FederatedResourceQuota": {karmada, []string{"overall", "staticAssignments"}},
	"quota.openshift.io/ClusterResourceQuota":  {openShift, []string{"quota", "selector"}},
	"hnc.x-k8s.io/HierarchicalResourceQuota":   {hierarchical, []string{"hard", "scopes", "scopeSelector"}},
	"capsule.clastix.io/Tenant":                {capsule, []string{"resourceQuotas"}},
}

// of converts an object, and notes the fields that are not known.
func (c converter) of(o *object) ([]result, error) {
	results, err := c.convert(o)
	if err != nil {
		return nil, err
	}
	others, err := o.others(c.knows...)
	for i := range results {
		if len(others) > 0 {
			results[i].lost("spec.%s: not taken over", strings.Join(others, ", spec."))
		}
	}
	return results, err
}

func (o *Options) run() error {
	objects, err := o.read()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if o.pools {
		if objects, err = o.writePools(&out, objects); err != nil {
			return fmt.Errorf("%s: %w", o.file, err)
		}
	}
	for _, object := range objects {
		converter, known := converters[object.group()+"/"+object.Kind]
		if !known {
			_, _ = fmt.Fprintf(o.env.ErrOut, "%s %s is left out: it is none of the quotas that are known\n", object.Kind, object.Name)
			continue
		}
		results, err := converter.of(object)
		if err != nil {
			return fmt.Errorf("%s: %s %s: %w", o.file, object.Kind, object.Name, err)
		}
		for i := range results {
			if err := o.write(&out, &results[i]); err != nil {
				return err
			}
		}
	}
	if out.Len() == 0 {
		return errors.New(o.file + ": there is no quota in it that is known: see kubectl fedquota convert --help")
	}
	_, err = out.WriteTo(o.env.Out)
	return err
}

// read reads the objects of the file.
func (o *Options) read() ([]*object, error) {
	documents, err := o.env.Documents(o.file)
	if err != nil {
		return nil, err
	}
	objects := make([]*object, len(documents))
	for i, document := range documents {
		if objects[i], err = objectOf(document); err != nil {
			return nil, fmt.Errorf("%s: %w", o.file, err)
		}
	}
	return objects, nil
}

// write writes a FederatedQuota with its comments.
func (o *Options) write(out *bytes.Buffer, r *result) error {
	r.quota.APIVersion, r.quota.Kind = quotav1alpha1.GroupVersion.String(), "FederatedQuota"
	if len(r.quota.Spec.Placement.Clusters) == 0 {
		r.quota.Spec.Placement.ClusterSelector = selectorOf(o.selector)
		if len(o.selector) == 0 {
			r.lost("spec.placement.clusterSelector: {} selects all Clusters; choose those that shall share the budget")
		}
	}
	return writeYAML(out, r.from, r.comments, &r.quota)
}

// writeYAML writes an object with comments above it.
func writeYAML(out *bytes.Buffer, from string, comments []string, object any) error {
	content, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "---\n# Made of %s.\n", from)
	for _, comment := range comments {
		for _, line := range text.Wrap(comment, text.Width-2) {
			fmt.Fprintf(out, "# %s\n", line)
		}
	}
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "status:") && !strings.Contains(line, "creationTimestamp: null") {
			out.WriteString(line)
		}
	}
	return nil
}

// scopes takes over scopes that a FederatedQuota has as well.
func (r *result) scopes(spec *corev1.ResourceQuotaSpec) {
	r.quota.Spec.Scopes, r.quota.Spec.ScopeSelector = spec.Scopes, spec.ScopeSelector
}
