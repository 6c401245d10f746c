package hub

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/round"
)

// scope is one round over one FederatedQuota.
type scope struct {
	fq  *quotav1alpha1.FederatedQuota
	now time.Time
	in  *round.Input
	// round says whom it concerns, and members are those, by name. gather fills them in.
	round   *round.Round
	members []*member
	// decision is what was decided, and fleet what shares tell of the whole budget.
	decision *round.Decision
	fleet    quotav1alpha1.Fleet
	// snapshotDue is when usage is to be stored, if only usage has changed; store sets it.
	snapshotDue time.Duration
}

// member is a child of the round, with the objects that it stands for.
type member struct {
	*round.Child

	// cluster is nil if there is no such Cluster.
	cluster *clusterv1.Cluster
	// share is what was read of it, nil if there is none.
	share *quotav1alpha1.QuotaShare
	// verdict is what was decided, nil if the round does not concern it any more.
	verdict *round.Verdict
	// outcome says why it could not take its share, or is empty; deliver sets it anew.
	outcome round.Obstacle
	// failed says that the last write failed for a reason that may pass by itself; deliver sets it.
	failed bool
}

// gather reads all that a round is decided on.
func (r *QuotaReconciler) gather(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (*scope, error) {
	around, err := r.lookAround(ctx, fq)
	if err != nil {
		return nil, err
	}
	s := &scope{fq: fq, now: r.Clock.Now(), in: inputOf(fq, around)}
	s.round = round.New(s.in)
	s.members = membersOf(s.round, around.clusters)
	_ = forEach(s.members, func(m *member) error {
		r.read(ctx, s, m)
		r.recall(s, m)
		return nil // a member that cannot be read is a finding: the others go on
	})
	return s, nil
}

// lookAround reads what a round has to know beside the FederatedQuota and the members.
func (r *QuotaReconciler) lookAround(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (*surroundings, error) {
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace)); err != nil {
		return nil, fmt.Errorf("listing Clusters in namespace %s: %w", r.ClusterNamespace, err)
	}
	var siblings quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &siblings, client.InNamespace(fq.Namespace)); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas in namespace %s: %w", fq.Namespace, err)
	}
	// Before any member is read: what comes to be known meanwhile is no part of this round.
	found := r.survey(ctx, client.ObjectKeyFromObject(fq), clusters.Items)
	return &surroundings{
		clusters: clusters.Items, siblings: siblings.Items, holders: found.holders, expected: found.expected,
		agents: r.AgentNamespace, newborn: r.memoryOf(fq.UID).newborn,
	}, nil
}

// membersOf returns the children that a round concerns, with their Clusters.
func membersOf(r *round.Round, clusters []clusterv1.Cluster) []*member {
	byName := make(map[string]*clusterv1.Cluster, len(clusters))
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	children := r.Children()
	members := make([]*member, len(children))
	for i, c := range children {
		members[i] = &member{Child: c, cluster: byName[c.Name]}
	}
	return members
}

// decide takes the decisions of the round.
func (s *scope) decide() {
	s.decision = s.round.Decide()
	byName := make(map[string]*round.Verdict, len(s.decision.Verdicts))
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
