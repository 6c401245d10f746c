package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/write"
	"github.com/fedquota/fedquota/internal/allocate"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// member is what one round knows of a cluster.
type member struct {
	name string
	// cluster is nil if there is no such Cluster.
	cluster *clusterv1.Cluster
	// uid is the one of the Cluster that the entry was granted to, replaced says whether another one has its name now.
	uid      string
	replaced bool
	// twin is the other Cluster that the share there was written for, or empty.
	twin string
	// forged says whether the share has a revision that no ledger gave.
	forged bool
	// suspected says whether the entry was made since the Cluster is marked, which another budget may have done: the cluster could not be
	// asked whether it holds a share of this one.
	suspected bool
	// selected says whether the placement selects the cluster; one that has an entry and is not selected is leaving.
	selected bool
	// unreachable says why the cluster could not be read, or is empty.
	unreachable string
	// heldBack says why the cluster could not take its share in the last round, or is empty.
	heldBack obstacle
	// misfit says why the share there cannot become that of this budget, or is empty: nothing is written into one that has to go.
	misfit string
	// live says whether share was read from the API server rather than from a cache.
	live bool
	// share is nil if there is none.
	share *quotav1alpha1.QuotaShare
	// bereft is what a ResourceQuota tells that enforces a share which is gone, or nil: somebody has deleted that by hand.
	bereft *ledger.Share
	// report is what share says is in force.
	report ledger.Report
	// demand is what share says that the member could use beyond what it uses.
	demand amount.List
	// kinds split demand by what is asked for together, small requests before large ones.
	kinds []kind
	// gave is how long ago the member last gave room away, by resource name.
	gave map[corev1.ResourceName]time.Duration
	// dampedFor is how long the limit must not move for headroom.
	dampedFor time.Duration
	// toldFor is how long the usage that its share was told of will do.
	toldFor time.Duration
	// idleFor is how long its agent has not acted on the present share.
	idleFor time.Duration
	// stalledFor is how long nothing is written to it, since the last write was not answered in time.
	stalledFor time.Duration
	// askedFor is how long it is not asked anew for a limit that it has not; askedAnew says whether it is in this round.
	askedFor  time.Duration
	askedAnew bool
	// awaitedFor is how long it is waited for to say what it uses, by resource name.
	awaitedFor map[corev1.ResourceName]time.Duration
	// reasons are those for which limits move, by resource name; plan sets it.
	reasons map[corev1.ResourceName]allocate.Reason
	// outcome says why the cluster could not take its share in this round, or is empty; deliver sets it.
	outcome obstacle
	// failed says that the last write failed for a reason that may pass by itself; deliver sets it.
	failed bool
}

// kind is demand that comes in requests of one unit.
type kind struct{ amounts, unit amount.List }

// obstacle is why a member cannot take or enforce its share: the reason is what decisions rest on, the message is for who reads it.
type obstacle struct{ reason, message string }

// lacksNamespace says whether the member has no share since it could not take one for want of the namespace.
func (m *member) lacksNamespace() bool {
	return m.share == nil && m.heldBack.reason == quotav1alpha1.ReasonNamespaceMissing
}

// reports says whether the member reports the condition as true.
func (m *member) reports(condition string) bool {
	return m.share != nil && apimeta.IsStatusConditionTrue(m.share.Status.Conditions, condition)
}

// read says whether the member could be read in this round.
func (m *member) read() bool { return m.unreachable == "" }

