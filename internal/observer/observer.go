package observer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/ledgers"
	"github.com/fedquota/fedquota/internal/observer/report"
)

// What the observer says, in the words of package report.
type (
	// Report is what it has seen.
	Report = report.Report
	// ResourceReport is that of one resource.
	ResourceReport = report.ResourceReport
	// LevelReport is that of one level of a tree.
	LevelReport = report.LevelReport
	// LedgerReport is that of one ledger.
	LedgerReport = report.LedgerReport
	// LedgerResource is what a ledger says of one resource.
	LedgerResource = report.LedgerResource
	// Excess is by how much something was above what is allowed, and for how long.
	Excess = report.Excess
	// FindingKind is what kind of fault was seen.
	FindingKind = report.FindingKind
	// Ledger is what is judged of a ledger.
	Ledger = ledgers.Ledger
)

// Options says what to watch.
type Options struct {
	// Members is how to reach each member cluster, by name. Rate limits in them are ignored.
	Members map[string]*rest.Config
	// Namespace and Name are those of the FederatedQuota, and so of the ResourceQuota in every member.
	Namespace, Name string
	// Places are the ResourceQuotas to watch where one name in all members is not it, as below a pool, by a name of each.
	// Members, Namespace, Name and the scopes are left out then.
	Places map[string]Place
	// Budget is what may be in force over all members, per resource name. Other names are not added up.
	Budget corev1.ResourceList
	// Levels are budgets of some of the places, each judged beside Budget.
	Levels []Level
	// Hub, if set, is how to reach the API server whose ledgers are judged, and Ledgers are which.
	Hub     *rest.Config
	Ledgers []Ledger
	// Scopes and ScopeSelector are those of the FederatedQuota: a recount counts what matches them.
	Scopes        []corev1.ResourceQuotaScope
	ScopeSelector *corev1.ScopeSelector
	// Unmanaged adds up ResourceQuotas that do not carry the managed label as well: what is measured beside the operator,
	// to compare it with. What a managed one must not do is reported of them too, and means nothing.
	Unmanaged bool
	// StrictCuts makes every proved growth of a sum that is above its budget a violation. Without it a sum may grow up
	// to the ceiling; the package comment says why.
	StrictCuts bool
	// OnExcess, if set, is called when an excess has been proved. It must not call the Observer.
	OnExcess func(Excess)
	// OnVersion, if set, is called with each version of each member, in order. It must not call the Observer.
	OnVersion func(Version)
}

// Observer watches the members until it is stopped. All methods may be called at any time from any goroutine.
type Observer struct {
	options Options
	clock   clock.PassiveClock
	start   time.Time
	cancel  context.CancelFunc
	running sync.WaitGroup
	wanted  chan struct{}
	syncs   chan chan error
	done    <-chan struct{}

	mu       sync.Mutex
	judge    *judge.Judge
	levels   []*judge.Judge
	ledgers  *ledgers.Auditor
	clients  map[string]*connection
	resolved chan struct{}
	stop     sync.Once
	final    Report
}

// connection is how one place is reached; cancel ends its watch.
type connection struct {
	Place

	client kubernetes.Interface
	cancel context.CancelFunc
}

// Watch begins to watch. When it returns, what was in force in every member has been read, and every later version
// will be seen. The context bounds the whole run.
func Watch(ctx context.Context, options Options) (*Observer, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Observer{
		options: options,
		clock:   clock.RealClock{},
		cancel:  cancel,
		wanted:  make(chan struct{}, 1),
		syncs:   make(chan chan error),
		done:    ctx.Done(),
		clients: map[string]*connection{},
	}
	o.start = o.clock.Now()
	places := options.places()
	o.judge = judge.New(slices.Collect(maps.Keys(places)), options.Budget, o.start)
	for _, l := range options.Levels {
		o.levels = append(o.levels, l.judge(o.start))
	}
	err := o.connectAll(ctx, places)
	if err == nil && options.Hub != nil {
		err = o.audit(ctx)
	}
	if err != nil {
		cancel()
		o.running.Wait()
		return nil, err
	}
	o.running.Go(func() { o.probes(ctx) })
	return o, nil
}

func (o *Observer) connectAll(ctx context.Context, places map[string]Place) error {
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if err := o.connect(ctx, name, places[name]); err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
	}
	return nil
}

func (o *Observer) connect(ctx context.Context, name string, place Place) error {
	config := rest.CopyConfig(place.Config)
	config.QPS, config.UserAgent = -1, "fedquota-observer"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		client:  client.CoreV1().ResourceQuotas(place.Namespace),
		name:    place.Name,
		observe: func(rq *corev1.ResourceQuota, how judge.Step) { o.observe(name, rq, how) },
		beside: func(others map[string]string) {
			o.with(func(j *judge.Judge, now time.Time) bool { j.Beside(name, others, now); return false })
		},
		resumed: func() { o.with(func(j *judge.Judge, _ time.Time) bool { j.Resumed(name); return false }) },
	}
	o.mu.Lock()
	place.Config = config
	o.clients[name] = &connection{Place: place, client: client, cancel: cancel}
	o.mu.Unlock()
	from, err := w.list(ctx, judge.First)
	if err != nil {
		return err
	}
	o.running.Go(func() { w.run(ctx, from) })
	return nil
}

