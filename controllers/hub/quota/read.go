package quota

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/controllers/hub/quota/pack"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/shares"
)

// read fills in what a member says, or why it cannot be read.
func (r *Reconciler) read(ctx context.Context, s *scope, m *member) {
	m.outcome = r.historyOf(s, m).outcome
	m.Reading.HeldBack, m.Reading.Trouble = m.outcome, r.trouble(m.Name)
	if m.cluster == nil {
		m.Reading.Failure = fmt.Sprintf("there is no Cluster %s; "+
			"if the cluster is destroyed, say so in spec.removal.destroyed", r.Clusters.Key(m.Name))
		return
	}
	if m.Live && r.silences.Last(m.Name, s.now) {
		m.Reading.Failure = noAnswer
		return
	}
	key := client.ObjectKeyFromObject(m.cluster)
	if err := r.readShare(ctx, s, m, key); err != nil {
		m.Reading = shares.Reading{
			Failure:  r.unreadable(m.Name, m.Reading.Trouble, err),
			HeldBack: m.Reading.HeldBack, Vacant: r.vacant(ctx, s, m, key, err),
		}
		if s.storedMessage(m) != conditions.Truncated(m.Reading.Failure, messageLimit) {
			ctrl.LoggerFrom(ctx).Info("Reading a share failed", "Cluster", m.Name, "err", err.Error())
		}
		return
	}
	state := r.Members.GetHealthCheckingState(ctx, key)
	if state.ConsecutiveFailures > 0 && r.Clock.Since(state.LastProbeSuccessTime) > pace.UnreachableAfter {
		m.Reading.Failure = "health probes fail"
	}
}

// vacant says whether a member that was to be read live has answered that it does not know of shares, and no limit is
// in force there without one.
func (r *Reconciler) vacant(parent context.Context, s *scope, m *member, key client.ObjectKey, err error) bool {
	if !m.Live || !members.IsAbsentKind(err) {
		return false
	}
	ctx, cancel := context.WithTimeout(parent, r.Timeout)
	defer cancel()
	reader, err := r.reader(ctx, key, true)
	if err != nil {
		return false
	}
	inForce, err := orphan(ctx, reader, s)
	return err == nil && inForce == nil
}

// readShare reads the share of a member, and where there is none what may be in force without one.
func (r *Reconciler) readShare(parent context.Context, s *scope, m *member, key client.ObjectKey) error {
	if m.Live {
		end, err := r.turns.Take(parent)
		if err != nil {
			return err
		}
		defer end()
	}
	ctx, cancel := context.WithTimeout(parent, r.Timeout)
	defer cancel()
	if err := r.Members.Watch(ctx, key, r.Stores.ShareWatcher(m.Name)); err != nil {
		return err
	}
	reader, err := r.reader(ctx, key, m.Live)
	if err != nil {
		return err
	}
	share, err := getShare(ctx, reader, client.ObjectKeyFromObject(s.fq))
	if m.Live {
		r.silences.Answered(m.Name, ctx.Err() == nil, r.Clock.Now())
	}
	if client.IgnoreNotFound(err) == nil {
		r.Stores.Saw(m.Name, client.ObjectKeyFromObject(s.fq), share.ResourceVersion)
	}
	switch {
	case err == nil:
		m.share, m.Reading.Share = share, input.Share(share, s.fq)
		return nil
	case !apierrors.IsNotFound(err) || members.IsAbsentKind(err):
		return err
	}
	return r.readWithout(parent, ctx, reader, s, m)
}

// getShare reads a share, from a cache without a copy: what is cached is packed, and not changed by others.
func getShare(ctx context.Context, reader client.Reader, key client.ObjectKey) (*quotav1alpha1.QuotaShare, error) {
	share := &quotav1alpha1.QuotaShare{}
	if err := reader.Get(ctx, key, share, client.UnsafeDisableDeepCopy); err != nil {
		return share, err
	}
	return pack.Unpack(share)
}

