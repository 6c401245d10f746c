// Package version says which versions there are: of this program, of the hub manager and of every agent.
package version

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/live"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/bundle"
)

const (
	long = `Say which versions there are: of this program, of the hub manager, and of the agent in every
member, by the images that their Deployments name. Run it on the hub, or in a member.

It needs the right to get deployments in the namespace of hub manager and agents, and
for members the right to get their kubeconfig Secrets on the hub. What it may not read
is left out, with a word on why.

It ends with 2 if versions differ.`

	example = `  # All versions
  kubectl fedquota version

  # That of this program alone, which asks nobody
  kubectl fedquota version --client`
)

// hubDeployment is the name of the hub manager's Deployment.
const hubDeployment = "fedquota-hub"

// Options says what to show.
type Options struct {
	env    *cli.Env
	live   live.Options
	client bool
	output cli.Output
}

// NewCommand returns the command.
func NewCommand(env *cli.Env) *cobra.Command {
	o := &Options{env: env}
	command := &cobra.Command{
		Use:     "version",
		Short:   "Say which versions of plugin, hub manager and agents there are",
		Long:    long,
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return o.run(command.Context()) },
	}
	command.Flags().BoolVar(&o.client, "client", false, "Show the version of this program alone.")
	o.output.Bind(command)
	o.live.Bind(command.Flags())
	return command
}

// Component is one that has a version.
type Component struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster,omitempty"`
	Version string `json:"version"`
	Note    string `json:"note,omitempty"`

	// failed says that the note is why it is not known.
	failed bool
}

func (o *Options) run(ctx context.Context) error {
	components := []Component{o.own()}
	var unreached error
	if !o.client {
		c, err := o.env.Client()
		if err == nil {
			components = append(components, o.others(ctx, c)...)
		}
		unreached = err
	}
	differ := skewed(components)
	if err := o.output.Print(o.env.Out, components, func() error { return o.print(components) }); err != nil {
		return err
	}
	if differ {
		return cli.ErrNo
	}
	return unreached
}

// own returns the version of this program.
func (o *Options) own() Component {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	note := cmp.Or(o.env.Build.Platform, fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	if o.env.Build.Commit != "" {
		note = "commit " + o.env.Build.Commit + ", " + note
	}
	return Component{Name: "kubectl-fedquota", Version: cmp.Or(o.env.Build.Version, info.Main.Version, "unknown"), Note: note}
}

// others returns the versions of what runs in clusters.
func (o *Options) others(ctx context.Context, c client.Client) []Component {
	clusters, err := o.live.Clusters.List(ctx, c)
	if apimeta.IsNoMatchError(err) {
		return []Component{o.deployed(ctx, c, "agent", "this one", bundle.DeploymentName)}
	}
	components := []Component{o.deployed(ctx, c, "hub manager", "hub", hubDeployment)}
	if err != nil {
		return append(components, Component{Name: "agents", Version: "unknown", Note: said(err), failed: true})
	}
	agents := make([]Component, len(clusters))
	indices := make([]int, len(agents))
	for i := range indices {
		indices[i] = i
	}
	_ = members.ForEach(indices, func(i int) error {
		agents[i] = o.agent(ctx, c, clusters[i])
		return nil
	})
	return append(components, agents...)
}

// agent returns the version of the agent in a member.
func (o *Options) agent(ctx context.Context, hub client.Client, cluster members.Cluster) Component {
	member, err := o.env.Member(ctx, hub, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return Component{Name: "agent", Cluster: cluster.Name, Version: "unknown", Note: said(err), failed: true}
	}
	return o.deployed(ctx, member, "agent", cluster.Name, bundle.DeploymentName)
}

// deployed returns the version that a Deployment names.
func (o *Options) deployed(ctx context.Context, c client.Client, name, cluster, deployment string) Component {
	ctx, cancel := context.WithTimeout(ctx, cli.MemberTimeout)
	defer cancel()
	component := Component{Name: name, Cluster: cluster, Version: "unknown"}
	object := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: o.live.AgentNamespace, Name: deployment}, object)
	switch {
	case apierrors.IsNotFound(err):
		component.Note = "there is no Deployment " + o.live.AgentNamespace + "/" + deployment
	case err != nil:
		component.Note, component.failed = said(err), true
	case len(object.Spec.Template.Spec.Containers) > 0:
		image := object.Spec.Template.Spec.Containers[0].Image
		component.Version, component.Note = tagOf(image), image
	}
	return component
}

// said says shortly why something is not known.
func said(err error) string {
	if right := cli.MissingRight(err); right != "" {
		return "you lack the right to " + right
	}
	return err.Error()
}

// tagOf returns the tag of an image, or its digest, or "latest".
func tagOf(image string) string {
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return digest
	}
	_, tag, ok := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !ok {
		return "latest"
	}
	return tag
}

// skewed notes which agents have another version than the hub manager, and says whether there are any.
func skewed(components []Component) bool {
	want, skew := "", false
	for i := range components {
		c := &components[i]
		switch {
		case c.Version == "unknown":
		case c.Name == "hub manager":
			want = c.Version
		case c.Name == "agent" && want != "" && c.Version != want:
			c.Note, skew = "not the hub manager's "+want+": "+c.Note, true
		}
	}
	return skew
}

func (o *Options) print(components []Component) error {
	page := o.env.Page(o.env.Out)
	t := &text.Table{Header: []string{"COMPONENT", "CLUSTER", "VERSION", "NOTE"}}
	for _, c := range components {
		if c.failed {
			t.Row(c.Name, cmp.Or(c.Cluster, "-"), c.Version, "")
			t.Note(text.Plain, c.Note) // whole, where a cell would cut it
			continue
		}
		t.Row(c.Name, cmp.Or(c.Cluster, "-"), c.Version, c.Note)
	}
	page.Print(t)
	return page.Err()
}