// observe reads all that a round is decided on.
func (r *QuotaReconciler) observe(ctx context.Context, fq *quotav1alpha1.FederatedQuota) (*scope, error) {
	var clusters clusterv1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(r.ClusterNamespace)); err != nil {
		return nil, fmt.Errorf("listing Clusters in namespace %s: %w", r.ClusterNamespace, err)
	}
	var siblings quotav1alpha1.FederatedQuotaList
	if err := r.List(ctx, &siblings, client.InNamespace(fq.Namespace)); err != nil {
		return nil, fmt.Errorf("listing FederatedQuotas in namespace %s: %w", fq.Namespace, err)
	}
	// Before anything is read: what comes to be known meanwhile is no part of this round.
	found := r.survey(ctx, client.ObjectKeyFromObject(fq), clusters.Items)
	s := newScope(fq, clusters.Items, siblings.Items, found.holders, r.AgentNamespace, r.Clock.Now())
	s.lost = s.unread && !r.memoryOf(fq.UID).newborn && s.mayBeLost()
	for _, m := range s.members {
		m.outcome = r.historyOf(s, m).outcome
		m.heldBack = m.outcome
	}
	_ = forEach(s.members, func(m *member) error {
		r.read(ctx, s, m)
		return nil // a member that cannot be read is a finding: the others go on
	})
	s.unseen = slices.DeleteFunc(sets.List(found.expected), func(name string) bool { return s.byName[name] != nil && s.byName[name].read() })
	r.recall(s)
	return s, nil
}

// placed returns the Clusters that the placement of a FederatedQuota selects, by name, and the names that it gives in vain. A selector
// that cannot be read selects those that have an entry: over such a spec nobody leaves.
func placed(fq *quotav1alpha1.FederatedQuota, clusters []clusterv1.Cluster) (selected map[string]*clusterv1.Cluster, missing []string) {
	placement := &fq.Spec.Placement
	byName := make(map[string]*clusterv1.Cluster, len(clusters))
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	selected = maps.Clone(byName)
	matches := matcher(placement.ClusterSelector)
	if _, err := metav1.LabelSelectorAsSelector(placement.ClusterSelector); err != nil {
		matches = func(c *clusterv1.Cluster) bool {
			return slices.ContainsFunc(fq.Status.Clusters, func(e quotav1alpha1.ClusterStatus) bool { return string(e.Name) == c.Name })
		}
	}
	maps.DeleteFunc(selected, func(name string, c *clusterv1.Cluster) bool {
		return !matches(c) && !slices.Contains(placement.Clusters, quotav1alpha1.ClusterName(name))
	})
	for _, name := range placement.Clusters {
		if byName[string(name)] == nil {
			missing = append(missing, string(name))
		}
	}
	return selected, missing
}

// matcher returns what a label selector says of a Cluster; none matches nothing.
func matcher(s *metav1.LabelSelector) func(*clusterv1.Cluster) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return func(*clusterv1.Cluster) bool { return false }
	}
	return func(c *clusterv1.Cluster) bool { return selector.Matches(labels.Set(c.Labels)) }
}

// read fills in what the member says, or why it cannot be read.
func (r *QuotaReconciler) read(ctx context.Context, s *scope, m *member) {
	if m.cluster == nil {
		m.unreachable = fmt.Sprintf("there is no Cluster %s/%s; if the cluster is destroyed, say so in spec.removal.destroyed", r.ClusterNamespace, m.name)
		return
	}
	m.live = m.replaced || s.needsLive(m.name)
	if m.live && r.silences.lasts(m.name, s.now) {
		m.unreachable = noAnswer
		return
	}
	key := client.ObjectKeyFromObject(m.cluster)
	if err := r.readShare(ctx, s, m, key); err != nil {
		m.unreachable = unreadable(m.name, err)
		if s.before[m.name].Message != write.Truncated(m.unreachable, messageLimit) {
			ctrl.LoggerFrom(ctx).Info("Reading a share failed", "Cluster", m.name, "err", err.Error())
		}
		return
	}
	if state := r.Members.GetHealthCheckingState(ctx, key); state.ConsecutiveFailures > 0 && r.Clock.Since(state.LastProbeSuccessTime) > unreachableAfter {
		m.unreachable = "health probes fail"
	}
}

