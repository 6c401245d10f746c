package shares_test

// seen is what the store of a member showed at an instant.
type seen struct {
	life  int
	share share
	quota quota
}

// checkStores checks I3 and I4 on what the stores of the members show: one version after the other, whoever wrote it.
func (w *world) checkStores() {
	for m := range w.members {
		w.checkStore(m)
	}
}

func (w *world) checkStore(m int) {
	c := &w.members[m]
	before, now := w.ghost.seen[m], seen{life: c.life, share: c.share, quota: c.quota}
	if before == now {
		return
	}
	w.ghost.seen[m] = now
	if before.life == now.life {
		w.checkShares(m, before.share, now.share)
		w.checkQuotas(m, before.quota, now.quota)
	}
}

// checkShares is I4 of shares: a share never gets older, nor other limits at the same revision. One that was deleted by
// hand and re-created is another one.
func (w *world) checkShares(m int, before, now share) {
	if !before.exists || !now.exists || before.uid != now.uid {
		return
	}
	if now.revision < before.revision || now.revision == before.revision && now.hard != before.hard {
		w.fail("I4: share %d%v of %s was written over %d%v", now.revision, now.hard, clusterNames[m], before.revision, before.hard)
	}
}

// checkQuotas is I4 and I3 of quotas: a quota never gets older, within one revision no limit goes up or away, and no
// limit is lowered below what is used. What was released belongs to others.
func (w *world) checkQuotas(m int, before, now quota) {
	if !before.managed || !now.managed {
		return
	}
	if now.revision < before.revision {
		w.fail("I4: %s enforces revision %d after %d", clusterNames[m], now.revision, before.revision)
	}
	for n, limit := range before.spec {
		if limit == absent {
			continue
		}
		if now.revision == before.revision && (now.spec[n] == absent || now.spec[n] > limit) {
			w.fail("I4: %s goes from %d to %d of %s within revision %d", clusterNames[m], limit, now.spec[n], resourceNames[n], now.revision)
		}
		if now.spec[n] != absent && now.spec[n] < min(limit, before.used[n]) {
			w.fail("I3: %s lowers %s to %d, using %d", clusterNames[m], resourceNames[n], now.spec[n], before.used[n])
		}
	}
}

// checkRefusal is I3 and I4 of the agent's steps: the guard refuses only who has read a quota that has changed since.
// Otherwise two ledgers have given one revision.
func (w *world) checkRefusal(m int, a *agent, spec amounts) {
	q := w.members[m].quota
	if a.quota == q && (a.share.revision != q.revision || a.share.hard == q.told) {
		w.fail("I3, I4: the agent of %s knows the quota %+v, and %d%v is refused", clusterNames[m], q, a.share.revision, spec)
	}
}

// checkRelease is S1 of who leaves: what is used there then is counted by nobody any more.
func (w *world) checkRelease(m int) {
	q := &w.members[m].quota
	for n, used := range q.used {
		if used > 0 && w.hub.now.budget[n] != absent && w.ghost.retaken[m] == 0 && !w.ghost.bereft[m] {
			w.fail("S1: %s is released, using %d of %s", clusterNames[m], used, resourceNames[n])
		}
	}
}
