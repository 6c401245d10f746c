package shares_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// The simulation plays schedules of two hub leaders, two agents per member, the members' API servers and everything
// that can go wrong between them, and checks the invariants of the protocol after every step. A schedule is a tape of
// words, each one step; the same tape always plays the same.
const (
	clusters    = 3
	resources   = 2
	scheduleLen = 160
	// absent marks a resource name that a list does not have.
	absent = -1
)

var (
	clusterNames  = [clusters]string{"a", "b", "c"}
	resourceNames = [resources]corev1.ResourceName{"pods", "requests.cpu"}
)

// amounts is a list of amounts without a map.
type amounts [resources]int64

var nothing = amounts{absent, absent}

func (a amounts) list() amount.List {
	list := make(amount.List, resources)
	for n, value := range a {
		if value != absent {
			list[resourceNames[n]] = value
		}
	}
	return list
}

// quantities is the list as an API server has it.
func (a amounts) quantities() corev1.ResourceList { return a.list().ToList(nil) }

func flat(list amount.List) amounts {
	a := nothing
	for n, name := range resourceNames {
		if value, ok := list[name]; ok {
			a[n] = value
		}
	}
	return a
}

// rules say how a schedule is played: by which variant of the protocol, and whether somebody forges shares.
type rules struct {
	without protection
	forging bool
	// stepping has limits come in steps.
	stepping bool
	// removing has budgets be deleted, and created again.
	removing bool
	// taking has clusters begin with a limit of somebody else, which the budget takes over.
	taking bool
}

// world is everything there is, and what an omniscient observer remembers of it.
type world struct {
	rules
	hub     hub
	leaders [2]leader
	members [clusters]member
	wire    []delivery
	ghost   ghost
	err     error
	// log is kept only where somebody will read it.
	log     []string
	logging bool
}

// fail keeps the first violation.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *world) note(format string, args ...any) {
	if w.logging {
		w.log = append(w.log, fmt.Sprintf(format, args...))
	}
}

// step is one word of a tape: which action, whom it concerns, and how much.
type step uint32

func (s step) who(n int) int    { return int(s>>8) % n }
func (s step) much(n int) int64 { return int64(s>>16) % int64(n) }
func (s step) other(n int) int  { return int(s>>24) % n }

// action is something that can happen, so many times out of 256.
type action struct {
	weight int
	do     func(w *world, s step)
}

var actions = []action{
	{50, (*world).stepLeader},
	{61, (*world).stepAgent},
	{16, (*world).goWell},
	{22, (*world).watch},
	{22, (*world).arrive},
	{24, (*world).syncQuota},
	{20, (*world).admit},
	{10, (*world).shrink},
	{8, (*world).cutOrHeal},
	{4, (*world).crash},
	{5, (*world).setBudget},
	{2, (*world).toggleName},
	{2, (*world).deleteShare},
	{3, (*world).selectOrNot},
	{1, (*world).giveUp},
	{1, (*world).replaceCluster},
	{1, (*world).toggleNamespace},
	{1, (*world).rollBack},
	{1, (*world).loseLedger},
	{1, (*world).tear},
	{1, (*world).halt},
}

// byWord is the action of the lowest eight bits of a step.
var byWord = func() (table []func(*world, step)) {
	for _, a := range actions {
		table = append(table, slices.Repeat([]func(*world, step){a.do}, a.weight)...)
	}
	return table
}()

// withForger is the same where somebody forges shares: the schedules without stay what they are.
var withForger = append(slices.Repeat([]func(*world, step){(*world).forge}, 3), byWord[3:]...)

// withOwner is the same where somebody changes limits that are no agent's.
var withOwner = append(slices.Repeat([]func(*world, step){(*world).own}, 6), byWord[6:]...)

// withRemoval is the same where budgets are deleted, and created again. That takes rounds in which nothing goes wrong.
var withRemoval = slices.Concat(
	slices.Repeat([]func(*world, step){(*world).removeOrCreate}, 6),
	slices.Repeat([]func(*world, step){(*world).goWell}, 30),
	byWord[36:],
)