// readShare reads the share of a member, and takes what it says.
func (r *QuotaReconciler) readShare(parent context.Context, s *scope, m *member, key client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(parent, r.memberTimeout)
	defer cancel()
	if err := r.Members.Watch(ctx, key, r.shareWatcher(m.name)); err != nil {
		return err
	}
	reader, err := r.reader(ctx, key, m.live)
	if err != nil {
		return err
	}
	share := &quotav1alpha1.QuotaShare{}
	err = reader.Get(ctx, client.ObjectKeyFromObject(s.fq), share)
	if m.live {
		r.silences.answered(m.name, ctx.Err() == nil, r.Clock.Now())
	}
	if client.IgnoreNotFound(err) == nil {
		r.stores.saw(m.name, client.ObjectKeyFromObject(s.fq), share.ResourceVersion)
	}
	if err := m.take(share, err, s); err != nil {
		return err
	}
	if m.live && m.share == nil && m.read() {
		if m.bereft, err = bereft(ctx, reader, s.fq); err != nil {
			return err
		}
	}
	if !m.lacksNamespace() {
		return nil
	}
	return r.confirmMissing(parent, s, m)
}

// bereft returns what the ResourceQuota tells that enforced a share of the FederatedQuota, which is gone, or nil if there is none: who
// lets a share go as it was told releases its ResourceQuota before.
func bereft(ctx context.Context, reader client.Reader, fq *quotav1alpha1.FederatedQuota) (*ledger.Share, error) {
	quota := &corev1.ResourceQuota{}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(fq), quota); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	counts := &quotav1alpha1.FederatedQuotaSpec{Scopes: quota.Spec.Scopes, ScopeSelector: quota.Spec.ScopeSelector}
	if _, managed := quota.Labels[quotav1alpha1.ManagedLabel]; !managed || !quota.DeletionTimestamp.IsZero() || !sameScope(counts, &fq.Spec) {
		return nil, nil
	}
	revision, err := strconv.ParseInt(quota.Annotations[quotav1alpha1.RevisionAnnotation], 10, 64)
	if err != nil || forged(revision, fq) {
		revision = 0
	}
	return &ledger.Share{InForce: revision}, nil
}

// confirmMissing drops what is remembered of a missing namespace unless it is missing still: another hub manager may have
// written the share since, and an entry ends by what is seen. The API server says so before it looks at the share.
func (r *QuotaReconciler) confirmMissing(ctx context.Context, s *scope, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, r.memberTimeout)
	defer cancel()
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	probe := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: s.fq.Namespace, Name: s.fq.Name}}
	if err := c.Create(ctx, probe, client.DryRunAll); !missingNamespace(err) {
		m.heldBack = obstacle{}
	}
	return nil
}

// take takes what reading the share gave, and returns the error that means that it could not be read.
func (m *member) take(share *quotav1alpha1.QuotaShare, err error, s *scope) error {
	m.twin = s.twinOf(m, share)
	switch {
	case m.twin != "":
		mend := "correct the kubeconfig Secret that is wrong"
		if !s.ledger.Holds(m.name) {
			mend += ", or delete Cluster " + m.name + ", which has no share"
		}
		m.unreachable = fmt.Sprintf("Clusters %s and %s lead to the same API server: %s. If the share was copied there, delete QuotaShare %s/%s",
			min(m.name, m.twin), max(m.name, m.twin), mend, share.Namespace, share.Name)
	case err == nil && m.knownBy(share):
		m.believe(share, s.fq)
	case m.replaced && client.IgnoreNotFound(err) == nil:
		m.unreachable = replacedCluster
	case !apierrors.IsNotFound(err) || isAbsentKind(err):
		return err
	}
	return nil
}

// twinOf returns which other Cluster the share was written for that a member has, or "". Of two that lead to the same API server
// one has the share, or each would take what the other writes for a ledger that was rolled back.
func (s *scope) twinOf(m *member, share *quotav1alpha1.QuotaShare) string {
	if owner := s.names[share.Annotations[quotav1alpha1.ClusterAnnotation]]; owner != m.name {
		return owner
	}
	return ""
}

