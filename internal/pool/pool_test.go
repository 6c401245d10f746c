package pool_test

import (
	"cmp"
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

// TestTakeUp has a child take up what its present pool offers it, as it stands there now, and nothing that is older than
// what it knows or than its floor.
func TestTakeUp(t *testing.T) {
	const second = 1000 * ledger.Gap
	stands := pool.Membership{Name: "research", UID: "uid-pool", Tenure: 2, Revision: 5, Cap: amount.List{"pods": 4}}
	for name, tc := range map[string]struct {
		member pool.Membership
		pool   string
		entry  pool.Entry
		want   bool
	}{
		"the next one":                      {member: stands, entry: offer(6, "uid-child", 2), want: true},
		"what it has taken up":              {member: stands, entry: offer(5, "uid-child", 2)},
		"what was offered to another uid":   {member: stands, entry: offer(6, "uid-before", 2)},
		"what was offered in a tenure past": {member: stands, entry: offer(6, "uid-child", 1)},
		"of a pool that had its name":       {member: stands, pool: "uid-before", entry: offer(6, "uid-child", 2)},
		"from before its ledger was lost":   {member: stands.Floor(second), entry: offer(second, "uid-child", second)},
		"from after that":                   {member: stands.Floor(second), entry: offer(second+1, "uid-child", second), want: true},
		"what the backup said":              {member: stands.Floor(second), entry: offer(second+1, "uid-child", 2)},
		"whoever stands in no pool":         {member: pool.Membership{Tenure: 2}, entry: offer(6, "uid-child", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			got, news := tc.member.TakeUp("uid-child", pool.Offer{PoolUID: cmp.Or(tc.pool, "uid-pool"), Entry: tc.entry})
			if news != tc.want || news != got.Cap.Equal(tc.entry.Target) {
				t.Errorf("news %v, cap %v: want %v", news, got.Cap, tc.want)
			}
		})
	}
}

func offer(revision int64, uid string, tenure int64) pool.Entry {
	target := amount.List{"pods": 7}
	return pool.Entry{Entry: ledger.Entry{Revision: revision, Granted: target, Target: target}, UID: uid, Tenure: tenure}
}

func TestSettled(t *testing.T) {
	const key, uid = "FederatedQuota/vision/compute", "uid-pool"
	pods := func(count int64) amount.List { return amount.List{"pods": count} }
	tests := map[string]struct {
		revision        int64
		granted, target int64
		sum             int64
		want            bool
	}{
		"all is granted":          {revision: 5, granted: 8, target: 8, sum: 8, want: true},
		"a part is granted":       {revision: 5, granted: 8, target: 8, sum: 3, want: true},
		"it has yet to be stored": {revision: 4, granted: 8, target: 8, sum: 3},
		"it has to give back":     {revision: 5, granted: 8, target: 4, sum: 6},
		"it has given back":       {revision: 5, granted: 8, target: 4, sum: 4, want: true},
		"nobody knows":            {revision: 5, granted: ledger.Unknown, target: 4, sum: ledger.Unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := pool.New(uid, pods(10), 5, 0, map[string]pool.Entry{key: {
				Entry: ledger.Entry{Revision: 5, Granted: pods(tc.granted), Target: pods(tc.target)}, UID: "uid-child", Tenure: 1,
			}})
			c := &pool.Child{
				Key: key, UID: "uid-child", Unknown: tc.sum == ledger.Unknown, Granted: pods(tc.sum),
				Membership: pool.Membership{Name: "research", UID: uid, Tenure: 1, Revision: tc.revision, Cap: pods(tc.target)},
			}
			p.Hear(c)
			if got := p.Settled(c); got != tc.want {
				t.Errorf("settled %v, want %v", got, tc.want)
			}
		})
	}
}

// TestTenures has a child whose status was lost come in a tenure above all that it had before.
func TestTenures(t *testing.T) {
	before := pool.Membership{}.Announce("research", "uid-pool", 100)
	for range 3 {
		before = before.Renew(100)
	}
	again := pool.Membership{}.Announce("research", "uid-pool", 100+ledger.Gap)
	if again.Tenure <= before.Tenure {
		t.Errorf("tenure %d after %d", again.Tenure, before.Tenure)
	}
	if left := again.Leave(100); left.Tenure <= again.Tenure {
		t.Errorf("tenure %d after %d", left.Tenure, again.Tenure)
	}
}