func (o *Observer) observe(name string, rq *corev1.ResourceQuota, how judge.Step) {
	if rq != nil && o.options.Unmanaged {
		rq = rq.DeepCopy()
		metav1.SetMetaDataLabel(&rq.ObjectMeta, judge.ManagedLabel, "true")
	}
	if o.options.OnVersion != nil {
		v := Version{Member: name, Arrived: o.clock.Now()}
		if rq != nil {
			v.Hard, v.Used = rq.Status.Hard, rq.Status.Used
		}
		o.options.OnVersion(v)
	}
	o.with(func(j *judge.Judge, now time.Time) bool { return j.Observe(name, rq, now, how) })
}

// with lets the judges work, tells what came out of it, and asks for a probe if f returns true.
func (o *Observer) with(f func(j *judge.Judge, now time.Time) bool) {
	o.mu.Lock()
	var wanted, probing bool
	var news []Excess
	now := o.clock.Now()
	for _, j := range o.judges() {
		wanted = f(j, now) || wanted
		probing = probing || j.Probing()
		news = append(news, j.News()...)
	}
	if !probing && o.resolved != nil {
		close(o.resolved)
		o.resolved = nil
	}
	o.mu.Unlock()
	if wanted {
		select {
		case o.wanted <- struct{}{}:
		default:
		}
	}
	if o.options.OnExcess != nil {
		for _, e := range news {
			o.options.OnExcess(e)
		}
	}
}

// judges are that of the whole budget, and those of the levels.
func (o *Observer) judges() []*judge.Judge { return append([]*judge.Judge{o.judge}, o.levels...) }

// whole lets the judge of the whole budget work alone.
func (o *Observer) whole(f func(j *judge.Judge, now time.Time) bool) {
	o.with(func(j *judge.Judge, now time.Time) bool { return j == o.judge && f(j, now) })
}

// SetBudget changes the budget from an instant on. To raise it, give an instant before the write of the FederatedQuota;
// to cut it, one after that write has returned. ChangeBudget does both.
func (o *Observer) SetBudget(hard corev1.ResourceList, when time.Time) {
	o.whole(func(j *judge.Judge, now time.Time) bool { return j.SetBudget(hard, when, now) })
}

// ChangeBudget changes the budget around the write that does so: until write has returned, the larger of both budgets
// is allowed for each name. When write fails, nobody knows which budget holds, and the larger stays.
func (o *Observer) ChangeBudget(
	ctx context.Context, hard corev1.ResourceList, write func(context.Context) error,
) error {
	o.whole(func(j *judge.Judge, now time.Time) bool {
		return j.Announce(hard, now)
	})
	if err := write(ctx); err != nil {
		return err
	}
	o.SetBudget(hard, o.clock.Now())
	return nil
}

// SetGranted states, after a cut, what the ledger granted over all members at an instant: the ceiling comes down to
// that, or to the budget where that is larger. Names that are left out keep their ceiling.
func (o *Observer) SetGranted(granted corev1.ResourceList, when time.Time) {
	o.whole(func(j *judge.Judge, now time.Time) bool { return j.SetGranted(granted, when, now) })
}

// Forget takes a member out of the sum: its cluster is destroyed and holds nothing any more.
func (o *Observer) Forget(name string) {
	o.with(func(j *judge.Judge, now time.Time) bool {
		if c, ok := o.clients[name]; ok {
			c.cancel()
			delete(o.clients, name)
		}
		j.Forget(name, now)
		return false
	})
}

// Sync returns when every version that was written in any member before the call has been judged. It fails when a
// member cannot be read.
func (o *Observer) Sync(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case o.syncs <- reply:
	case <-ctx.Done():
		return ctx.Err()
	case <-o.done:
		return errors.New("the observer has stopped")
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Allowed returns the present budget, and the ceiling while an earlier, larger one drains.
func (o *Observer) Allowed() (budget, ceiling corev1.ResourceList) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.judge.Allowed(o.clock.Now())
}

// Charged returns what all members have charged, and the part of it that native quota let rise above limits in force.
func (o *Observer) Charged() (used, overcharged corev1.ResourceList) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.judge.Charged()
}

// Report returns what was concluded until now.
func (o *Observer) Report() Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.judge.Report(o.clock.Now())
	r.Namespace, r.Name, r.Start, r.StrictCuts = o.options.Namespace, o.options.Name, o.start, o.options.StrictCuts
	for i, j := range o.levels {
		r.Levels = append(r.Levels, report.LevelReport{Name: o.options.Levels[i].Name, Resources: j.Report(r.End).Resources})
	}
	if o.ledgers != nil {
		r.Ledgers = o.ledgers.Reports()
	}
	return r
}

// Stop judges what was written until now, as far as members can be read, ends all watches and returns the report.
func (o *Observer) Stop() Report {
	o.stop.Do(func() {
		const tries = 3
		ctx, cancel := context.WithTimeout(context.Background(), tries*3*probeTimeout)
		defer cancel()
		for range tries {
			if o.Sync(ctx) == nil { // a member that cannot be read shows as an incomplete probe
				break
			}
		}
		o.cancel()
		o.running.Wait()
		o.final = o.Report()
	})
	return o.final
}

// read reads the object in one member and takes the answer for the current probe.
func (o *Observer) read(ctx context.Context, name string, c *connection) {
	rq, err := c.client.CoreV1().ResourceQuotas(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	o.with(func(j *judge.Judge, now time.Time) bool {
		r := judge.Reading{At: now, Absent: apierrors.IsNotFound(err)}
		r.Failed = err != nil && !r.Absent
		if err == nil {
			r.ResourceVersion = rq.ResourceVersion
		}
		j.Read(name, r)
		return false
	})
}
