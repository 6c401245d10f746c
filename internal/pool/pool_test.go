package pool_test

import (
	"testing"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
	"github.com/fedquota/fedquota/internal/pool"
)

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