// readWithout reads what is in force in a member that has no share, and whether its namespace is missing: as a watch
// shows it where nothing rests on that, by its API server where it was missing and something does.
func (r *Reconciler) readWithout(parent, ctx context.Context, reader client.Reader, s *scope, m *member) error {
	if m.Live {
		var err error
		if m.Reading.Orphan, err = orphan(ctx, reader, s); err != nil {
			return err
		}
	}
	if s.looksForNamespace(m) {
		if has, known := r.Namespaces.Has(parent, m.cluster, s.fq.Namespace); known {
			r.show(s, m, has)
			return nil
		}
	}
	if !m.Reading.HeldBack.LacksNamespace() {
		return nil
	}
	return r.confirmMissing(parent, s, m)
}

// looksForNamespace says whether to look by a watch if a member has the namespace: where that was missing, or may well
// be, and nothing was granted that would end with it.
func (s *scope) looksForNamespace(m *member) bool {
	may := m.Reading.HeldBack == noNamespace || m.Reading.HeldBack == (shares.Obstacle{}) && s.in.Scattered
	created := ptr.Deref(s.fq.Spec.Placement.CreateNamespace, false)
	return may && m.Selected && !created && (m.Entry == nil || m.Entry.Granted.IsZero())
}

// show takes what a watch shows of the namespace of a member that holds nothing: while it is missing nothing is written
// there, and the watch tells when it comes.
func (r *Reconciler) show(s *scope, m *member, has bool) {
	outcome := shares.Obstacle{}
	if !has {
		outcome = noNamespace
	}
	r.remember(s, m, outcome)
	m.Reading.HeldBack, m.Reading.Watched = outcome, !has
}

// orphan returns what is in force in a member although its share is gone, or nil if nothing is.
func orphan(ctx context.Context, reader client.Reader, s *scope) (*ledger.Share, error) {
	quota := &corev1.ResourceQuota{}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(s.fq), quota); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return input.Orphan(quota, s.fq, s.round.Forged), nil
}

// confirmMissing drops what is remembered of a missing namespace unless it is missing still: another hub manager may
// have written the share since, and an entry ends by what is seen. The API server says so before it looks at the share.
func (r *Reconciler) confirmMissing(ctx context.Context, s *scope, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	c, err := r.writer(ctx, m)
	if err != nil {
		return err
	}
	probe := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: s.fq.Namespace, Name: s.fq.Name}}
	if err := c.Create(ctx, probe, client.DryRunAll); !members.IsMissingNamespace(err) {
		m.Reading.HeldBack = shares.Obstacle{}
	}
	return nil
}

// reader reads from the API server of a member, or from the cache of it.
func (r *Reconciler) reader(ctx context.Context, key client.ObjectKey, live bool) (client.Reader, error) {
	if live {
		return r.Members.GetUncachedClient(ctx, key)
	}
	return r.Members.GetReader(ctx, key)
}

// noAnswer is why a member cannot be read whose API server did not answer in time.
const noAnswer = "its API server does not answer"

// trouble returns what keeps the agent of a Cluster from running, as far as it is known.
func (r *Reconciler) trouble(cluster string) string {
	if r.Trouble == nil {
		return ""
	}
	return r.Trouble(cluster)
}

// unreadable returns why a member cannot be read, in words that stay the same while the reason does.
func (r *Reconciler) unreadable(cluster, trouble string, err error) string {
	var nobody *members.AccountError
	switch {
	case errors.As(err, &nobody):
		return nobody.Why
	case errors.Is(err, clustercache.ErrClusterNotConnected):
		return "there is no connection; see the Cluster's kubeconfig Secret " + cluster + "-kubeconfig and the cluster's API server"
	case errors.Is(err, context.DeadlineExceeded):
		return noAnswer
	case members.IsAbsentKind(err) && trouble != "":
		return "the API QuotaShare is not installed there: " + trouble
	case members.IsAbsentKind(err) && r.Trouble != nil:
		return "the API QuotaShare is not installed there yet: the hub manager installs it with the agent"
	case members.IsAbsentKind(err):
		return "the API QuotaShare is not installed there; install the agent's manifests"
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return "its API server refuses the hub: " + string(apierrors.ReasonForError(err))
	default:
		return "reading its share failed"
	}
}
