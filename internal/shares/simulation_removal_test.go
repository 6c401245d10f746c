package shares_test

// removeOrCreate has somebody delete the FederatedQuota, or create the next one of its name once it is gone. Every
// second time its ledger is lost before that, and hub managers start again that have not heard of a silent cluster.
func (w *world) removeOrCreate(s step) {
	switch now := w.hub.now; {
	case now.gone:
		w.create(s)
	case !now.removing:
		if s.much(2) == 0 {
			w.members[s.who(clusters)].reachable = false
			w.leaders = [2]leader{}
			w.loseLedger(s)
		}
		next := *w.hub.now
		next.removing = true
		w.hub.put(&next)
		w.note("the FederatedQuota is deleted")
	}
}

// goes takes the finalizer off a FederatedQuota that is deleted, under the eyes of all hub managers. One whose ledger
// was lost goes although a cluster that is silent has not let go.
func (w *world) goes() {
	now := w.hub.now
	w.hub.put(&stored{
		budget: now.budget, hard: nothing, halted: now.halted, gone: true,
		selected: now.selected, destroyed: now.destroyed, marked: now.marked,
	})
	for i := range w.leaders {
		w.leaders[i].second = true
	}
	w.hide()
	w.note("the FederatedQuota is gone")
}

// create creates the FederatedQuota while hub managers watch, or do not.
func (w *world) create(s step) {
	now := w.hub.now
	w.ghost.tear(w)
	w.hub.put(&stored{
		budget: now.budget, hard: nothing, halted: now.halted,
		selected: now.selected, destroyed: now.destroyed, marked: now.marked,
	})
	for i := range w.leaders {
		l := &w.leaders[i]
		l.attends(s>>(24+i)&1 == 0, l.second && w.without != namesakesDoubted)
	}
	w.hide()
	w.note("the FederatedQuota is created")
}

// finishRemoval is I5 of a budget that is deleted: so many rounds, and it is gone. The next one of its name comes then.
func (w *world) finishRemoval() {
	for range calmRounds {
		if w.hub.now.removing && w.err == nil {
			w.passAll()
		}
	}
	switch {
	case w.hub.now.removing:
		w.fail("I5: not gone after %d rounds", calmRounds)
	case w.hub.now.gone:
		w.create(0)
	}
}
