package members

import (
	"context"
	"sync"
	"time"
)

const (
	// mostTurns is how many requests to members are under way at once, over all rounds.
	mostTurns = 4 * Parallel
	// longestTurn is how long a request keeps its turn. A member that takes longer holds up nobody.
	longestTurn = time.Second
)

// Turns keep rounds from asking more of members at once than this process can handle: what waits here is not waited for
// by the timeout of a member, which would count as silent. Its zero value is ready to use.
type Turns struct {
	begin sync.Once
	taken chan struct{}
}

// Take waits for a turn, and returns what ends it.
func (t *Turns) Take(ctx context.Context) (end func(), err error) {
	t.begin.Do(func() { t.taken = make(chan struct{}, mostTurns) })
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	giveBack := sync.OnceFunc(func() { <-t.taken })
	timer := time.AfterFunc(longestTurn, giveBack)
	return func() {
		timer.Stop()
		giveBack()
	}, nil
}
