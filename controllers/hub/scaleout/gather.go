package scaleout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
	"github.com/fedquota/fedquota/internal/scaleout"
	"github.com/fedquota/fedquota/internal/validate"
)

// kind says how budgets of a kind are read.
type kind struct {
	name string
	read func(ctx context.Context, reader client.Reader, key client.ObjectKey) (*subject, error)
	// spread fills in whose nodes count for the budget, and who uses it.
	spread func(ctx context.Context, reader client.Reader, s *subject, clusters []members.Cluster) error
}

var (
	quotas = kind{name: "scaleout", read: readQuota, spread: spreadQuota}
	pools  = kind{name: "scaleout-pool", read: readPool, spread: spreadPool}
)

func readQuota(ctx context.Context, reader client.Reader, key client.ObjectKey) (*subject, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := reader.Get(ctx, key, fq); err != nil {
		return nil, err
	}
	return &subject{
		Object: fq, Budget: OfQuota(fq), observed: fq.Status.ObservedGeneration,
		status: &fq.Status.ScaleOut, conditions: &fq.Status.Conditions,
	}, nil
}

func spreadQuota(_ context.Context, _ client.Reader, s *subject, clusters []members.Cluster) error {
	fq := s.Object.(*quotav1alpha1.FederatedQuota)
	selected, _ := input.Placed(fq, clusters)
	s.clusters, s.quotas = byName(selected), []*quotav1alpha1.FederatedQuota{fq}
	return nil
}

func readPool(ctx context.Context, reader client.Reader, key client.ObjectKey) (*subject, error) {
	p := &quotav1alpha1.QuotaPool{}
	if err := reader.Get(ctx, key, p); err != nil {
		return nil, err
	}
	return &subject{
		Object: p, Budget: OfPool(p), observed: p.Status.ObservedGeneration,
		status: &p.Status.ScaleOut, conditions: &p.Status.Conditions,
	}, nil
}

func spreadPool(ctx context.Context, reader client.Reader, s *subject, clusters []members.Cluster) error {
	var below quotav1alpha1.QuotaPoolList
	if err := reader.List(ctx, &below, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing QuotaPools: %w", err)
	}
	var all quotav1alpha1.FederatedQuotaList
	if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing FederatedQuotas: %w", err)
	}
	s.quotas = Below(s.GetName(), below.Items, all.Items)
	s.clusters = ClustersOf(s.Object.(*quotav1alpha1.QuotaPool), clusters)
	return nil
}

// Below returns the FederatedQuotas below a pool, whichever pools are between them.
func Below(
	pool string, pools []quotav1alpha1.QuotaPool, all []quotav1alpha1.FederatedQuota,
) (quotas []*quotav1alpha1.FederatedQuota) {
	parents := validate.Parents{}
	for i := range pools {
		parents[quotav1alpha1.PoolName(pools[i].Name)] = pools[i].Spec.Parent
	}
	own := quotav1alpha1.PoolName(pool)
	for i := range all {
		in := quotav1alpha1.PoolName(membership.PoolOf(&all[i]))
		above, _ := parents.Above(in)
		if in == own || slices.Contains(above, own) {
			quotas = append(quotas, &all[i])
		}
	}
	return quotas
}

// spread fills in whose nodes count for a budget, and who uses it.
func (r *Reconciler) spread(ctx context.Context, s *subject) error {
	clusters, err := r.Clusters.List(ctx, r, client.UnsafeDisableDeepCopy)
	if err != nil {
		return err
	}
	if err := r.kind.spread(ctx, r, s, clusters); err != nil {
		return err
	}
	s.Waits = slices.ContainsFunc(s.quotas, Waits)
	return nil
}

// gather reads what is asked for in members, and what may be scaled.
func (r *Reconciler) gather(ctx context.Context, s *subject, in *scaleout.Input) error {
	var err error
	for i := range s.clusters {
		c, err := r.ask(ctx, &s.clusters[i], s.quotas, in.Follows)
		if err != nil {
			return err
		}
		in.Clusters = append(in.Clusters, *c)
	}
	in.Groups, err = Groups(ctx, r.Live, r.Clusters, s.clusters, s.Rule.ScaleOut.MachineDeploymentSelector)
	if apimeta.IsNoMatchError(err) {
		return nil // a hub without Cluster API has none
	}
	if err != nil {
		return err
	}
	r.bound(ctx, s, in)
	return nil
}

// bound reads what bounds the nodes of clusters where some may be added.
func (r *Reconciler) bound(ctx context.Context, s *subject, in *scaleout.Input) {
	var asking []int
	for i := range in.Clusters {
		ofIt := func(g scaleout.Group) bool { return g.Cluster == in.Clusters[i].Name }
		if in.Clusters[i].Asks() && slices.ContainsFunc(in.Groups, ofIt) {
			asking = append(asking, i)
		}
	}
	_ = members.ForEach(asking, func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, r.Timeout)
		defer cancel()
		member, err := r.Members.GetUncachedClient(ctx, client.ObjectKeyFromObject(s.clusters[i]))
		if err != nil {
			unread(&in.Clusters[i], err)
			return nil
		}
		Bound(ctx, member, &in.Clusters[i])
		return nil
	})
}

// ask returns what is asked for in a cluster: nothing in one that cannot be read.
func (r *Reconciler) ask(
	ctx context.Context, cluster *members.Cluster, quotas []*quotav1alpha1.FederatedQuota, follows []corev1.ResourceName,
) (*scaleout.Cluster, error) {
	reader, err := r.Members.GetReader(ctx, client.ObjectKeyFromObject(cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return &scaleout.Cluster{Name: cluster.Name}, nil
	}
	if err != nil {
		return nil, err
	}
	return Ask(ctx, reader, cluster, quotas, follows)
}

// Ask returns what is asked for of FederatedQuotas in a cluster, as its agent has reported it.
func Ask(
	ctx context.Context, member client.Reader, cluster *members.Cluster, quotas []*quotav1alpha1.FederatedQuota,
	follows []corev1.ResourceName,
) (*scaleout.Cluster, error) {
	c := &scaleout.Cluster{Name: cluster.Name}
	holds := func(e quotav1alpha1.ClusterStatus) bool { return string(e.Name) == c.Name }
	for _, fq := range quotas {
		if !slices.ContainsFunc(fq.Status.Clusters, holds) {
			continue
		}
		share := &quotav1alpha1.QuotaShare{}
		err := member.Get(ctx, client.ObjectKeyFromObject(fq), share, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) || members.IsAbsentKind(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the share of Cluster %s: %w", c.Name, err)
		}
		share, err = pack.Unpack(share)
		if err != nil {
			return nil, err
		}
		AddShare(c, &share.Status, input.Most(fq, cluster), follows)
	}
	return c, nil
}
