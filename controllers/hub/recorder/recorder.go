// Package recorder keeps for months what became of budgets. Rounds tell it what they see, and wait for nobody; it adds
// that up, and stores it as QuotaRecords about once an hour. No round reads what it stores.
package recorder

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/membership"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/internal/record"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotarecords,verbs=get;list;create;update;delete

// Kind is that of records.
var Kind = schema.GroupKind{Group: quotav1alpha1.GroupVersion.Group, Kind: "QuotaRecord"}

// Recorder records budgets.
type Recorder struct {
	client.Client
	// Live reads from the API server: records are large, and no cache holds them.
	Live client.Reader
	// Clock says when.
	Clock clock.WithTicker
	// Interval is the time between two writes of the record of a budget, and Months how many months are kept beside the
	// present one.
	Interval time.Duration
	Months   int
	// PoolsIn is the namespace that the records of QuotaPools are in.
	PoolsIn string

	// budgets are those that are recorded, *budget by subject.
	budgets sync.Map
	// swept is when records were removed last that are too old.
	swept time.Time
}

// budget is what is recorded of a budget and not stored yet.
type budget struct {
	of     subject
	mutex  sync.Mutex
	tally  *record.Tally
	pool   string
	gone   bool
	stored time.Time
	// taken are pieces that may be stored already or not: the last write has failed.
	taken []*record.Month
}

// Observe takes what a round has seen of a budget. It only adds up.
func (r *Recorder) Observe(fq *quotav1alpha1.FederatedQuota, level *record.Level) {
	r.observe(fq, &fq.Spec, membership.PoolOf(fq), level)
}

// ObservePool takes what a round has seen of a pool.
func (r *Recorder) ObservePool(p *quotav1alpha1.QuotaPool, level *record.Level) {
	r.observe(p, &p.Spec, p.Name, level)
}

func (r *Recorder) observe(object client.Object, spec any, pool string, level *record.Level) {
	if r == nil {
		return
	}
	b := r.of(r.subjectOf(client.ObjectKeyFromObject(object)))
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := r.Clock.Now()
	b.begin(now, string(object.GetUID()), r.offset(b.of))
	b.tally.Observe(now, level)
	b.pool = pool
	if err := b.tally.Now().Audit.See(now, writerOf(object), object.GetGeneration(), spec); err != nil {
		ctrl.Log.WithName("recorder").Error(err, "Reading a spec", "budget", b.of)
	}
}

// begin begins to record an object, which is another one of the name perhaps. What was recorded of the one before it
// ends.
func (b *budget) begin(now time.Time, uid string, offset time.Duration) {
	switch {
	case b.tally == nil:
		b.stored = now.Add(-offset)
	case b.tally.Now().UID != uid:
		b.end(now)
	default:
		b.gone = false
		return
	}
	b.tally, b.gone = record.Begin(now, uid), false
}

// end ends what is recorded of an object.
func (b *budget) end(now time.Time) {
	b.tally.Observe(now, nil)
	b.taken = append(b.taken, b.tally.Take()...)
	b.gone, b.stored = true, time.Time{}
}

// Moved takes moves of limits.
func (r *Recorder) Moved(fq *quotav1alpha1.FederatedQuota, moves []record.Move) {
	if r == nil {
		return
	}
	b := r.of(r.subjectOf(client.ObjectKeyFromObject(fq)))
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := r.Clock.Now()
	b.begin(now, string(fq.UID), r.offset(b.of))
	b.tally.Advance(now)
	b.tally.Now().Moves.Add(moves...)
}

// Forget ends the record of a budget that is gone, of a QuotaPool if it has no namespace.
func (r *Recorder) Forget(key client.ObjectKey) {
	if r == nil {
		return
	}
	if found, known := r.budgets.Load(r.subjectOf(key)); known {
		b := found.(*budget)
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if b.tally != nil && !b.gone {
			b.end(r.Clock.Now())
		}
	}
}

func (r *Recorder) of(of subject) *budget {
	found, known := r.budgets.Load(of)
	if !known {
		found, _ = r.budgets.LoadOrStore(of, &budget{of: of})
	}
	return found.(*budget)
}

// offset spreads the writes of budgets: the first one of each comes within a minute.
func (r *Recorder) offset(of subject) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(of.String()))
	soon := min(time.Minute, r.Interval)
	return r.Interval - time.Duration(int64(hash.Sum32())%int64(soon))
}

// Start stores what is due until the context ends, and then all. It implements manager.Runnable.
func (r *Recorder) Start(ctx context.Context) error {
	ticker := r.Clock.NewTicker(min(pace.RecordTick, r.Interval))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), pace.RecordPatience)
			defer cancel()
			r.Store(last, true)
			return nil
		case <-ticker.C():
			r.Store(ctx, false)
			r.sweep(ctx)
		}
	}
}

// atOnce is how many records are written at once.
const atOnce = 8

// Store stores the records that are due, or all. What cannot be stored is tried again soon.
func (r *Recorder) Store(ctx context.Context, all bool) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	r.budgets.Range(func(_, value any) bool {
		b := value.(*budget)
		group.Go(func() error {
			if err := r.store(ctx, b, all); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).Error(err, "Storing a record failed: it is tried again", "budget", b.of)
			}
			return nil
		})
		return true
	})
	_ = group.Wait() // says nothing: each failure is logged
}

// take returns what is to be stored now of a budget, and its pool; nothing if it is not due. What was taken before is
// stored first, as it was.
func (r *Recorder) take(b *budget, all bool) ([]*record.Month, string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := r.Clock.Now()
	if b.tally == nil || !all && now.Sub(b.stored) < r.Interval {
		return nil, ""
	}
	if !b.gone && (all || len(b.taken) == 0) {
		b.tally.Advance(now)
		b.taken = append(b.taken, b.tally.Take()...)
	}
	b.stored = now
	return slices.Clone(b.taken), b.pool
}

// store stores what is due of one budget. Only what is known to be stored is dropped, or what nobody can store any more
// since the namespace goes.
func (r *Recorder) store(ctx context.Context, b *budget, all bool) (err error) {
	defer func() { // as controllers do: what one budget has recorded must not end the hub manager of all
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			b.again(r.Clock.Now().Add(pace.RetryInterval - r.Interval))
		}
	}()
	pieces, pool := r.take(b, all)
	for _, piece := range pieces {
		err := r.write(ctx, b.of, pool, piece)
		if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && !apierrors.IsNotFound(err) {
			return err
		}
		b.drop()
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.gone && len(b.taken) == 0 {
		r.budgets.CompareAndDelete(b.of, b)
	}
	return nil
}

// again has the budget be due an interval after an instant.
func (b *budget) again(stored time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.stored = stored
}

// drop drops the piece that was stored.
func (b *budget) drop() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.taken = b.taken[1:]
}