// newWorld returns a fleet whose second and third cluster may have joined before, with usage of their own.
func newWorld(r rules, s step) *world {
	w := &world{rules: r}
	w.hub.version = 1
	w.hub.now = &stored{budget: amounts{10 + s.much(4), 8}, hard: nothing}
	for m := range w.members {
		c := &w.members[m]
		c.reachable = true
		c.share.hard, c.share.reported, c.share.used = nothing, nothing, nothing
		c.quota.spec, c.quota.status, c.quota.used = nothing, nothing, nothing
		w.hub.now.selected[m] = m == 0 || s>>m&1 == 1
		c.running[0] = int64(s>>(8+4*m)) % 4
		if w.taking && s>>(5+m)&1 == 0 {
			limits := amounts{int64(s>>(10+3*m)) % 8, int64(s>>(13+3*m)) % 6}
			c.quota = quota{exists: true, foreign: true, spec: limits, status: limits, used: c.running}
		}
	}
	w.hub.past = append(w.hub.past, w.hub.now)
	for i := range w.leaders {
		w.leaders[i].attends(s>>(24+i)&1 == 0, false)
	}
	return w
}

// play runs a schedule, heals every fault, and expects calm. It returns the first violation.
func play(tape []step, r rules, logging bool) *world {
	w, table := newWorld(r, tape[0]), byWord
	switch {
	case r.forging:
		table = withForger
	case r.taking:
		table = withOwner
	case r.removing:
		table = withRemoval
	}
	w.logging = logging
	for _, s := range tape[1:] {
		table[int(s&0xff)%len(table)](w, s)
		w.check()
		if w.err != nil {
			return w
		}
	}
	w.calmDown()
	return w
}

// record returns the schedule of a seed.
func record(seed ...uint64) []step {
	var hash uint64
	for _, word := range seed {
		hash = (hash ^ word) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	source := rand.New(rand.NewPCG(hash, 1))
	tape := make([]step, scheduleLen)
	for i := range tape {
		tape[i] = step(source.Uint32())
	}
	return tape
}

// shrink takes out of a failing schedule whatever it fails without.
func shrink(tape []step, r rules) []step {
	for size := len(tape) / 2; size > 0; size /= 2 {
		for from := 1; from+size <= len(tape); {
			shorter := slices.Concat(tape[:from], tape[from+size:])
			if play(shorter, r, false).err != nil {
				tape = shorter
				continue
			}
			from += size
		}
	}
	return tape
}

// explain plays a failing schedule again, and tells it.
func explain(tape []step, r rules) string {
	w := play(shrink(tape, r), r, true)
	return fmt.Sprintf("%v\n%s", w.err, strings.Join(w.log, "\n"))
}

// TestSchedulesThatFailed plays what was left of schedules that failed once, when all was taken out that they failed
// without.
func TestSchedulesThatFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		rules
		tape []step
		// needs is a protection without which it fails.
		needs protection
	}{
		"a share is deleted by hand between an agent's look and its write": {tape: []step{
			0xa4513443, 0xff53a60b, 0x87dd012, 0x80053b79, 0xb04f3b32, 0x53636a0a, 0x626a009b, 0x49ace49f, 0x178266ea, 0xfada2ef9, 0x1b1a03f8,
			0xc1057118, 0xfd077b06, 0x33daa0f7, 0x114be9a5, 0xa3069aa8, 0x27324dff, 0xd36a92e4, 0xbbc599fe, 0xd70e3ea5, 0xa920c47f, 0xe7699da5,
			0x14ba1e49, 0x1f0bd3aa, 0xe4a2d748, 0x280f49f8, 0xa84d4516, 0x584843eb, 0x23439ef6, 0x59c3c57e, 0xadd65a7e, 0x979b2dfd, 0x94778275,
		}},
		"a create that comes after the ledger was lost, and its share is deleted by hand": {tape: []step{
			0x9324cae1, 0x17f70302, 0xb37207e1, 0xe54fcc0a, 0x70d069f6, 0x6c77920b, 0xdf8080a0, 0xfb4134fc, 0x6ff31a1f, 0x8dda85f6, 0xdd44f9a3,
			0x38d71de6, 0xf6e0b275, 0xfa7dfbf4, 0x466fe125, 0x4dec1df6, 0xf188bb16, 0x70d01be2, 0x9bde11b, 0x5d370111,
		}},
		"a late create after share and ResourceQuota were deleted by hand": {rules: rules{forging: true}, tape: []step{
			0x7d40e2ca, 0x8ffc297a, 0xabb7a198, 0x8f8a3f71, 0xac55317a, 0xdaafe41a, 0xb4511a07, 0x844bd7f4, 0x32d7659f, 0xad969778, 0xa8661d7f,
			0x49eb7129, 0x732a8600, 0xa8374f3, 0x51018f02,
		}},
		"a share is deleted by hand in a cluster that was given up while it ran and is cut off": {tape: []step{
			0xf155b8f0, 0x94056b72, 0xa3b5b8f9, 0xe9e74e7a, 0x6bba6cef, 0x3db582b, 0x830eeffa, 0x4afbeb77, 0x442aaee8, 0xf784b50b, 0x61759008,
			0x254ee7ff, 0x70cc5e2, 0xd983382c, 0x2ca176fd, 0x1ac675f9, 0x38358fa, 0x8f5abb04, 0xf15c80e8, 0x765dc2f6, 0x216bc816,
		}},
		"a report of before share and ResourceQuota were deleted by hand": {rules: rules{forging: true}, tape: []step{
			0x62ec4ca, 0xb3bcf773, 0x5481167f, 0x61ae9cff, 0x30824ded, 0x5563ba02, 0xd27e5b00, 0x9f559cd0, 0x16f64177, 0xec0dfb79, 0x1f5e252f,
			0xd3c7ea0c,
		}},
		"a share is deleted by hand before its agent takes over, and the ledger lost": {rules: rules{taking: true}, tape: []step{
			0xfe590a5c, 0xb8383f70, 0xeb04b07e, 0x43e7865f, 0xe4e0faf5, 0x3db0b2fd, 0xce1690f, 0x3102637,
		}, needs: markedCounts},
	} {
		t.Run(name, func(t *testing.T) {
			if w := play(tc.tape, tc.rules, false); w.err != nil {
				t.Error(explain(tc.tape, tc.rules))
			}
			without := tc.rules
			without.without = tc.needs
			if w := play(tc.tape, without, false); w.err == nil && tc.needs != everything {
				t.Error("it passes without what it needs")
			}
		})
	}
}

