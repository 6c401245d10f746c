package pool_test

import (
	"flag"
	"testing"
)

var (
	schedules = flag.Int("schedules", 200, "how many schedules of each kind are played")
	first     = flag.Int("first", 0, "the seed of the first one")
)

// kinds are what schedules may contain.
var kinds = map[string]rules{
	"two levels, steady":           {levels: 2, steady: true, moves: true},
	"two levels":                   {levels: 2, moves: true},
	"two levels, pools reborn":     {levels: 2, moves: true, reborn: true},
	"a pool reborn":                {levels: 2, steady: true, inside: true, reborn: true},
	"two levels, ledgers lost":     {levels: 2, moves: true, lost: true},
	"two levels, restored":         {levels: 2, steady: true, restores: true},
	"three levels, steady":         {levels: 3, steady: true, moves: true},
	"three levels":                 {levels: 3, moves: true},
	"three levels, ledgers lost":   {levels: 3, moves: true, lost: true},
	"moves below a pool, alone":    {levels: 3, steady: true, moves: true, inside: true, alone: true},
	"moves as pools leave":         {levels: 3, steady: true, moves: true, inside: true, alone: true, leaves: true},
	"moves below a pool":           {levels: 3, steady: true, moves: true, inside: true},
	"three levels, restored":       {levels: 3, steady: true, restores: true},
	"three levels, one stuck":      {levels: 3, steady: true, restores: true, beside: true},
	"two levels, one had left":     {levels: 2, steady: true, moves: true, restores: true, beside: true},
	"two levels, one gave":         {levels: 2, steady: true, restores: true, gave: true},
	"two levels, moves restored":   {levels: 2, steady: true, moves: true, restores: true},
	"three levels, moves restored": {levels: 3, steady: true, moves: true, restores: true},
	"moves below a pool, restored": {levels: 3, steady: true, moves: true, inside: true, restores: true},
	"moves alone, restored":        {levels: 3, steady: true, moves: true, inside: true, alone: true, leaves: true, restores: true},
	"little room":                  {levels: 2, moves: true, few: true},
	"little room, ledgers lost":    {levels: 3, moves: true, lost: true, few: true},
	"little room, restored":        {levels: 2, steady: true, restores: true, few: true},
	"little room, moves restored":  {levels: 3, steady: true, moves: true, restores: true, few: true},
	"little room, a pool reborn":   {levels: 2, steady: true, inside: true, reborn: true, few: true},
	"little room, moves":           {levels: 3, steady: true, moves: true, inside: true, few: true},
	"little room, moves alone":     {levels: 3, steady: true, moves: true, inside: true, alone: true, few: true},
}

const scheduleLength = 150

// play plays schedules of a kind until one breaks something, and returns what, and how it came to be.
func play(r rules, count int) (broken string, after int) {
	for seed := *first; seed < *first+count; seed++ {
		w := newWorld(r, uint64(seed))
		if err := w.run(scheduleLength); err != nil {
			return w.story(), seed
		}
	}
	return "", *first + count
}

func TestSchedules(t *testing.T) {
	for name, r := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if broken, seed := play(r, *schedules); broken != "" {
				t.Errorf("schedule %d:\n%s", seed, broken)
			}
		})
	}
}

// TestSchedulesNeed takes parts of the protocol away: schedules have to find what that breaks.
func TestSchedulesNeed(t *testing.T) {
	for without, kind := range map[string]string{
		"the target in settling":                  "two levels",
		"the sum in settling":                     "two levels",
		"the revision in settling":                "two levels",
		"the target as cap":                       "two levels",
		"the order of entries":                    "two levels",
		"a revision for each lowering":            "two levels",
		"waiting for what is lowered":             "two levels",
		"what a child has that joins":             "two levels",
		"the freeze of a join":                    "two levels",
		"the tenure of a child":                   "two levels",
		"the uid of a child":                      "two levels",
		"the leaving write":                       "two levels",
		"the live read of who is gone":            "two levels",
		"the live read of another uid":            "two levels",
		"the live list of whom a rebuild counts":  "two levels, ledgers lost",
		"waiting for who is not entered":          "a pool reborn",
		"the news of a restore":                   "two levels, restored",
		"the cap of a pool below a pool":          "three levels, steady",
		"counting what has moved":                 "moves below a pool, alone",
		"counting anew what has grown":            "moves below a pool, alone",
		"what a move leaves behind":               "moves below a pool, alone",
		"the tenures of pools":                    "moves below a pool, alone",
		"staying until what has moved is counted": "moves as pools leave",
		"waiting with what is restored":           "a pool reborn",
		"waiting again after a rebuild":           "two levels, restored",
		"the news of a restore to pools":          "three levels, one stuck",
		"the tenure of a floor":                   "two levels, one gave",
		"the stored news of a restore":            "two levels, restored",
		"the live read of who has left":           "two levels, one had left",
		"counting who finds no room":              "little room, a pool reborn",
	} {
		t.Run(without, func(t *testing.T) {
			t.Parallel()
			r := kinds[kind]
			r.without = without
			broken, after := play(r, 20**schedules)
			if broken == "" {
				t.Errorf("nothing breaks in %d schedules", after)
			}
			t.Logf("broken in schedule %d", after)
		})
	}
}
