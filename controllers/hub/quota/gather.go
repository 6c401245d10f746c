package quota

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	hubcapacity "github.com/fedquota/fedquota/controllers/hub/capacity"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/shares"
)

// gather reads all that a round is decided on.
func (r *Reconciler) gather(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (*scope, error) {
	restore := r.Trees.Last()
	around, err := r.lookAround(ctx, fq)
	if err != nil {
		return nil, err
	}
	stands, err := r.stand(ctx, fq, around, restore)
	if err != nil {
		return nil, err
	}
	s := &scope{
		fq: fq, now: r.Clock.Now(), nodes: around.Nodes, in: input.Of(fq, around), membership: stands,
	}
	if around.Restored || around.Fresh {
		s.restored = restore
	}
	s.round = shares.New(s.in)
	s.members = membersOf(s.round, around.Clusters)
	_ = members.ForEach(s.members, func(m *member) error {
		r.read(ctx, s, m)
		r.recall(s, m)
		return nil // a member that cannot be read is a finding: the others go on
	})
	for _, m := range s.members {
		s.round.Hear(m.Name, m.Reading, m.Past)
	}
	return s, nil
}

// lookAround reads what a round has to know beside the FederatedQuota and the members. It is not copied, and nobody
// changes it.
func (r *Reconciler) lookAround(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (*input.Surroundings, error) {
	clusters, err := r.Clusters.List(ctx, r, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	var siblings quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &siblings, client.InNamespace(fq.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas in namespace %s: %w", fq.Namespace, err)
	}
	standing, destroyed := r.sift(ctx, clusters)
	nodes, err := r.followNodes(ctx, fq, standing)
	if err != nil {
		return nil, err
	}
	// Before any member is read: what comes to be known meanwhile is no part of this round.
	found := r.Stores.Survey(ctx, client.ObjectKeyFromObject(fq), standing)
	return &input.Surroundings{
		Clusters: standing, Destroyed: destroyed, Nodes: nodes, Siblings: siblings.Items,
		Holders: found.Holders, Expected: found.Expected, Agents: r.AgentNamespace,
		Epoch: ledger.Epoch(r.Clock.Now()), Fresh: r.births.fresh(fq, r.Stores.Steady()),
	}, nil
}

// followNodes returns what the nodes of clusters can run, once the hub serves that kind. Where the budget follows them
// it is noted in the status, to be stored with the ledger that is made of it.
func (r *Reconciler) followNodes(
	ctx context.Context, fq *quotav1alpha1.FederatedQuota, clusters []members.Cluster,
) (map[string]*quotav1alpha1.ClusterCapacity, error) {
	if !r.nodes.Load() {
		return nil, nil
	}
	reports, err := hubcapacity.Reports(ctx, r, r.Clusters)
	if err != nil {
		return nil, err
	}
	input.FollowNodes(fq, clusters, reports)
	return reports, nil
}

// sift returns the Clusters without those that are said to be destroyed, and the names of those.
func (r *Reconciler) sift(ctx context.Context, clusters []members.Cluster) ([]members.Cluster, sets.Set[string]) {
	destroyed := sets.New[string]()
	for i := range clusters {
		if members.Destroyed(ctx, r.Members, clusters[i].Cluster) {
			destroyed.Insert(clusters[i].Name)
		}
	}
	if len(destroyed) == 0 {
		return clusters, destroyed
	}
	gone := func(c members.Cluster) bool { return destroyed.Has(c.Name) }
	return slices.DeleteFunc(slices.Clone(clusters), gone), destroyed
}

// membersOf returns the children that a round concerns, with their Clusters.
func membersOf(r *shares.Round, clusters []members.Cluster) []*member {
	byName := make(map[string]*members.Cluster, len(clusters))
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	children := r.Children()
	list := make([]*member, len(children))
	for i := range children {
		list[i] = &member{Child: &children[i], cluster: byName[children[i].Name]}
	}
	return list
}

// decide takes the decisions of the round.
func (s *scope) decide() {
	s.decision = s.round.Decide()
	if s.decision.Rebuilt && !s.in.Restored && s.membership.Stands() {
		s.membership = s.membership.Floor(s.in.Epoch)
	}
	byName := make(map[string]*shares.Verdict, len(s.decision.Verdicts))
	for i := range s.decision.Verdicts {
		byName[s.decision.Verdicts[i].Name] = &s.decision.Verdicts[i]
	}
	for _, m := range s.members {
		m.verdict = byName[m.Name]
	}
}

// storedMessage returns what the last stored round said of a member.
func (s *scope) storedMessage(m *member) string {
	for i := range s.fq.Status.Clusters {
		if string(s.fq.Status.Clusters[i].Name) == m.Name {
			return s.fq.Status.Clusters[i].Message
		}
	}
	return ""
}
