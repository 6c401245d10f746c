package pool_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

// comer returns a child that has announced itself in a tenure, with what it has.
func comer(tenure, has int64) *pool.Child {
	return &pool.Child{
		Key: fmt.Sprint("FederatedQuota/vision/q-", tenure), UID: fmt.Sprint("uid-", tenure), Granted: amount.List{"pods": has}, Target: amount.List{"pods": has},
		Membership: pool.Membership{Name: "research", UID: "uid-pool", Tenure: tenure},
	}
}

// floored returns a child that has rebuilt its ledger since.
func floored(c *pool.Child, floor int64) *pool.Child {
	c.Revision = floor
	return c
}

// capped returns a child that has taken something up.
func capped(c *pool.Child, revision int64) *pool.Child {
	c.Revision, c.Cap = revision, c.Granted
	return c
}

// TestCountBeside has a child come for which there is no room: what it has is counted if it can come to have no more.
func TestCountBeside(t *testing.T) {
	for name, tc := range map[string]struct {
		child *pool.Child
		most  int
		want  bool
		free  int64
	}{
		"it has something":            {child: comer(7, 3), most: 1, want: true, free: 3},
		"it has nothing":              {child: comer(7, 0), most: 1, want: true, free: 6},
		"nobody knows":                {child: &pool.Child{Key: "k", UID: "u", Unknown: true, Membership: comer(7, 0).Membership}, most: 1, want: true},
		"it has rebuilt its ledger":   {child: floored(comer(7, 3), 20), most: 1, want: true},
		"there is room":               {child: comer(7, 3), most: 2, free: 6},
		"it has rebuilt it since":     {child: floored(comer(7, 3), 30), most: 1, free: 6},
		"it has taken something up":   {child: capped(comer(7, 3), 20), most: 1, free: 6},
		"it stands in another pool":   {child: &pool.Child{Key: "k", UID: "u", Membership: pool.Membership{UID: "uid-before"}}, most: 1, free: 6},
		"it has an entry and is anew": {child: &pool.Child{Key: comer(1, 0).Key, UID: "uid-1", Membership: comer(7, 0).Membership}, most: 1, free: 6},
	} {
		t.Run(name, func(t *testing.T) {
			p := crowdedPool(tc.most)
			if got := p.CountBeside(tc.child); got != tc.want {
				t.Errorf("counted %v, want %v", got, tc.want)
			}
			if free := p.Ledger.Free("pods"); free != tc.free {
				t.Errorf("%d are free, want %d", free, tc.free)
			}
			if !tc.want {
				return
			}
			if !p.Counts(tc.child) || p.Lost([]pool.Child{*tc.child}) {
				t.Errorf("what it has is counted %v, and the ledger lost %v", p.Counts(tc.child), p.Lost([]pool.Child{*tc.child}))
			}
			again := *tc.child
			if again.Tenure++; p.Counts(&again) {
				t.Error("what it has brought since is counted")
			}
		})
	}
}

// crowdedPool returns a pool of 10 pods, of which it has granted 4 to the only child that is in it.
func crowdedPool(most int) *pool.Pool {
	e := ledger.Entry{Revision: 20, Granted: amount.List{"pods": 4}, Target: amount.List{"pods": 4}}
	p := pool.New("uid-pool", amount.List{"pods": 10}, 20, 0, map[string]pool.Entry{comer(1, 0).Key: {Entry: e, UID: "uid-1", Tenure: 1}})
	p.Most = most
	return p
}

// TestUnsure has a child await an entry of which it is not known what it has: its own ledger was lost or rebuilt, or that
// of the pool was since, which may have offered it something.
func TestUnsure(t *testing.T) {
	lost := comer(7, 0)
	lost.Unknown = true
	for name, tc := range map[string]struct {
		child    *pool.Child
		revision int64
		want     bool
	}{
		"it has announced itself":                  {child: comer(9*ledger.Gap, 0), revision: 20},
		"its ledger was lost":                      {child: lost, revision: 20, want: true},
		"its ledger was rebuilt":                   {child: floored(comer(7, 0), 9), revision: 20, want: true},
		"the pool's was rebuilt since":             {child: comer(9*ledger.Gap, 0), revision: 10 * ledger.Gap, want: true},
		"the pool's was rebuilt before":            {child: comer(11*ledger.Gap, 0), revision: 10 * ledger.Gap},
		"the pool's has given that many revisions": {child: comer(7, 0), revision: 20},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pool.New("uid-pool", nil, tc.revision, 0, nil).Unsure(tc.child); got != tc.want {
				t.Errorf("unsure %v, want %v", got, tc.want)
			}
		})
	}
}

// TestRoom has children come in as long as there is room, and when another one leaves.
func TestRoom(t *testing.T) {
	p := crowdedPool(2)
	second, third := comer(2, 1), floored(comer(3, 1), 20)
	if !p.Enter(second) || p.Enter(third) {
		t.Fatalf("%v are in it, and there is room for 2", p.Keys())
	}
	gone := *second
	if gone.Membership = gone.Leave(9); !p.Left(&gone) || !p.Enter(third) {
		t.Fatalf("%v are in it", p.Keys())
	}
	if e, _ := p.Entry(third.Key); e.Revision <= third.Revision || !e.Unknown() {
		t.Errorf("its entry is %+v, and it may hold anything, and takes up nothing below %d", e, third.Revision)
	}
}

// TestRebuildInTurn has a ledger be rebuilt in which there is no room for all that stand in the pool: those that may raise
// somebody by what they have taken up come in, then those that may hold anything.
func TestRebuildInTurn(t *testing.T) {
	p := pool.New("uid-pool", amount.List{"pods": 10}, 0, 0, nil)
	p.Most = 3
	live := []pool.Child{*comer(2, 0), *floored(comer(3, 0), 70), *comer(4, 0), *capped(comer(8, 1), 9), *capped(comer(9, 1), 9)}
	p.Rebuild(live)
	want := []string{comer(3, 0).Key, comer(8, 0).Key, comer(9, 0).Key}
	if diff := cmp.Diff(want, p.Keys()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, c := range []pool.Child{live[0], live[2]} {
		if p.Lost([]pool.Child{c}) || !p.CountBeside(&c) {
			t.Errorf("what %s has is not counted", c.Key)
		}
	}
}
