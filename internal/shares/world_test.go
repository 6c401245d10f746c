package shares

import (
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/ledger"
)

// inputOf is a budget of 10 pods over children.
func inputOf(children ...Child) *Input {
	in := &Input{ID: "uid", Key: "team-a/compute", Budget: amount.List{"pods": 10}, Children: children}
	for i := range in.Children {
		c := &in.Children[i]
		c.UID = "uid-" + c.Name
		c.Terms.Weight = 1
		if c.Entry != nil {
			c.Entry.UID = c.UID
			in.Revision = max(in.Revision, c.Entry.Revision)
		}
	}
	return in
}

// entry is one of pods, of a child that has reported.
func entry(revision, target, granted int64) *Entry {
	return &Entry{Entry: ledger.Entry{
		Revision: revision, Target: amount.List{"pods": target}, Granted: amount.List{"pods": granted},
	}, Used: amount.List{"pods": 0}}
}

// share is one that reports a revision, and limit and usage of pods.
func share(revision, hard, used int64, conditions ...Condition) *Share {
	limits, said := amount.List{"pods": hard}, map[string]Condition{}
	for _, c := range conditions {
		said[c.Type] = c
	}
	return &Share{
		Revision: revision, Hard: limits, Said: said,
		Report: ledger.Report{Revision: revision, Hard: limits, Used: amount.List{"pods": used}},
	}
}

// verdictOf decides a round and returns what it says of a child.
func verdictOf(in *Input, name string) (*Decision, Verdict) {
	d := New(in).Decide()
	for _, v := range d.Verdicts {
		if v.Name == name {
			return d, v
		}
	}
	return d, Verdict{}
}
