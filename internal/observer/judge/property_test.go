package judge

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// world is members whose versions reach the judge late, each on its own watch, while probes read the truth.
type world struct {
	*run
	members map[string]*cluster
	names   []string
	// truth is the sum at the instant of the current probe, maxTruth the largest that ever was.
	truth, maxTruth int64
	unread          map[string]bool
}

// cluster is one member: what is true now, and what its watch has not delivered yet.
type cluster struct {
	hard, used int64
	version    int
	deleted    bool
	late       []delivery
}

// delivery is one version on its way.
type delivery struct {
	q       quota
	deleted bool
}

func newWorld(budget int64, hard map[string]int64) *world {
	names := slices.Sorted(maps.Keys(hard))
	w := &world{run: newRun(podText(budget), names...), members: map[string]*cluster{}, names: names, unread: map[string]bool{}}
	for _, name := range names {
		w.members[name] = &cluster{hard: hard[name], version: 1}
		w.see(name, First, pods(hard[name], 0, 1))
	}
	w.maxTruth = w.sumNow()
	return w
}

func (w *world) sumNow() int64 {
	var sum int64
	for _, c := range w.members {
		if !c.deleted {
			sum += max(c.hard, c.used)
		}
	}
	return sum
}

// write changes the truth; the watch will hear of it later.
func (w *world) write(name string, hard, used int64) {
	c := w.members[name]
	if c.deleted {
		return
	}
	c.hard, c.used, c.version = hard, used, c.version+1
	c.late = append(c.late, delivery{q: pods(hard, used, c.version).Revision(strconv.Itoa(c.version))})
	w.wrote()
}

func (w *world) remove(name string) {
	if c := w.members[name]; !c.deleted {
		c.deleted = true
		c.late = append(c.late, delivery{deleted: true})
		w.wrote()
	}
}

func (w *world) wrote() {
	w.maxTruth = max(w.maxTruth, w.sumNow())
}

// deliver lets one watch hear of the next version.
func (w *world) deliver(name string) {
	c := w.members[name]
	if len(c.late) == 0 {
		return
	}
	next := c.late[0]
	c.late = c.late[1:]
	if next.deleted {
		w.seeGone(name)
		return
	}
	w.see(name, Next, next.q)
}

func (w *world) start() {
	if w.Judge.probe != nil {
		return
	}
	w.truth = w.sumNow()
	for _, name := range w.names {
		w.unread[name] = true
	}
	w.probe()
}

// answer lets the read of one member return the truth, or fail.
func (w *world) answer(name string, fails bool) {
	if w.Judge.probe == nil || !w.unread[name] {
		return
	}
	delete(w.unread, name)
	c := w.members[name]
	w.Read(name, Reading{Failed: fails, Absent: c.deleted && !fails, ResourceVersion: strconv.Itoa(c.version), At: w.tick()})
}

// check compares what a probe found out, if it ended in this step, with the truth.
func (w *world) check(t *rapid.T, p *probe) {
	if p == nil || w.Judge.probe != nil {
		return
	}
	smallest, largest, bounded := p.bounds("pods")
	if smallest.Value() > w.truth {
		t.Fatalf("proved at least %s, truth %d", smallest.String(), w.truth)
	}
	if bounded && largest.Value() < w.truth {
		t.Fatalf("proved at most %s, truth %d", largest.String(), w.truth)
	}
}

// step draws one thing that happens.
func (w *world) step(t *rapid.T, write func(name string)) {
	before := w.Judge.probe
	name := rapid.SampledFrom(w.names).Draw(t, "member")
	switch rapid.SampledFrom([]string{"write", "deliver", "deliver", "start", "answer", "answer", "fail", "give up"}).Draw(t, "what") {
	case "write":
		write(name)
	case "deliver":
		w.deliver(name)
	case "start":
		w.start()
		before = w.Judge.probe
	case "answer":
		w.answer(name, false)
	case "fail":
		w.answer(name, true)
	case "give up":
		w.Conclude()
	}
	w.check(t, before)
}

// Whatever is written, delivered late and read in whatever order: the bounds hold the truth, and so nothing is
// confirmed that was not.
func TestBoundsHoldTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(10, map[string]int64{"a": 4, "b": 3, "c": 3})
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			w.step(t, func(name string) {
				if rapid.IntRange(0, 19).Draw(t, "remove") == 0 {
					w.remove(name)
					return
				}
				w.write(name, rapid.Int64Range(0, 8).Draw(t, "hard"), w.members[name].used)
			})
		}
		for _, e := range w.Report(w.now).Resources[0].Excesses {
			if certain := e.Certain.Value(); certain > max(0, w.maxTruth-10) {
				t.Fatalf("confirmed an excess of %d, largest truth %d", certain, w.maxTruth)
			}
		}
	})
}

// A donor that is lowered before the receiver is raised is never accused, however late the watches are.
func TestCorrectProtocolIsNeverAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(10, map[string]int64{"a": 4, "b": 3, "c": 3})
		var free int64
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			w.step(t, func(name string) {
				c := w.members[name]
				charged := rapid.Int64Range(0, c.hard).Draw(t, "used")
				target := rapid.Int64Range(charged, c.hard+free).Draw(t, "hard")
				free += c.hard - target
				w.write(name, target, charged)
			})
		}
		if violations := w.Report(w.now).Violations(); len(violations) > 0 {
			t.Fatalf("accused: %q", violations)
		}
	})
}

// An excess which lasts until the watches have delivered it and one probe has read every member is always confirmed,
// with its exact amount, whatever happened before.
func TestLastingExcessIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(10, map[string]int64{"a": 4, "b": 3, "c": 3})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.step(t, func(name string) { w.write(name, rapid.Int64Range(0, 8).Draw(t, "hard"), 0) })
		}
		w.Conclude()
		w.write("a", rapid.Int64Range(11, 20).Draw(t, "raise"), 0)
		for _, name := range w.names {
			for len(w.members[name].late) > 0 {
				w.deliver(name)
			}
		}
		w.start()
		for _, name := range w.names {
			w.answer(name, false)
		}
		open := w.tallies["pods"].open
		if want := w.sumNow() - 10; open == nil || !open.Confirmed || open.Certain.Value() < want {
			t.Fatalf("excess of %d, found %+v", want, open)
		}
	})
}
