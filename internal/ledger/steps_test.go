package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

const (
	pods    corev1.ResourceName = "pods"
	cpu     corev1.ResourceName = "requests.cpu"
	memory  corev1.ResourceName = "requests.memory"
	unknown                     = ledger.Unknown
)

// entries are the entries of a ledger by child.
type entries map[string]ledger.Entry

// entry returns an entry for pods alone.
func entry(revision, granted, target int64) ledger.Entry {
	return ledger.Entry{Revision: revision, Granted: amount.List{pods: granted}, Target: amount.List{pods: target}}
}

// report returns a report for pods alone.
func report(revision, hard, used int64) ledger.Report {
	return ledger.Report{Revision: revision, Hard: amount.List{pods: hard}, Used: amount.List{pods: used}}
}

// state is all that a ledger says.
type state struct {
	Revision int64
	Entries  entries
}

func stateOf(l *ledger.Ledger) state {
	s := state{Revision: l.Revision(), Entries: entries{}}
	for _, child := range l.Children() {
		s.Entries[child], _ = l.Entry(child)
	}
	return s
}

// TestSteps takes steps on a ledger over 100 pods whose counter is at 10.
func TestSteps(t *testing.T) {
	tests := map[string]struct {
		before entries
		step   func(l *ledger.Ledger)
		want   state
	}{
		"join: a child that cannot hold a share counts zero": {
			step: func(l *ledger.Ledger) { l.Join("a", false) },
			want: state{10, entries{"a": entry(0, 0, 0)}},
		},
		"join: a child that may hold a share may hold anything": {
			step: func(l *ledger.Ledger) { l.Join("a", true) },
			want: state{10, entries{"a": entry(0, unknown, 0)}},
		},
		"join: an entry that is there stays": {
			before: entries{"a": entry(7, 5, 4)},
			step:   func(l *ledger.Ledger) { l.Join("a", true) },
			want:   state{10, entries{"a": entry(7, 5, 4)}},
		},
		"adopt: a new child without a share is told zero": {
			before: entries{"a": entry(0, 0, 0)},
			step:   func(l *ledger.Ledger) { l.Adopt("a", nil) },
			want:   state{11, entries{"a": entry(11, 0, 0)}},
		},
		"adopt: a child that was suspected of a share and has none holds nothing": {
			before: entries{"a": entry(0, unknown, 0)},
			step:   func(l *ledger.Ledger) { l.Adopt("a", nil) },
			want:   state{11, entries{"a": entry(11, 0, 0)}},
		},
		"adopt: no gap where the counter is above all that was seen": {
			before: entries{"a": entry(0, unknown, 0)},
			step: func(l *ledger.Ledger) {
				l.Adopt("a", &ledger.Share{Revision: 9, Hard: amount.List{pods: 30}, InForce: 9})
			},
			want: state{11, entries{"a": entry(11, unknown, 30)}},
		},
		"adopt: a share that is in force keeps its limit, far above all that was seen": {
			before: entries{"a": entry(0, 0, 0)},
			step: func(l *ledger.Ledger) {
				l.Adopt("a", &ledger.Share{Revision: 20, Hard: amount.List{pods: 30, cpu: 9}, InForce: 20})
			},
			want: state{21 + gap, entries{"a": entry(21+gap, unknown, 30)}},
		},
		"adopt: an old share in the place of a newer one that is in force": {
			before: entries{"a": entry(0, unknown, 0)},
			step: func(l *ledger.Ledger) {
				l.Adopt("a", &ledger.Share{Revision: 8, Hard: amount.List{pods: 90}, InForce: 20})
			},
			want: state{21 + gap, entries{"a": entry(21+gap, unknown, 0)}},
		},
		"adopt: a share that is not in force yet, or not any more": {
			before: entries{"a": entry(0, unknown, 0)},
			step: func(l *ledger.Ledger) {
				l.Adopt("a", &ledger.Share{Revision: 20, Hard: amount.List{pods: 90}, InForce: 8})
			},
			want: state{21 + gap, entries{"a": entry(21+gap, unknown, 0)}},
		},
		"adopt: above the marker, where no share tells of the ledger that was lost": {
			before: entries{"a": entry(0, unknown, 0)},
			step:   func(l *ledger.Ledger) { l.Continue(50); l.Continue(49); l.Adopt("a", nil) },
			want:   state{51 + gap, entries{"a": entry(51+gap, 0, 0)}},
		},
		"adopt: a share may have given a name that has left the budget": {
			before: entries{"a": {Granted: amount.List{pods: 0, cpu: 0}, Target: amount.List{pods: 0}}},
			step: func(l *ledger.Ledger) {
				l.Adopt("a", &ledger.Share{Revision: 9, Hard: amount.List{pods: 30, cpu: 9}, InForce: 9})
			},
			want: state{11, entries{
				"a": {Revision: 11, Granted: amount.List{pods: unknown, cpu: unknown}, Target: amount.List{pods: 30}},
			}},
		},
		"adopt: once only": {
			before: entries{"a": entry(7, 5, 4)},
			step:   func(l *ledger.Ledger) { l.Adopt("a", nil); l.Adopt("nobody", nil) },
			want:   state{10, entries{"a": entry(7, 5, 4)}},
		},
		"raise: out of what is free": {
			before: entries{"a": entry(7, 60, 60), "b": entry(8, 30, 30)},
			step:   func(l *ledger.Ledger) { l.Raise("a", pods, 4) },
			want:   state{11, entries{"a": entry(11, 64, 64), "b": entry(8, 30, 30)}},
		},
		"raise: no more than what is free": {
			before: entries{"a": entry(7, 60, 60), "b": entry(8, 30, 30)},
			step:   func(l *ledger.Ledger) { l.Raise("a", pods, 40) },
			want:   state{11, entries{"a": entry(11, 70, 70), "b": entry(8, 30, 30)}},
		},
		"raise: what was being lowered comes back as well": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Raise("a", pods, 1) },
			want:   state{11, entries{"a": entry(11, 61, 61)}},
		},
		"raise: not while there is debt": {
			before: entries{"a": entry(7, 60, 60), "b": entry(8, 50, 30)},
			step:   func(l *ledger.Ledger) { l.Raise("a", pods, 4) },
			want:   state{10, entries{"a": entry(7, 60, 60), "b": entry(8, 50, 30)}},
		},
		"raise: nobody while one may hold anything": {
			before: entries{"a": entry(7, 0, 0), "b": entry(0, unknown, 0)},
			step:   func(l *ledger.Ledger) { l.Raise("a", pods, 4) },
			want:   state{10, entries{"a": entry(7, 0, 0), "b": entry(0, unknown, 0)}},
		},
		"raise: not a child that was never read, nor one that is not there, nor by less than one, nor a name without budget": {
			before: entries{"a": entry(0, 0, 0), "b": entry(8, 0, 0)},
			step: func(l *ledger.Ledger) {
				l.Raise("a", pods, 4)
				l.Raise("nobody", pods, 4)
				l.Raise("b", pods, 0)
				l.Raise("b", pods, -4)
				l.Raise("b", cpu, 4)
			},
			want: state{10, entries{"a": entry(0, 0, 0), "b": entry(8, 0, 0)}},
		},
		"restore: up to what is granted": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Restore("a", pods, 60) },
			want:   state{11, entries{"a": entry(11, 60, 60)}},
		},
		"restore: not above what is granted, nor down": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Restore("a", pods, 61); l.Restore("a", pods, 19) },
			want:   state{10, entries{"a": entry(7, 60, 20)}},
		},
		"restore: not where nobody knows what was granted": {
			before: entries{"a": entry(7, unknown, 20)},
			step:   func(l *ledger.Ledger) { l.Restore("a", pods, 21) },
			want:   state{10, entries{"a": entry(7, unknown, 20)}},
		},
		"restore: not while there is debt": {
			before: entries{"a": entry(7, 0, 0), "b": entry(8, 90, 90)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 0, 11)); l.Restore("a", pods, 11) },
			want:   state{10, entries{"a": entry(7, 11, 0), "b": entry(8, 90, 90)}},
		},
		"lower: granted stays": {
			before: entries{"a": entry(7, 60, 60)},
			step:   func(l *ledger.Ledger) { l.Lower("a", pods, 20) },
			want:   state{11, entries{"a": entry(11, 60, 20)}},
		},
		"lower: not up, nor below zero, nor a name without budget, nor a child that was never read": {
			before: entries{"a": entry(7, 60, 20), "b": entry(0, 60, 20)},
			step: func(l *ledger.Ledger) {
				l.Lower("a", pods, 20)
				l.Lower("a", pods, -1)
				l.Lower("a", cpu, 0)
				l.Lower("b", pods, 0)
			},
			want: state{10, entries{"a": entry(7, 60, 20), "b": entry(0, 60, 20)}},
		},
		"hear: a confirmed limit releases the rest": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 20, 11)) },
			want:   state{10, entries{"a": entry(7, 20, 20)}},
		},
		"hear: usage above the target is not released": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 35, 35)) },
			want:   state{10, entries{"a": entry(7, 35, 20)}},
		},
		"hear: usage found above limit and grant is charged": {
			before: entries{"a": entry(7, 0, 0)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 0, 35)) },
			want:   state{10, entries{"a": entry(7, 35, 0)}},
		},
		"hear: a limit below the target may rise to it": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 5, 5)) },
			want:   state{10, entries{"a": entry(7, 20, 20)}},
		},
		"hear: a child that might have held anything is known by its confirmation": {
			before: entries{"a": entry(7, unknown, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(7, 20, 1)) },
			want:   state{10, entries{"a": entry(7, 20, 20)}},
		},
		"hear: an older report releases nothing": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(6, 20, 11)) },
			want:   state{10, entries{"a": entry(7, 60, 20)}},
		},
		"hear: an older report charges what it shows above the grant": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", report(6, 61, 11)) },
			want:   state{10, entries{"a": entry(7, 61, 20)}},
		},
		"hear: not by a report from the future, nor for a child that was never read or is not there": {
			before: entries{"a": entry(7, 60, 20), "b": entry(0, 60, 0)},
			step: func(l *ledger.Ledger) {
				l.Hear("a", report(8, 20, 11))
				l.Hear("b", report(0, 20, 11))
				l.Hear("nobody", report(0, 20, 11))
			},
			want: state{10, entries{"a": entry(7, 60, 20), "b": entry(0, 60, 0)}},
		},
		"hear: a name whose usage is not known releases nothing": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Hear("a", ledger.Report{Revision: 7, Hard: amount.List{pods: 20}}) },
			want:   state{10, entries{"a": entry(7, 60, 20)}},
		},
		"hear: a name that a lost ledger has given counts until it is dropped": {
			before: entries{"a": entry(7, 20, 20), "b": entry(8, 20, 20)},
			step: func(l *ledger.Ledger) {
				l.Hear("a", ledger.Report{Revision: 7, Hard: amount.List{pods: 20, cpu: 1}, Used: amount.List{pods: 5, cpu: 2}})
				l.Hear("b", ledger.Report{Revision: 8, Hard: amount.List{pods: 20, cpu: 1}, Used: amount.List{pods: 5, cpu: 2}})
				l.Hear("b", ledger.Report{Revision: 8, Hard: amount.List{pods: 20}, Used: amount.List{pods: 5}})
			},
			want: state{10, entries{
				"a": {Revision: 7, Granted: amount.List{pods: 20, cpu: 2}, Target: amount.List{pods: 20}},
				"b": entry(8, 20, 20),
			}},
		},
		"hear: a limit under which nothing is counted does where nobody knows what is granted": {
			before: entries{"a": entry(7, unknown, 20), "b": entry(8, unknown, 20)},
			step: func(l *ledger.Ledger) {
				l.Hear("a", ledger.Report{Revision: 7, Hard: amount.List{pods: 20}})
				l.Hear("b", ledger.Report{Revision: 8, Hard: amount.List{pods: 19}})
			},
			want: state{10, entries{"a": entry(7, 20, 20), "b": entry(8, 20, 20)}},
		},
		"hear: not a limit above the target, nor an older one, nor that of a name that is not in force": {
			before: entries{"a": entry(7, unknown, 20), "b": entry(8, unknown, 20), "c": entry(9, unknown, 20)},
			step: func(l *ledger.Ledger) {
				l.Hear("a", ledger.Report{Revision: 7, Hard: amount.List{pods: 21}})
				l.Hear("b", ledger.Report{Revision: 7, Hard: amount.List{pods: 20}})
				l.Hear("c", ledger.Report{Revision: 9})
			},
			want: state{10, entries{"a": entry(7, unknown, 20), "b": entry(8, unknown, 20), "c": entry(9, unknown, 20)}},
		},
		"confirm: a new revision, the same numbers": {
			before: entries{"a": entry(7, 60, 20), "b": entry(0, 0, 0)},
			step:   func(l *ledger.Ledger) { l.Confirm("a"); l.Confirm("b"); l.Confirm("nobody") },
			want:   state{11, entries{"a": entry(11, 60, 20), "b": entry(0, 0, 0)}},
		},
		"rebuild: nobody is known any more": {
			before: entries{"a": entry(7, 60, 20), "b": entry(0, 0, 0)},
			step:   func(l *ledger.Ledger) { l.Rebuild(30) },
			want:   state{30 + gap, entries{"a": entry(0, unknown, 0), "b": entry(0, unknown, 0)}},
		},
		"rebuild: nothing is known of a name that has left the budget": {
			before: entries{"a": {Revision: 7, Granted: amount.List{pods: 60, cpu: 2}, Target: amount.List{pods: 20}}},
			step:   func(l *ledger.Ledger) { l.Rebuild(30) },
			want: state{30 + gap, entries{
				"a": {Granted: amount.List{pods: unknown, cpu: unknown}, Target: amount.List{pods: 0}},
			}},
		},
		"rebuild: the counter never goes back": {
			step: func(l *ledger.Ledger) { l.Rebuild(9) },
			want: state{11 + ledger.Gap, entries{}},
		},
		"gone: the entry goes, the counter stays": {
			before: entries{"a": entry(7, 60, 20)},
			step:   func(l *ledger.Ledger) { l.Gone("a"); l.Gone("nobody") },
			want:   state{10, entries{}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := ledger.New(amount.List{pods: 100}, 10, tc.before)
			tc.step(l)
			if diff := cmp.Diff(tc.want, stateOf(l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// gap is what the counter skips after a ledger that was lost.
const gap = 1 << 20

// TestRebuildLeavesAGap rebuilds a ledger whose counter is as far as all that was seen: a decision of the lost one may
// still be on its way, and is to be older than what comes.
func TestRebuildLeavesAGap(t *testing.T) {
	l := ledger.New(amount.List{pods: 30}, 41, map[string]ledger.Entry{"a": entry(41, 5, 5)})
	l.Rebuild(41)
	if l.Revision() < ledger.Gap {
		t.Errorf("goes on after %d", l.Revision())
	}
}

// TestTwoLossesShareNoRevision restores the same backup twice: what the first ledger decided after that is older than
// all that the second one decides, and it stays so for a clock that shows no sensible time.
func TestTwoLossesShareNoRevision(t *testing.T) {
	restored := func(at time.Time) *ledger.Ledger {
		l := ledger.New(amount.List{pods: 30}, 41, map[string]ledger.Entry{"a": entry(41, 5, 5)})
		l.In(ledger.Epoch(at))
		l.Rebuild(41)
		return l
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := restored(now), restored(now.Add(time.Second))
	for range 1000 {
		first.Adopt("a", nil)
		first.Confirm("a")
	}
	if first.Revision() >= second.Revision() {
		t.Errorf("the second ledger goes on at %d, the first one at %d", second.Revision(), first.Revision())
	}
	for _, at := range []time.Time{{}, time.Unix(-1, 0), now.AddDate(100, 0, 0)} {
		if got := restored(at).Revision(); got <= 41 || got > 4*ledger.Gap {
			t.Errorf("at %s it goes on at %d", at, got)
		}
	}
}