// believe takes what the share says. One that counts something else says nothing of this budget, and one that somebody else
// has written a revision into says nothing that can be relied upon.
func (m *member) believe(share *quotav1alpha1.QuotaShare, fq *quotav1alpha1.FederatedQuota) {
	m.share = share
	told := &quotav1alpha1.FederatedQuotaSpec{Scopes: share.Spec.Scopes, ScopeSelector: share.Spec.ScopeSelector}
	if !sameScope(told, &fq.Spec) {
		m.misfit = fmt.Sprintf("its share has other scopes, which cannot be changed: delete QuotaShare %s/%s there", share.Namespace, share.Name)
		return
	}
	if revision := highestOf(share); forged(revision, fq) {
		m.forged = true
		m.misfit = fmt.Sprintf("the hub has not written revision %d: delete QuotaShare %s/%s there, then its ResourceQuota behind broken glass", revision, share.Namespace, share.Name)
		return
	}
	m.report = ledger.ReportOf(share.Status)
	m.demand = amount.Saturate(share.Status.Demand, amount.Up)
	for _, ask := range share.Status.DemandByShape {
		m.kinds = append(m.kinds, kind{amount.Saturate(ask.Amounts, amount.Up), amount.Saturate(ask.Unit, amount.Up)})
	}
}

// forged says whether no ledger gave a revision.
func forged(revision int64, fq *quotav1alpha1.FederatedQuota) bool {
	return revision > max(ledger.MostRevision, fq.Status.Revision)
}

// highestOf returns the revision of a share, or that in force if it is higher.
func highestOf(share *quotav1alpha1.QuotaShare) int64 {
	return max(share.Spec.Revision, share.Status.Revision)
}

// replacedCluster is why the entry of a cluster stays as it is while another Cluster has its name.
const replacedCluster = "another Cluster has its name now: what the old one was granted stays granted until spec.removal.destroyed says that it is destroyed"

// knownBy says whether the share is that of the cluster that the entry was granted to. A Cluster that was deleted and
// created again for a cluster that runs finds the share there which was written for the old one: it takes over the entry.
func (m *member) knownBy(share *quotav1alpha1.QuotaShare) bool {
	if m.replaced && share.Annotations[quotav1alpha1.ClusterAnnotation] == m.uid {
		m.uid, m.replaced = string(m.cluster.UID), false
	}
	return !m.replaced
}

// reader reads from the API server of a member, or from the cache of it.
func (r *QuotaReconciler) reader(ctx context.Context, key client.ObjectKey, live bool) (client.Reader, error) {
	if live {
		return r.Members.GetUncachedClient(ctx, key)
	}
	return r.Members.GetReader(ctx, key)
}

// noAnswer is why a member cannot be read whose API server did not answer in time.
const noAnswer = "its API server does not answer"

// unreadable returns why a member cannot be read, in words that stay the same while the reason does.
func unreadable(cluster string, err error) string {
	switch {
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return "there is no connection; see the Cluster's kubeconfig Secret " + cluster + "-kubeconfig and the cluster's API server"
	case errors.Is(err, context.DeadlineExceeded):
		return noAnswer
	case isAbsentKind(err):
		return "the API QuotaShare is not installed there; install the agent's manifests"
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return "its API server refuses the hub: " + string(apierrors.ReasonForError(err))
	default:
		return "reading its share failed"
	}
}

// isAbsentKind says whether an API server does not serve the kind at all, rather than not having the object.
func isAbsentKind(err error) bool {
	if apimeta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonNotFound && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// like returns the formats in which quantities of a FederatedQuota are written.
func like(fq *quotav1alpha1.FederatedQuota) corev1.ResourceList { return fq.Spec.Hard }
