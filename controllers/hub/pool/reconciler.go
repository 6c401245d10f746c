// Package pool holds the controller that splits the budget of a QuotaPool over its children: FederatedQuotas, and other
// pools. It gathers what a round is decided on and stores the ledger; internal/pool is the protocol, and internal/round
// decides, as it does for clusters. Children read what they may have in the ledger, by watch.
package pool

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	tenants "github.com/fedquota/fedquota/controllers/hub/tenant"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pace"
)

// Reconciler is the only writer of the ledgers of pools.
type Reconciler struct {
	client.Client
	// Live reads from the API server: the pool itself, and of children what the protocol demands.
	Live client.Reader
	// Members connects to members. It is asked about those alone that are said to be destroyed.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are whose nodes budgets may follow.
	Clusters members.Namespaces
	// Clock says since when.
	Clock clock.PassiveClock
	// Recorder writes events on QuotaPools.
	Recorder events.EventRecorder
	// Tenants keeps the FederatedQuotas of spec.namespaces; nil where nobody does.
	Tenants *tenants.Reconciler

	// Needs are what children need, as their rounds tell.
	Needs *Needs
	// Records keep what becomes of pools; nil where nobody keeps that.
	Records *recorder.Recorder
	// Trees is what is known of restores. It is shared with the rounds of FederatedQuotas.
	Trees *trees.Trees

	// indexed says that what is cached can be listed by pool.
	indexed  bool
	memories sync.Map // memory by UID
	moving   sync.Map // names of pools that count what has moved: others tell when that may end
}

// Reconcile makes one round: gather, decide, store.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &quotav1alpha1.QuotaPool{}
	if err := r.Live.Get(ctx, req.NamespacedName, p); err != nil {
		if apierrors.IsNotFound(err) {
			r.Needs.gone(req.Name)
			r.forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if p.DeletionTimestamp.IsZero() {
		if err := r.meet(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	} else if !controllerutil.ContainsFinalizer(p, quotav1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	r.Trees.Hear(p.UID, p.Status.Restored)
	s, err := r.gather(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.Trees.Last() > s.restore {
		// What this round has taken up may be of after the restore, and its ledger is of before.
		return ctrl.Result{RequeueAfter: pace.RoundRetryInterval(0, 0)}, nil
	}
	if gone, err := r.remove(ctx, s); gone || err != nil {
		return ctrl.Result{}, err
	}
	if err := r.steer(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	return r.end(ctx, s)
}

// end stores what the round has decided, and has that be recorded.
func (r *Reconciler) end(ctx context.Context, s *scope) (ctrl.Result, error) {
	next, err := r.store(ctx, s)
	if err == nil {
		r.record(s)
	}
	return next, err
}

// meet gives a pool its finalizer: before that there is no ledger, which the first revision says in the status.
func (r *Reconciler) meet(ctx context.Context, p *quotav1alpha1.QuotaPool) error {
	if controllerutil.ContainsFinalizer(p, quotav1alpha1.Finalizer) {
		return nil
	}
	if p.Status.Revision == 0 {
		p.Status.Revision, p.Status.Restored = ledger.First, r.Trees.Last()
		if err := r.Status().Update(ctx, p); err != nil {
			return err
		}
	}
	stored := p.DeepCopy()
	controllerutil.AddFinalizer(p, quotav1alpha1.Finalizer)
	return r.Patch(ctx, p, patches.Since(stored))
}

// remove takes the finalizer off a deleted pool that nobody is in any more, by a live list, and says whether it has.
// FederatedQuotas that are kept for it go before: nobody would delete them then.
func (r *Reconciler) remove(ctx context.Context, s *scope) (bool, error) {
	if s.p.DeletionTimestamp.IsZero() || s.pool.Ledger.Len() > 0 {
		return false, nil
	}
	live, err := r.childrenOf(ctx, r.Live, s.p)
	if err != nil {
		return false, err
	}
	for _, c := range live {
		if s.contains(c) || c.ofTenant && c.names {
			return false, nil
		}
	}
	stored := s.p.DeepCopy()
	controllerutil.RemoveFinalizer(s.p, quotav1alpha1.Finalizer)
	r.memories.Delete(s.p.UID)
	r.forget(s.p.Name)
	r.Trees.Forget(s.p.UID)
	r.moving.Delete(s.p.Name)
	patch := patches.Since(stored)
	return true, client.IgnoreNotFound(r.Patch(ctx, s.p, patch))
}

// jitter spreads periodic rounds.
const jitter = 0.2

// next returns when to look again although nothing may happen.
func (s *scope) next() ctrl.Result {
	about := pace.RoundInterval(0, 0)
	if s.halted.reason != "" || len(s.expected)+len(s.moved)+len(s.torn) > 0 {
		about = pace.RoundRetryInterval(0, 0)
	}
	soonest := wait.Jitter(about, jitter)
	for i := range s.standings {
		if in := s.standings[i].MovesIn(&s.split); in > 0 {
			soonest = min(soonest, in)
		}
	}
	return ctrl.Result{RequeueAfter: soonest}
}
