package pool_test

import (
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

// TestMovedAndCountedBeside has a budget that has 2 move from the pool low to the pool side. Between low and the top is
// a pool that is 2 above its cap, where 1 is counted beside a ledger, of a budget that the top counts, too, since it came
// from there. Once that one leaves, the pool between would raise others by 1 if all 2 had become free in low.
func TestMovedAndCountedBeside(t *testing.T) {
	of := func(n int64) amount.List { return amount.List{cpu: n} }
	entry := func(uid string, tenure, revision, granted, target int64) pool.Entry {
		return pool.Entry{UID: uid, Tenure: tenure, Entry: ledger.Entry{Revision: revision, Granted: of(granted), Target: of(target)}}
	}
	in := func(pools string, revision, most int64) pool.Membership {
		return pool.Membership{Name: pools, UID: pools, Tenure: 1, Revision: revision, Cap: of(most)}
	}
	low, side, upper, other := pool.KeyOf("low"), pool.KeyOf("side"), pool.KeyOf("upper"), pool.KeyOf("other")
	for name, c := range map[string]struct {
		upper, other map[string]pool.Entry
		beside       int64 // in the other pool below
		want         int64
	}{
		"nobody": {
			upper: map[string]pool.Entry{low: entry("low", 1, 2, 2, 0), "b": entry("b", 1, 3, 2, 2)},
		},
		"in a pool above": {
			upper: map[string]pool.Entry{low: entry("low", 1, 2, 2, 0), "b": entry("b", 1, 3, 1, 1)}, want: 1,
		},
		"in a pool beside": {
			upper: map[string]pool.Entry{low: entry("low", 1, 2, 2, 0), other: entry("other", 1, 3, 2, 1)},
			other: map[string]pool.Entry{"b": entry("b", 1, 3, 1, 1)}, beside: 1, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			entries, own := map[string]pool.Entry{"a": entry("a", 1, 2, 2, 0)}, in("upper", 2, 0)
			tree := pool.Tree{
				"low":   {Key: low, UID: "low", Membership: own, Budget: of(0), Granted: of(2), Entries: entries},
				"other": {Key: other, UID: "other", Membership: in("upper", 3, 1), Budget: of(1), Granted: of(1 + c.beside), Entries: c.other},
				"upper": {Key: upper, UID: "upper", Membership: in("top", 3, 2), Budget: of(2), Granted: of(4), Entries: c.upper},
				"side": {
					Key: side, UID: "side", Membership: in("top", 4, 0), Budget: of(0), Granted: of(2),
					Entries: map[string]pool.Entry{"a": entry("a", 2, 2, 2, 2)},
				},
				"top": {Key: pool.KeyOf("top"), UID: "top", Budget: of(4), Granted: of(7), Entries: map[string]pool.Entry{
					upper: entry("upper", 1, 3, 4, 2), side: entry("side", 1, 4, 2, 0), "c": entry("c", 1, 2, 1, 1),
				}},
			}
			if c.other == nil {
				delete(tree, "other")
			}
			p := pool.New("low", of(0), 3, 0, entries)
			p.Moved(&pool.Child{Key: "a", UID: "a", Membership: pool.Membership{Name: "side", UID: "side", Tenure: 2}}, own, tree)
			if e, _ := p.Entry("a"); e.Granted[cpu] != c.want {
				t.Errorf("low keeps %d, want %d", e.Granted[cpu], c.want)
			}
		})
	}
}
