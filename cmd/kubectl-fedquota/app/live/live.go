// Package live reads what a round of the hub manager is decided on, with the rights of who asks.
package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/capacity"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// Options say where things are.
type Options struct {
	// Clusters says where the Clusters are, and AgentNamespace where agents run in members.
	Clusters       members.Namespaces
	AgentNamespace string
}

// Bind adds the flags.
func (o *Options) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.Clusters.Home, "cluster-namespace", "default", "Namespace of the Clusters and of their kubeconfig Secrets, on the hub.")
	flags.StringSliceVar(&o.Clusters.Further, "further-cluster-namespaces", nil, "Further such namespaces, as the hub manager has them.")
	flags.StringVar(&o.AgentNamespace, "agent-namespace", "fedquota-system", "Namespace of the agents in members.")
}

// Fleet is a budget with all that a round over it knows.
type Fleet struct {
	// Stored is the budget as the hub has it, nil if it has none yet.
	Stored *quotav1alpha1.FederatedQuota
	// Clusters are those of the hub, and Members what was read in each, by name.
	Clusters []members.Cluster
	Members  map[string]*Member
	// Hints say what could not be read, and what is taken instead.
	Hints []string

	options  Options
	now      time.Time
	siblings []quotav1alpha1.FederatedQuota
	nodes    map[string]*quotav1alpha1.ClusterCapacity
}

// Member is what was read in a member.
type Member struct {
	// Share is nil if there is none, and Quota the ResourceQuota of the name, if there is one.
	Share *quotav1alpha1.QuotaShare
	Quota *corev1.ResourceQuota
	// Err says why it could not be read.
	Err error
	// Client reads the member, nil if there is no way to it.
	Client client.WithWatch
}

// Read reads the hub and all members that may matter to a budget. stored is nil for a budget that does not exist yet.
func Read(
	ctx context.Context, env *cli.Env, hub client.Client,
	key client.ObjectKey, stored *quotav1alpha1.FederatedQuota, options Options,
) (*Fleet, error) {
	f, err := ReadHub(ctx, hub, env.Clock.Now(), key, stored, options)
	if err != nil {
		return nil, err
	}
	f.readMembers(ctx, env, hub, key)
	return f, nil
}

// errNotAsked is why a member was not read that nobody has asked.
var errNotAsked = errors.New("it was not asked")

// ReadHub reads the hub alone: of members it goes by what the hub has stored last.
func ReadHub(
	ctx context.Context, hub client.Reader, now time.Time,
	key client.ObjectKey, stored *quotav1alpha1.FederatedQuota, options Options,
) (*Fleet, error) {
	f := &Fleet{Stored: stored, Members: map[string]*Member{}, options: options, now: now}
	clusters, err := options.Clusters.List(ctx, hub)
	if err != nil {
		return nil, err
	}
	var siblings quotav1alpha1.FederatedQuotaList
	if err := hub.List(ctx, &siblings, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the FederatedQuotas in namespace %s: %w", key.Namespace, err)
	}
	f.Clusters, f.siblings = clusters, siblings.Items
	if f.nodes, err = capacity.Reports(ctx, hub, options.Clusters); err != nil && !apimeta.IsNoMatchError(err) {
		f.Hints = append(f.Hints, "what nodes can run is left out: "+err.Error())
	}
	for i := range f.Clusters {
		f.Members[f.Clusters[i].Name] = &Member{Err: errNotAsked}
	}
	return f, nil
}

// readMembers reads all Clusters at once.
func (f *Fleet) readMembers(ctx context.Context, env *cli.Env, hub client.Client, key client.ObjectKey) {
	_ = members.ForEach(f.Clusters, func(cluster members.Cluster) error {
		m := f.Members[cluster.Name]
		m.Client, m.Err = env.Member(ctx, hub, client.ObjectKeyFromObject(cluster))
		if m.Err == nil {
			m.Err = m.read(ctx, key)
		}
		return nil
	})
	var forbidden bool
	var silent []string
	for _, c := range f.Clusters {
		m := f.Members[c.Name]
		switch {
		case apierrors.IsForbidden(m.Err):
			forbidden = true
		case m.Err != nil && f.reachable(c.Name):
			silent = append(silent, c.Name)
		}
	}
	if forbidden {
		f.Hints = append(f.Hints, fmt.Sprintf("Members were not asked, which needs the right to get secrets in %s. "+
			"This goes by what the hub has stored of them last.", f.options.Clusters))
	}
	if len(silent) > 0 {
		f.Hints = append(f.Hints, fmt.Sprintf("The hub reaches clusters that you do not: %s. This goes by what the hub has stored of them last.",
			shares.Abbreviated(silent)))
	}
}

// reachable says whether the hub manager has reached a cluster in the last round that it stored.
func (f *Fleet) reachable(name string) bool {
	if f.Stored == nil {
		return false
	}
	status := view.EntryOf(f.Stored, name)
	return status != nil && status.State != quotav1alpha1.ClusterUnreachable && status.State != quotav1alpha1.ClusterUnread
}

// read reads the share, and the ResourceQuota of its name.
func (m *Member) read(ctx context.Context, key client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(ctx, cli.MemberTimeout)
	defer cancel()
	share, quota := &quotav1alpha1.QuotaShare{}, &corev1.ResourceQuota{}
	err := m.Client.Get(ctx, key, share)
	switch {
	case err == nil:
		m.Share = share
	case !apierrors.IsNotFound(err) && !members.IsAbsentKind(err):
		return err
	}
	if err := m.Client.Get(ctx, key, quota); err == nil {
		m.Quota = quota
	} else if !apierrors.IsNotFound(err) && m.Share == nil {
		return err
	}
	return nil
}

// Input returns what a round over a budget knows, its members read. The budget is the stored one, or one that is to
// take its place.
func (f *Fleet) Input(fq *quotav1alpha1.FederatedQuota) *shares.Input {
	standing, destroyed := f.sift()
	if f.nodes != nil {
		fq = fq.DeepCopy()
		input.FollowNodes(fq, standing, f.nodes)
	}
	in := input.Of(fq, &input.Surroundings{
		Clusters: standing, Destroyed: destroyed, Siblings: f.siblings, Holders: f.holders(), Expected: sets.New[string](),
		Agents: f.options.AgentNamespace, Epoch: ledger.Epoch(f.now), Nodes: f.nodes,
	})
	for i := range in.Children {
		c := &in.Children[i]
		c.Reading = f.reading(fq, c)
	}
	return in
}

// sift returns the Clusters without those that are said to be destroyed, which only counts of those that nobody
// reaches.
func (f *Fleet) sift() (standing []members.Cluster, destroyed sets.Set[string]) {
	destroyed = sets.New[string]()
	for _, c := range f.Clusters {
		if strings.TrimSpace(c.Annotations[quotav1alpha1.DestroyedAnnotation]) != "" && f.Members[c.Name].Err != nil {
			destroyed.Insert(c.Name)
			continue
		}
		standing = append(standing, c)
	}
	return standing, destroyed
}

// holders are the clusters that have a share of the budget.
func (f *Fleet) holders() sets.Set[string] {
	holders := sets.New[string]()
	for name, m := range f.Members {
		if m.Share != nil {
			holders.Insert(name)
		}
	}
	return holders
}
