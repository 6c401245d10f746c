package lanes

import (
	"slices"
	"time"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/pace"
)

// Disappointments is how many holds in a row may end without a raise before the next ones that ask for no less are not
// held, for pace.HoldPause: the budget is used up.
const Disappointments = 3

// Vain is the last holds in a row that came to nothing.
type Vain struct {
	last []asking // the oldest first
}

// Ended notes a hold that came to nothing, since when it lasted, and when it ended. Holds that overlap say the same
// thing once.
func (v *Vain) Ended(asked amount.List, since, at time.Time) {
	if len(v.last) > 0 && !since.After(v.last[len(v.last)-1].at) {
		return
	}
	v.last = append(v.last[max(0, len(v.last)-Disappointments+1):], asking{asked: asked, at: at})
}

// Forget forgets all of them: a limit was raised.
func (v *Vain) Forget() { v.last = nil }

// Covers says whether a request that asked for no more was just held in vain, after others.
func (v *Vain) Covers(asked amount.List, now time.Time) bool {
	return len(v.last) == Disappointments && slices.ContainsFunc(v.last, func(d asking) bool {
		return now.Sub(d.at) < pace.HoldPause && asked.Covers(d.asked)
	})
}