// schedules is how many random schedules TestSimulation plays. make schedules asks for many more.
var schedules = flag.Uint64("schedules", 10_000, "how many random schedules TestSimulation plays")

// drawn has make schedules play others each time. What make test plays stays the same, so that it fails for a change
// only.
var drawn = flag.Bool("drawn", false, "whether the seed of the schedules is drawn")

// TestSimulation plays random schedules, on all cores.
func TestSimulation(t *testing.T) { simulate(t, rules{}, *schedules) }

// TestSimulationWithForger plays a tenth as many in which somebody writes shares as the hub would, at a revision that
// no ledger gave: the others get no more for that, and all comes to rest when those shares and their ResourceQuotas are
// deleted.
func TestSimulationWithForger(t *testing.T) { simulate(t, rules{forging: true}, *schedules/10) }

// steps are those of each resource where limits come in steps.
var steps = amounts{2, 3}

// TestSimulationInSteps plays a tenth as many in which limits come in steps.
func TestSimulationInSteps(t *testing.T) { simulate(t, rules{stepping: true}, *schedules/10) }

// TestSimulationTakingOver plays a tenth as many in which clusters begin with limits of somebody else, who goes on changing
// them.
func TestSimulationTakingOver(t *testing.T) { simulate(t, rules{taking: true}, *schedules/10) }

// TestSimulationWithRemoval plays a tenth as many in which budgets are deleted, and created again under the same name.
func TestSimulationWithRemoval(t *testing.T) { simulate(t, rules{removing: true}, *schedules/10) }

func simulate(t *testing.T, r rules, count uint64) {
	t.Helper()
	seed, start := uint64(1), time.Now()
	if *drawn {
		seed = rand.Uint64()
	}
	var next, played atomic.Uint64
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Go(func() {
			for n := next.Add(1); n <= count && !t.Failed(); n = next.Add(1) {
				tape := record(seed, n)
				if w := play(tape, r, false); w.err != nil {
					t.Errorf("schedule %d of seed %d: %s", n, seed, explain(tape, r))
				}
				played.Add(1)
			}
		})
	}
	players.Wait()
	if played.Load() < count {
		t.Fatalf("%d of %d schedules were played", played.Load(), count)
	}
	t.Logf("%d schedules of seed %d in %s", played.Load(), seed, time.Since(start).Round(time.Millisecond))
}
