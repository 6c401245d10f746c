package quota

import (
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pool"
	"github.com/fedquota/fedquota/internal/shares"
)

// scope is one round over one FederatedQuota.
type scope struct {
	fq  *quotav1alpha1.FederatedQuota
	now time.Time
	in  *shares.Input
	// nodes are what the nodes of clusters can run, by cluster.
	nodes map[string]*quotav1alpha1.ClusterCapacity
	// membership is what the FederatedQuota is to its pool from this round on.
	membership pool.Membership
	// restored is the last restore of the hub's store for which the ledger is rebuilt once this round is stored, 0 if for
	// none but those for which it was.
	restored int64
	// round says whom it concerns, and members are those, by name. gather fills them in.
	round   *shares.Round
	members []*member
	// decision is what was decided, and fleet what shares tell of the whole budget.
	decision *shares.Decision
	fleet    quotav1alpha1.Fleet
	// snapshotDue is when usage is to be stored, if only usage has changed; store sets it.
	snapshotDue time.Duration
}

// member is a child of the round, with the objects that it stands for.
type member struct {
	*shares.Child

	// cluster is nil if there is no such Cluster.
	cluster *members.Cluster
	// share is what was read of it, nil if there is none.
	share *quotav1alpha1.QuotaShare
	// verdict is what was decided, nil if the round does not concern it any more.
	verdict *shares.Verdict
	// outcome says why it could not take its share, or is empty; deliver sets it anew.
	outcome shares.Obstacle
	// failed says that the last write failed for a reason that may pass by itself; deliver sets it.
	failed bool
}

// messageLimit keeps a member's message within its schema.
const messageLimit = 256
